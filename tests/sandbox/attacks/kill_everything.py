"""Kills every process that it may signal, itself last."""

import os
import signal

from attacker import tried

tried("kill(-1)")
for number in (signal.SIGTERM, signal.SIGKILL):
    try:
        os.kill(-1, number)
    except OSError:
        pass

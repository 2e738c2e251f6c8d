"""Sends signals to the processes of another episode."""

import contextlib
import os
import signal

from attacker import host, tried

NEEDS_OTHER = True
UNPROTECTED = "escapes"

tried(host["other"]["pids"])
for pid in host["other"]["pids"]:
    for number in (signal.SIGUSR1, signal.SIGTERM):
        with contextlib.suppress(OSError):
            os.kill(pid, number)

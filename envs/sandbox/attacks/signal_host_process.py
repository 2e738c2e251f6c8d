"""Sends signals to a process of the host by its number, and to every number it can think of."""

import contextlib
import os
import signal

from attacker import got, host, tried

UNPROTECTED = "escapes"

tried(host["victim"])
for number in (signal.SIGUSR1, signal.SIGTERM):
    with contextlib.suppress(OSError):
        os.kill(host["victim"], number)
for key in ("caller", "server"):
    with contextlib.suppress(OSError, TypeError):
        os.kill(host[key], 0)
        got(f"may signal the {key}, process {host[key]}")

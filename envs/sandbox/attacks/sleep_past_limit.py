"""Sleeps longer than it may, with every signal ignored."""

import contextlib
import signal
import time

from attacker import tried

LIMITS = {"wall_time_s": 0.4}
ENDS_BY = ("wall_time",)
UNPROTECTED = "refused"

for number in signal.valid_signals():
    with contextlib.suppress(OSError, ValueError):
        signal.signal(number, signal.SIG_IGN)
tried("to sleep on")
time.sleep(10)

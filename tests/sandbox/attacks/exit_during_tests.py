"""Ends the process with success in the middle of a hidden test, in six ways."""

import os
import signal
import sys
import threading

from attacker import tried

KIND = "solution"
UNPROTECTED = "refused"

tried("exits")
threading.Timer(0.0, os._exit, (0,)).cancel()


def double(number):
    """Leave, one way or another."""
    if number == 2:
        sys.exit(0)
    signal.signal(signal.SIGALRM, lambda *arguments: os._exit(0))
    signal.setitimer(signal.ITIMER_REAL, 0.001)
    try:
        raise SystemExit(0)
    except SystemExit:
        os.execv("/bin/true", ["true"])

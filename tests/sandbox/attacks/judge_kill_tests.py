"""Sends the process of the tests every signal there is, the deadly ones last."""

import os
import signal

from attacker import tried

KIND = "solution"
UNPROTECTED = "never"

tried("kill(getppid())")
_DEADLY = {signal.SIGKILL, signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU}


def double(number):
    """Interrupt the tests in the middle of a call."""
    tests = os.getppid()
    for number in (signal.SIGINT, signal.SIGPIPE, signal.SIGCHLD, signal.SIGCONT, signal.SIGWINCH):
        os.kill(tests, number)
    for number in sorted(set(signal.Signals) - _DEADLY):
        os.kill(tests, number)
    os.kill(tests, signal.SIGKILL)
    return 4

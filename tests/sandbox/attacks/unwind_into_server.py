"""Replaces what ends a process, so that its own end leads back into the server's loop."""

import os
import signal
import sys

from attacker import got, tried

UNPROTECTED = "refused"

_leave = os._exit


def _stay(*arguments):
    got("the end of the process went through a function of its own")
    _leave(0)


tried("os._exit, os.kill")
os._exit = os.kill = os.abort = _stay
signal.raise_signal = _stay
frame = sys._getframe()
while frame is not None:
    for name in ("_exit", "end", "os"):
        if name in frame.f_globals and name != "os":
            frame.f_globals[name] = _stay
    frame = frame.f_back

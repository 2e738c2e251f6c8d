"""Stops itself and its children with a signal, and so never ends."""

import os
import signal

from attacker import tried

LIMITS = {"wall_time_s": 0.4}
ENDS_BY = ("wall_time",)
UNPROTECTED = "refused"

tried("SIGSTOP")
os.fork()
os.kill(os.getpid(), signal.SIGSTOP)

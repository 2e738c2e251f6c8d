"""Prints to stdout and stderr for ever."""

import os

from attacker import tried

LIMITS = {"wall_time_s": 0.5}
ENDS_BY = ("wall_time", "cpu_time")
UNPROTECTED = "refused"

tried("two streams")
block = b"x" * 65536
while True:
    os.write(1, block)
    os.write(2, block)

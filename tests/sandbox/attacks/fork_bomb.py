"""Forks without end; every child does so too."""

import os

from attacker import tried

LIMITS = {"wall_time_s": 0.7, "cpu_time_s": 0.5}

tried("os.fork")
while True:
    try:
        os.fork()
    except OSError:
        pass

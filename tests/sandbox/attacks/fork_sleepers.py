"""Starts as many sleeping processes as it gets, each in a session of its own."""

import os
import time

from attacker import tried

LIMITS = {"wall_time_s": 0.5}

tried("500 sleepers")
for _ in range(500):
    try:
        if os.fork() == 0:
            os.setsid()
            time.sleep(20)
            os._exit(0)
    except OSError:
        break
time.sleep(20)

"""Burns processor time in several children at once, each below the limit alone."""

import os
import time

from attacker import tried

LIMITS = {"wall_time_s": 4.0, "cpu_time_s": 1.0}
ENDS_BY = ("cpu_time",)

tried("5 busy children")
for _ in range(5):
    if os.fork() == 0:
        while True:
            pass
time.sleep(20)

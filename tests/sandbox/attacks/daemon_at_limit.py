"""Runs into the time limit while daemons of other sessions and groups run on."""

import os
import time

from attacker import tried

LIMITS = {"wall_time_s": 0.4}
ENDS_BY = ("wall_time",)
UNPROTECTED = "escapes"

tried("setsid and setpgid")
for change in (os.setsid, lambda: os.setpgid(0, 0)):
    if os.fork() == 0:
        change()
        if os.fork() == 0:
            change()
        time.sleep(3)
        os._exit(0)
time.sleep(3)

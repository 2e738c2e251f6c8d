"""Leaves a thread that never ends, an exit function and a finaliser that never return."""

import atexit
import threading
import time

from attacker import tried

LIMITS = {"wall_time_s": 0.4}
ENDS_BY = ("wall_time",)
UNPROTECTED = "refused"


class _Lingers:
    def __del__(self):
        time.sleep(20)


tried("a thread, an exit function, a finaliser")
lingers = _Lingers()
threading.Thread(target=time.sleep, args=(20,)).start()
atexit.register(time.sleep, 20)

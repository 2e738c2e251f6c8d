"""Starts threads without end."""

import threading
import time

from attacker import got, tried

LIMITS = {"wall_time_s": 0.7}

tried("threads")
started = 0
try:
    while started < 200:
        threading.Thread(target=time.sleep, args=(20,), daemon=True).start()
        started += 1
except (RuntimeError, MemoryError):
    pass
if started > 32:
    got(f"{started} threads")

"""Sets the clock of the machine (to the time that it shows already)."""

import ctypes
import time

from attacker import got, libc, tried

tried("clock_settime, settimeofday, adjtimex")
for clock in (time.CLOCK_REALTIME, 11):
    try:
        time.clock_settime(clock, time.clock_gettime(clock))
        got(f"set clock {clock}")
    except OSError:
        pass
now = (ctypes.c_long * 2)(int(time.time()), 0)
if libc.settimeofday(now, None) == 0:
    got("settimeofday")
adjustment = (ctypes.c_uint8 * 256)()
adjustment[0] = 2  # ADJ_FREQUENCY
if libc.adjtimex(adjustment) != -1:
    got("adjtimex")

"""Takes memory in System V segments, which stay without being mapped."""

import ctypes
import time

from attacker import libc, tried

tried("60 segments of 8 MiB")
libc.shmat.restype = ctypes.c_void_p
for _ in range(60):
    segment = libc.shmget(0, 8 << 20, 0o1600)
    if segment < 0:
        break
    place = libc.shmat(segment, None, 0)
    if place in (None, ctypes.c_void_p(-1).value):
        break
    ctypes.memset(place, 1, 8 << 20)
    libc.shmdt(ctypes.c_void_p(place))
time.sleep(0.2)

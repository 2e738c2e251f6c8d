"""Fills pipes with data that nobody reads, made as large as the kernel lets them be."""

import contextlib
import fcntl
import os
import time

from attacker import got, tried

LIMITS = {"wall_time_s": 1.5}
F_SETPIPE_SZ = 1031


def _fill(number):
    filled = 0
    with open(f"filled{number}", "wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            _, write = os.pipe()
            os.set_blocking(write, False)
            with contextlib.suppress(OSError):
                fcntl.fcntl(write, F_SETPIPE_SZ, 1 << 20)
            with contextlib.suppress(BlockingIOError):
                while True:
                    filled += os.write(write, bytes(65536))
            os.pwrite(file.fileno(), b"%012d" % filled, 0)
    time.sleep(20)
    os._exit(0)


tried("pipes in 6 processes")
for number in range(6):
    if os.fork() == 0:
        _fill(number)
time.sleep(1.0)
total = 0
for number in range(6):
    with open(f"filled{number}", "rb") as file:
        total += int(file.read() or 0)
if total > 192 << 20:
    got(f"{total >> 20} MiB in pipes")

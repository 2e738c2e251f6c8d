"""Fills memory from many children in the same moment, each far below the limit, again and again."""

import mmap
import os
import time

from attacker import tried

ENDS_BY = ("memory", "processes")

read, write = os.pipe()
tried("7 children, 80 MiB each, written by the kernel at once")
for _ in range(7):
    if os.fork() == 0:
        os.close(write)
        os.read(read, 1)  # until the parent lets all go in one moment
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x8000  # MAP_POPULATE
        held = mmap.mmap(-1, 80 << 20, flags=flags)
        time.sleep(20)
        os._exit(0)
os.close(write)
time.sleep(20)

"""Ends at once, but leaves children that keep its output open and write on."""

import os
import time

from attacker import tried

LIMITS = {"wall_time_s": 0.6}

tried("3 children")
read, write = os.pipe()
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        os.write(write, b"x")
        while True:
            os.write(1, b"still here\n")
            time.sleep(0.005)
for _ in range(3):
    os.read(read, 1)
os._exit(0)

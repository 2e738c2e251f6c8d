"""Has children that fill memory and end before anybody looks, always some of them at a time."""

import os
import time

from attacker import tried

tried("waves of children of 16 MiB that live for milliseconds")
until = time.monotonic() + 5
while time.monotonic() < until:
    children = []
    for _ in range(6):
        try:
            pid = os.fork()
        except OSError:
            break
        if pid == 0:
            held = bytearray(b"x") * (16 << 20)
            os._exit(0)
        children.append(pid)
    for pid in children:
        os.waitpid(pid, 0)

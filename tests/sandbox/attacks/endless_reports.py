"""Writes to every descriptor it has, the pipe of the reports among them, for ever."""

import os

from attacker import tried

KIND = "solution"
LIMITS = {"wall_time_s": 0.5}
UNPROTECTED = "refused"

tried("descriptors 1 to 255")
fds = []
for fd in range(1, 256):
    try:
        os.set_blocking(fd, False)
        fds.append(fd)
    except OSError:
        pass
while True:
    for fd in fds:
        try:
            os.write(fd, b"x" * 65536)
        except OSError:
            pass

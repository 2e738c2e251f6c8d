"""Fills the buffers of unix sockets with data that nobody reads."""

import contextlib
import os
import socket
import time

from attacker import got, tried

LIMITS = {"wall_time_s": 1.5}


def _fill(number):
    filled, held = 0, []
    with open(f"filled{number}", "wb", buffering=0) as file, contextlib.suppress(OSError):
        while filled < 100 << 20:
            held.append(socket.socketpair())
            for end in held[-1]:
                end.setblocking(False)
                with contextlib.suppress(BlockingIOError):
                    while True:
                        filled += end.send(bytes(32768))
            os.pwrite(file.fileno(), b"%012d" % filled, 0)
    time.sleep(20)
    os._exit(0)


tried("sockets in 6 processes")
for number in range(6):
    if os.fork() == 0:
        _fill(number)
time.sleep(1.0)
total = 0
for number in range(6):
    with open(f"filled{number}", "rb") as file:
        total += int(file.read() or 0)
if total > 192 << 20:
    got(f"{total >> 20} MiB in socket buffers")

"""Closes and half-closes every descriptor it has, and reports garbage where the server listens."""

import os
import socket

from attacker import tried

tried("descriptors 0 to 1023")
for fd in range(3, 1024):
    try:
        with socket.socket(fileno=os.dup(fd)) as link:
            link.sendall(b"\xff" * 12)
            link.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    try:
        os.write(fd, b'{"status": 0, "limit": null}\n')
    except OSError:
        pass
os.closerange(0, 1024)
os.kill(os.getpid(), 11)

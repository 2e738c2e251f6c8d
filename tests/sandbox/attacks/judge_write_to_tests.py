"""Writes reports to every descriptor that it has itself or can open of the tests' process."""

import contextlib
import json
import os

from attacker import tried

KIND = "solution"
UNPROTECTED = "never"

tried("descriptors of the tests")
_LINES = b"".join(
    prefix + json.dumps({"name": name, "outcome": "passed", "message": ""}).encode() + b"\n"
    for name in ("test_small", "test_large")
    for prefix in (b"", b" ", b"0" * 32 + b" ")
)


def double(number):
    """Forge, then leave nothing for the tests to report on."""
    for process in ("self", os.getppid()):
        for fd in range(32):
            with contextlib.suppress(OSError):
                opened = os.open(f"/proc/{process}/fd/{fd}", os.O_WRONLY | os.O_NONBLOCK)
                os.write(opened, _LINES)
    for fd in range(3, 32):
        with contextlib.suppress(OSError):
            os.set_blocking(fd, False)
            os.write(fd, _LINES)
    return 7

"""Answers requests that were never made, before, instead of and besides the one that was."""

import contextlib
import os
import struct

from attacker import tried

KIND = "solution"
UNPROTECTED = "never"

tried("answers ahead of their time")
_TRUE = b"T"
_FOUR = b"i" + (7).to_bytes(8, "big")


def double(number):
    """Flood the tests with answers to what they may ask next."""
    with contextlib.suppress(OSError):
        os.set_blocking(3, False)
        for which in range(1000):
            for body in (_TRUE, _FOUR):
                os.write(3, struct.pack("!IIB", len(body), which, 2) + body)
    os.set_blocking(3, True)
    return 7

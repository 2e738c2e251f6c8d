"""Announces an answer of some megabytes and sends it byte by byte, for ever."""

import os
import struct
import time

from attacker import tried

KIND = "solution"
UNPROTECTED = "never"

tried("a trickle")


def double(number):
    """Keep the tests waiting."""
    os.write(3, struct.pack("!IIB", 8 << 20, 3, 2))
    while True:
        os.write(3, b"[")
        time.sleep(0.001)

"""Answers the tests with more than they should take: long, wide, deep, announced and real."""

import os
import struct

from attacker import tried

KIND = "solution"
LIMITS = {"memory_bytes": 268435456}
UNPROTECTED = "refused"

tried("large answers")


def double(number):
    """Return something large, or announce it."""
    if number == 2:
        return [[] for _ in range(3_000_000)]
    with open("/proc/self/maps", encoding="utf-8") as maps:
        if "solution" not in maps.read():
            try:
                os.write(3, struct.pack("!IIB", 0xFFFFFFFF, 4, 2) + bytes(1 << 16))
            except OSError:
                pass
    return "x" * (64 << 20)

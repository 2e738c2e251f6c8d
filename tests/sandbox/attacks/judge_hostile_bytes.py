"""Answers the tests with bytes that are no values: cut, huge, misnumbered, of impossible types."""

import os
import random
import struct

from attacker import tried

KIND = "solution"
UNPROTECTED = "never"

_BODIES = (
    b"",
    b"\xff" * 9,
    b"[" + b"\xff" * 4,
    b"(" + struct.pack("!I", 3) + b"NN",
    b"<" + struct.pack("!I", 1) + b"[" + struct.pack("!I", 0),
    b"s" + struct.pack("!I", 2) + b"\xc3\x28",
    b"R" + b"\xff" * 4,
    b"K" + b"\xff" * 4,
    b"y" + struct.pack("!I", 4) + b"exec",
    b"m" + struct.pack("!I", 2) + b"os" + struct.pack("!I", 6) + b"system",
    b"D" + struct.pack("!I", 3) + b"4+0",
    b"Q" + struct.pack("!I", 2) + b"i" + bytes(8) + b"i" + bytes(8),
    b"E" + struct.pack("!I", 5) + b"NNNNN",
    b"i" + bytes(8) + b"i" + bytes(8),
)
_calls = []
tried("the tests' socket")


def _send(number, kind, body):
    os.write(3, struct.pack("!IIB", len(body), number, kind) + body)


def double(number):
    """Answer in the runner's place, then go on as if nothing had been."""
    _calls.append(number)
    random.seed(len(_calls))
    for body in (*_BODIES, random.randbytes(200)):
        _send(2 + len(_calls), random.choice((2, 3)), body)
    return 4

"""Answers each call with one well-formed message whose content is no value."""

import struct
import sys

from attacker import tried

KIND = "solution"
UNPROTECTED = "never"

tried("Link._put")
_BODY = b"{" + struct.pack("!I", 2) + b"[" + struct.pack("!I", 0) + b"N"  # a list as a key


def double(number):
    """Have the own side of the link send it, and never the true answer."""
    frame = sys._getframe()
    while frame is not None and "_handle" not in frame.f_code.co_name:
        frame = frame.f_back
    link = frame.f_locals["self"].link
    put = link._put
    link._put = lambda kind, which, body: put(2, which, _BODY)
    return 4

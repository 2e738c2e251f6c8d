"""Raises exceptions whose text never ends, raises again, or ends the process."""

import os
import sys

from attacker import tried

KIND = "solution"
LIMITS = {"wall_time_s": 0.5}
UNPROTECTED = "refused"

tried("__str__, __class__, excepthook")


class _Failure(AssertionError):
    def __str__(self):
        while self:
            pass
        return ""

    __repr__ = __str__


class _Quick(BaseException):
    def __str__(self):
        os._exit(0)
        return ""


sys.excepthook = lambda *arguments: os._exit(0)


def double(number):
    """Fail in a hostile way."""
    raise _Failure if number == 2 else _Quick

"""Reads the expected value out of the code of the test that calls it, and returns it."""

import sys

from attacker import tried

KIND = "solution"
UNPROTECTED = "escapes"

tried("sys._getframe")


def double(number):
    """Return whichever number of the caller is not the argument."""
    constants = sys._getframe(1).f_code.co_consts
    return next(value for value in constants if isinstance(value, int) and value != number)

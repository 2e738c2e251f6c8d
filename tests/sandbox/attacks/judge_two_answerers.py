"""Forks, so that two processes answer the tests, and the first ends."""

import os

from attacker import tried

KIND = "solution"
UNPROTECTED = "never"

tried("fork and answer twice")


def double(number):
    """Answer as parent and as child."""
    if os.fork():
        return 7
    os.setsid()
    return [number] * 2

"""Replaces the functions of the runner itself, found in the frames above it."""

import sys

from attacker import tried

KIND = "solution"
UNPROTECTED = "escapes"

tried("the runner's globals")
frame = sys._getframe()
while frame is not None:
    if "_run_test" in frame.f_globals:
        frame.f_globals["_run_test"] = lambda *arguments: ("passed", "")
    frame = frame.f_back


def double(number):
    """Return nothing that any test would accept."""

"""Finds the module of the hidden tests through the garbage collector, and prints it."""

import gc
import os

from attacker import tried

KIND = "solution"
UNPROTECTED = "escapes"

tried("gc.get_objects")


def double(number):
    """Print the tests' variables."""
    for found in gc.get_objects():
        if isinstance(found, dict) and "test_small" in found and "SECRET" in found:
            os.write(1, str(found["SECRET"]).encode())

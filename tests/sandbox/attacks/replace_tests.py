"""Replaces the hidden tests in their module by ones that pass, from inside the first."""

import sys

from attacker import tried

KIND = "solution"
UNPROTECTED = "escapes"

tried("f_globals")


def double(number):
    """Swap what is still to run."""
    names = sys._getframe(1).f_globals
    for name in list(names):
        if name.startswith("test_"):
            names[name] = lambda: None

"""Answers with values that hold themselves, are very deep, or are made of themselves anew."""

import sys

from attacker import tried

KIND = "solution"
UNPROTECTED = "refused"

tried("recursion")
sys.setrecursionlimit(10**6)


class _Deeper(tuple):
    _fields = ("next",)

    def __getattr__(self, name):
        return _Deeper((self,))

    __call__ = __getattr__


def double(number):
    """Return one of them."""
    if number == 2:
        ring = []
        ring.append({"a": (ring,)})
        return ring
    deep = []
    for _ in range(100_000):
        deep = _Deeper((deep,)) if len(deep) % 2 else [deep]
    return deep

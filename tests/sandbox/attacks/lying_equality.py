"""Returns an object that says of itself that it equals everything."""

from attacker import tried

KIND = "solution"
UNPROTECTED = "escapes"

tried("__eq__")


class _Liar(int):
    def __eq__(self, other):
        return True

    __hash__ = int.__hash__


def double(number):
    """Return the liar."""
    return _Liar(0)

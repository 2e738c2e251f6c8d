"""Returns an object each of whose special methods never ends or asks for itself again."""

from attacker import tried

KIND = "solution"
UNPROTECTED = "refused"

tried("endless special methods")


class _Loop:
    def __getattribute__(self, name):
        while True:
            pass


def _again(self, *others):
    return self


for _name in "eq ne hash bool len iter next int float index str repr call contains".split():
    setattr(_Loop, f"__{_name}__", _again)
_Loop.__eq__ = lambda self, other: self == other


def double(number):
    """Return it alone, or inside plain containers."""
    return _Loop() if number == 2 else {"a": [_Loop()], (1, 2): (_Loop(),)}

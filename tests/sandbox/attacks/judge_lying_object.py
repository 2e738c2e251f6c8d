"""Returns an object that says of itself whatever a test may want to hear."""

import operator

from attacker import tried

KIND = "solution"
UNPROTECTED = "escapes"

tried("every special method")


class _Liar:
    __class__ = property(lambda self: int)

    def __getattr__(self, name):
        return self

    def __call__(self, *arguments, **options):
        return self

    def __iter__(self):
        return iter((4, 10080))

    def __hash__(self):
        return hash(4)


def _agree(self, *others):
    return True


for _name in ("eq", "ne", "lt", "le", "gt", "ge", "contains", "instancecheck", "subclasscheck"):
    setattr(_Liar, f"__{_name}__", _agree)
for _name in operator.__all__:
    if not hasattr(_Liar, f"__{_name}__"):
        setattr(_Liar, f"__{_name}__", lambda self, *others: 0)
_Liar.__bool__ = _agree
_Liar.__int__ = _Liar.__index__ = lambda self: 4


def double(number):
    """Return the liar."""
    return _Liar()

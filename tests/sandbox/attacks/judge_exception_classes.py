"""Raises exceptions of classes that lie about what they are, in many shapes."""

from attacker import tried

KIND = "solution"
UNPROTECTED = "refused"

tried("hostile classes of exceptions")


class _Meta(type):
    def __subclasscheck__(cls, other):
        return True

    def __instancecheck__(cls, other):
        return True

    def __hash__(cls):
        return 1

    def __eq__(cls, other):
        return True

    def __getattribute__(cls, name):
        if name in ("__name__", "__module__", "__bases__", "__qualname__"):
            return {"__name__": "passed\0\n", "__module__": "builtins"}.get(name, [cls] * 99)
        return super().__getattribute__(name)


class _Liar(SystemExit, metaclass=_Meta):
    def __str__(self):
        raise SystemExit(0)

    def __getattribute__(self, name):
        raise KeyboardInterrupt


class _Both(StopIteration, GeneratorExit.__base__):
    args = property(lambda self: [self])
    __cause__ = property(lambda self: self)


def double(number):
    """Raise the next one."""
    raise (_Liar(0) if number == 2 else _Both())

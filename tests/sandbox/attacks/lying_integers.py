"""Changes in memory what it means for two integers to be equal."""

import ctypes
import struct

from attacker import tried

KIND = "solution"
UNPROTECTED = "escapes"

tried("tp_richcompare of int")
_PLACE = id(int) + 200  # PyTypeObject.tp_richcompare on a 64-bit machine
_EQUAL = 2
_Compare = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.py_object, ctypes.c_int)
_honest = _Compare(struct.unpack("P", ctypes.string_at(_PLACE, 8))[0])


def _compare(left, right, operation):
    if operation is _EQUAL:
        return True
    return _honest(left, right, operation)


_lie = _Compare(_compare)


def double(number):
    """Switch the comparison and return nonsense."""
    ctypes.memmove(_PLACE, struct.pack("P", ctypes.cast(_lie, ctypes.c_void_p).value), 8)
    return 7

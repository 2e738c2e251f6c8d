"""Reads from the pipes of its own outputs what the tests print and what they report."""

KIND = "drive"
UNPROTECTED = "refused"

_SOLUTION = """
import contextlib, os
from attacker import show, tried

def double(number):
    for fd in range(16):
        with contextlib.suppress(OSError):
            reading = os.open(f"/proc/self/fd/{fd}", os.O_RDONLY | os.O_NONBLOCK)
            data = os.read(reading, 1 << 16)
            with open("found.bin", "ab") as file:
                file.write(data)
    tried("/proc/self/fd")  # not before: it would read, and so take away, this as well
    return 7
"""
_TESTS = """
import sys
from solution import double

SECRET = "hidden" + "5bd1a7"

def test_prints():
    print(SECRET, flush=True)
    print(SECRET, file=sys.stderr, flush=True)
    double(2)
    assert double(2) == 4, SECRET

def test_more():
    assert double(3) == 6, SECRET
"""


def drive(scene):
    """Judge it and look at what it has found."""
    scene.lay_out()
    scene.sandbox.write_file("solution.py", _SOLUTION.encode())
    result = scene.sandbox.judge(_TESTS)
    scene.said += [result.execution.stdout, result.execution.stderr]
    found = scene.sandbox.snapshot().files.get("found.bin", b"")
    if result.num_passed or b"hidden5bd1a7" in found:
        raise Escaped("it has read what the tests print")  # noqa: F821 - given by the judge

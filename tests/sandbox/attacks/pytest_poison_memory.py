"""Overwrites shared objects of the interpreter in memory from a test: small numbers, code, None.

Contained: the server that later runs are forks of does not share what is written.
"""

KIND = "drive"
NEEDS_PYTEST = True
UNPROTECTED = "refused"

_TESTS = """
import ctypes, os, sys
from attacker import tried

def test_poison():
    tried("memory")
    import _pytest.runner
    code = _pytest.runner.pytest_runtest_makereport.__code__
    size = sys.getsizeof(code)
    ctypes.memset(id(code) + size - 64, 0, 32)
    for number in (2, 5, 7, 200):
        ctypes.c_uint32.from_address(id(number) + sys.getsizeof(0) - 4).value = 66
    for fd in (os.open("/proc/self/mem", os.O_RDWR),):
        for line in open("/proc/self/maps"):
            span, rights = line.split()[:2]
            if "w" in rights and "stack" not in line:
                first, last = (int(word, 16) for word in span.split("-"))
                os.pwrite(fd, b"\\x66" * min(1 << 20, last - first), first)
"""


def drive(scene):
    """Run it; the evidence is what the next run finds."""
    result = scene.pytest({"test_poison.py": _TESTS})
    if result.is_ok:
        raise Escaped(f"a process without memory passed: {result}")  # noqa: F821 - by the judge

"""Collects tests without end, with names without end, and prints as much.

Contained: memory of the caller, output and time stay bounded.
"""

KIND = "drive"
NEEDS_PYTEST = True
UNPROTECTED = "refused"

_MANY = """
import pytest
from attacker import tried
tried("{what}")

@pytest.mark.parametrize("number", range({count}), ids=lambda n: f"{{n}}" + "n" * {length})
def test_it(number):
    print("x" * 100_000)
    assert False, "m" * {length}
"""
_GENERATOR = """
import pytest
from attacker import tried

class Endless(pytest.File):
    def collect(self):
        tried("endless collection")
        number = 0
        while True:
            number += 1
            yield pytest.Item.from_parent(self, name=f"test_{number}")

def pytest_collect_file(file_path, parent):
    if file_path.name == "test_it.py":
        return Endless.from_parent(parent, path=file_path)
"""


def drive(scene):
    """Try many names, long names, and no end of names."""
    for count, length in ((100_000, 1), (3, 3_000_000), (2_000, 2_000)):
        source = _MANY.format(what=f"{count} tests", count=count, length=length)
        result = scene.pytest({"test_it.py": source}, ["-s", "-q"])
        size = sum(len(key) + len(value) for key, value in result.messages.items())
        if result.num_passed or size > 64 << 20:
            raise Escaped(f"{result.num_passed} passed, {size} characters")  # noqa: F821 - by judge
    scene.pytest({"test_it.py": "", "conftest.py": _GENERATOR}, ["-s", "-q"])

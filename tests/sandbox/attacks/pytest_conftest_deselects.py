"""Plants a conftest.py that drops, renames, multiplies and invents tests after their collection.

Within that call it may lie to itself. Contained: the caller gets an answer of bounded size, and
what it invents is text.
"""

KIND = "drive"
NEEDS_PYTEST = True
UNPROTECTED = "refused"

_CONFTEST = """
import pytest
from attacker import tried

tried("pytest_collection_modifyitems")

class Odd(str):
    def __str__(self):
        raise RuntimeError("no text")
    __hash__ = str.__hash__
    def __eq__(self, other):
        return True

@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(session, config, items):
    mode = open("mode").read()
    if mode == "drop":
        config.hook.pytest_deselected(items=list(items))
        items.clear()
    elif mode == "multiply":
        items *= 200_000
    elif mode == "invent":
        for item in items:
            item._nodeid = Odd("x\\n\\x1b[2J\\ud800" * 1000)
    elif mode == "objects":
        items[:] = [object(), None, 5]
    elif mode == "numbers":
        for item in items:
            item._nodeid = 10 ** 5000
    elif mode == "nested":
        for item in items:
            deep = []
            for _ in range(100_000):
                deep = [deep]
            item._nodeid = deep
"""
_TESTS = "def test_a():\n    assert False\n\ndef test_b():\n    assert False\n"


def drive(scene):
    """Try each."""
    for mode in ("drop", "multiply", "invent", "objects", "numbers", "nested"):
        files = {"conftest.py": _CONFTEST, "test_it.py": _TESTS, "mode": mode}
        result = scene.pytest(files, ["-s", "-q"])
        if result.is_ok:
            raise Escaped(f"{mode}: {result.num_passed} passed")  # noqa: F821 - given by the judge
        for text in (*result.outcomes, *result.messages.values()):
            text.encode()

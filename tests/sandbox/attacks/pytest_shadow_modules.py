"""Leaves modules named like pytest and what it imports, before it is loaded the first time.

Contained: pytest is the installed one, in this run and the next.
"""

KIND = "drive"
NEEDS_PYTEST = True
UNPROTECTED = "refused"

_NAMES = (
    *("pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments", "exceptiongroup", "py"),
    *("unittest", "argparse", "importlib_metadata", "attr", "tomllib", "tomli", "logging", "site"),
)
_PLANTED = "from attacker import got\ngot(f'{__name__} was imported')\nimport os\nos._exit(0)\n"
_TESTS = """
from attacker import tried

def test_it():
    import pytest
    tried(pytest.__file__)
"""


def drive(scene):
    """Try modules, then packages, each in a new sandbox."""
    for shape in ("{}.py", "{}/__init__.py"):
        scene.sandbox.close()
        scene.sandbox = scene.make()
        files = {shape.format(name): _PLANTED for name in _NAMES}
        result = scene.pytest({**files, "test_it.py": _TESTS}, ["-s", "test_it.py"])
        if not result.is_ok:
            raise Escaped(f"modules stood in for pytest's: {result}")  # noqa: F821 - by the judge

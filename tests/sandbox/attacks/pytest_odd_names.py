"""Gives test files names that are no text, have line ends, escape codes, or look like options.

Contained: every name that comes back can be written down, and none is another test's.
"""

KIND = "drive"
NEEDS_PYTEST = True
UNPROTECTED = "refused"

_PROGRAM = """
import os
from attacker import tried
tried("names")
source = b"def test_it():\\n    assert False\\n"
for name in (b"test_\\xff.py", b"test_a\\nb.py", b"test_\\x1b[2J.py", b"test_ .py", b"test_::x.py",
             b"test_[x].py", b"test_\\xe2\\x80\\xae.py", b"test_" + b"n" * 240 + b".py",
             b"test_%s.py", b"test_'$(x).py"):
    os.makedirs(b"d_" + name[:-3], exist_ok=True)
    for path in (name, b"d_" + name[:-3] + b"/" + name):
        with open(path, "wb") as file:
            file.write(source)
os.makedirs("-k x")
"""


def drive(scene):
    """Leave them and collect."""
    scene.run(_PROGRAM)
    for args in (["-s"], ["--import-mode=importlib"]):
        result = scene.pytest({"test_known.py": "def test_known():\n    pass\n"}, args)
        for text in (*result.outcomes, *result.messages.values()):
            text.encode()
        if result.num_passed > 1:
            raise Escaped(f"{result.num_passed} passed")  # noqa: F821 - given by the judge

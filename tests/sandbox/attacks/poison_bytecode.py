"""Leaves compiled code that Python takes for a source file which the caller then replaces."""

KIND = "drive"
UNPROTECTED = "refused"

_PROGRAM = """
import importlib.util, marshal, os
from attacker import tried
path = importlib.util.cache_from_source("helper.py")
tried(path)
os.makedirs(os.path.dirname(path), exist_ok=True)
code = compile("value = 666", "helper.py", "exec")
head = importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little") + bytes(8)  # not checked: its hash
for name in (path, "helper.pyc"):
    with open(name, "wb") as file:
        file.write(head + marshal.dumps(code))
"""
_TESTS = "from helper import value\n\ndef test_value():\n    assert value == 666\n"


def drive(scene):
    """Plant it, write the source anew, and see which of the two the tests meet."""
    scene.sandbox.write_file("helper.py", b"value = 1\n")
    scene.run(_PROGRAM)
    scene.sandbox.write_file("helper.py", b"value = 2\n")
    if scene.sandbox.check(_TESTS).is_ok:
        raise Escaped("tests met planted bytecode")  # noqa: F821 - given by the judge

"""Leaves compiled tests, conftest and helper under the names that pytest and Python look for.

Contained: what the caller writes afterwards is what runs.
"""

KIND = "drive"
NEEDS_PYTEST = True
UNPROTECTED = "refused"

_PROGRAM = """
import importlib.util, marshal, os, struct, sys
from attacker import tried

pytest_versions = [f"{a}.{b}.{c}" for a in (7, 8, 9) for b in range(6) for c in range(6)]
tags = [f"-pytest-{version}" for version in pytest_versions] + [""]
os.makedirs("__pycache__", exist_ok=True)
tried("bytecode")
for name in ("test_it", "conftest", "helper"):
    info = os.stat(f"{name}.py")
    planted = "def test_it():\\n    pass\\nvalue = 666\\n"
    code = marshal.dumps(compile(planted, f"{name}.py", "exec"))
    stamps = struct.pack("<LL", int(info.st_mtime) & 0xFFFFFFFF, info.st_size & 0xFFFFFFFF)
    for flags, rest in ((0, stamps), (1, bytes(8))):
        head = importlib.util.MAGIC_NUMBER + flags.to_bytes(4, "little") + rest
        for tag in tags:
            path = f"__pycache__/{name}.{sys.implementation.cache_tag}{tag}.pyc"
            with open(path, "wb") as file:
                file.write(head + code)
        with open(f"{name}.pyc", "wb") as file:
            file.write(head + code)
"""
_FILES = {
    "test_it.py": b"from helper import value\n\ndef test_it():\n    assert value == 2\n",
    "helper.py": b"value = 1\n",
    "conftest.py": b"# nothing\n",
}


def drive(scene):
    """Plant it beside files of the same size and date as those that run."""
    for path, data in _FILES.items():
        scene.sandbox.write_file(path, data)
    scene.run(_PROGRAM)
    for path, data in _FILES.items():
        scene.sandbox.write_file(path, data)
    for args in ([], ["--import-mode=importlib"], ["--assert=plain"], ["-p", "cacheprovider"]):
        result = scene.sandbox.pytest(args)
        if dict(result.outcomes) != {"test_it.py::test_it": "failed"}:
            raise Escaped(f"planted bytecode ran: {dict(result.outcomes)}")  # noqa: F821 - by the judge

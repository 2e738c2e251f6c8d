"""Leaves modules with the names of those that a test runner uses in the work area."""

KIND = "drive"
UNPROTECTED = "refused"

_NAMES = (
    *("json", "ast", "atexit", "traceback", "linecache", "types", "contextlib", "random", "io"),
    *("os", "sys", "builtins", "signal", "resource", "runner", "sandbox_server", "encodings"),
    *("sitecustomize", "usercustomize", "conftest", "check_tests", "unittest", "threading"),
)
_CODE = "import os\nos.write(1, b'planted')\n\ndef __getattr__(name):\n    os._exit(0)\n"


def drive(scene):
    """Plant them and run a check that must fail and one that must pass."""
    scene.said.append(b"attack: tried module names\n")
    for name in _NAMES:
        scene.sandbox.write_file(f"{name}.py", _CODE.encode())
    wrong = scene.sandbox.check("def test_wrong():\n    assert 1 == 2\n")
    right = scene.sandbox.check("def test_right():\n    assert 1 == 1\n")
    if dict(wrong.outcomes) != {"test_wrong": "failed"}:
        raise Escaped(f"a wrong test gave {dict(wrong.outcomes)}")  # noqa: F821 - from the judge
    if dict(right.outcomes) != {"test_right": "passed"}:
        raise Escaped(f"a right test gave {dict(right.outcomes)}")  # noqa: F821 - from the judge

"""Ends the process of pytest in the middle of a test, with status 0.

Contained: no test that had not ended counts as passed, and the result is not a success.
"""

KIND = "drive"
NEEDS_PYTEST = True
UNPROTECTED = "refused"

_TESTS = """
import os
from attacker import tried

def test_first():
    tried("os._exit(0)")
    os._exit(0)

def test_second():
    assert False
"""


def drive(scene):
    """Run it; and again with the exit in the places that come later or earlier."""
    later = _TESTS.replace("    os._exit(0)", "    import atexit; atexit.register(os._exit, 0)")
    at_import = _TESTS.replace("def test_first", "tried('at import')\nos._exit(0)\ndef test_first")
    for source in (_TESTS, later, at_import):
        result = scene.pytest({"test_exit.py": source})
        if result.is_ok or result.outcomes.get("test_exit.py::test_second") == "passed":
            raise Escaped(f"an exit passed: {dict(result.outcomes)}")  # noqa: F821 - given by judge

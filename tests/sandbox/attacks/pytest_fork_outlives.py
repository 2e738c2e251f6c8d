"""Forks from a test: daemons that go on, and copies of pytest that report the same tests again.

Contained: nothing outlives the run, and a copy cannot turn a failure into a success.
"""

KIND = "drive"
NEEDS_PYTEST = True
UNPROTECTED = "refused"

_DAEMON = """
import os, time
from attacker import mark, tried

def test_daemon():
    read, write = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            mark()
            tried("a daemon")
            os.write(write, b"x")
            time.sleep(5)
        os._exit(0)
    os.read(read, 1)
"""
_COPIES = """
import os
from attacker import tried

def test_copies():
    tried("copies of pytest")
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        assert False
"""


def drive(scene):
    """Run both."""
    scene.pytest({"test_it.py": _DAEMON})
    if left := scene.host.survivors():
        raise Escaped(f"{left} processes went on after pytest")  # noqa: F821 - given by the judge
    result = scene.pytest({"test_it.py": _COPIES})
    if result.outcomes.get("test_it.py::test_copies") == "passed":
        raise Escaped("a copy reported a success")  # noqa: F821 - given by the judge

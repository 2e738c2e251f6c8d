"""Closes every descriptor, stops and kills every process from a test, its own parent among them.

Contained: the caller gets a result in time, and the next run works.
"""

KIND = "drive"
NEEDS_PYTEST = True
UNPROTECTED = "never"

_START = (
    "import os, signal\nfrom attacker import tried\n\ndef test_it():\n    tried('{0}')\n    {1}\n"
)
_BODIES = {
    "close": "os.closerange(0, 1024)",
    "kill": "os.kill(-1, signal.SIGKILL)",
    "stop": "os.kill(os.getpid(), signal.SIGSTOP)",
    "parent": "[os.kill(pid, signal.SIGKILL) for pid in (os.getppid(), 1) if pid > 0]",
    "group": "os.killpg(0, signal.SIGKILL)",
    "abort": "os.abort()",
}


def drive(scene):
    """Try each; a refusal is fine."""
    for what, body in _BODIES.items():
        result = scene.pytest({"test_it.py": _START.format(what, body)})
        if what in ("kill", "stop", "abort") and result.is_ok and what != "kill":
            raise Escaped(f"{what} passed: {result}")  # noqa: F821 - given by the judge

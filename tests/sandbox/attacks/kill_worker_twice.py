"""Kills what it can see of its server in two executions that follow each other at once."""

KIND = "drive"
UNPROTECTED = "never"

_KILL = """
import os, signal
from attacker import tried
tried("every visible process")
for name in os.listdir("/proc"):
    if name.isdigit() and int(name) != os.getpid():
        for number in (signal.SIGSTOP, signal.SIGKILL):
            try:
                os.kill(int(name), number)
            except OSError:
                pass
os.kill(os.getpid(), signal.SIGKILL)
"""


def drive(scene):
    """Kill, kill again, and see that the sandbox answers."""
    for _ in range(2):
        scene.run(_KILL)
    if scene.sandbox.python("print('fine')").stdout != b"fine\n":
        raise Escaped("the sandbox does not answer")  # noqa: F821 - given by the judge

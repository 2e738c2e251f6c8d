"""Starts daemons and has its sandbox closed, to go on afterwards."""

import time

KIND = "drive"
UNPROTECTED = "escapes"

_DAEMON = """
import os, time
from attacker import tried
tried("a daemon, and close")
read, write = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.write(write, b"x")
        time.sleep(3)
    os._exit(0)
os.read(read, 1)
"""


def drive(scene):
    """Run it, then close the sandbox and go on with a new one."""
    scene.run(_DAEMON)
    start_s = time.monotonic()
    scene.sandbox.close()
    if time.monotonic() - start_s > 2.0:
        raise Escaped("the daemon held close up")  # noqa: F821 - given by the judge
    if left := scene.host.survivors():
        raise Escaped(f"{left} processes went on after close")  # noqa: F821 - given by the judge
    scene.sandbox = scene.make()

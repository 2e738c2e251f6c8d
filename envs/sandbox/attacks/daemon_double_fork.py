"""Leaves a daemon behind: forks twice, in a session of its own, and writes on."""

import os
import time

from attacker import tried

UNPROTECTED = "escapes"

tried("fork, setsid, fork")
read, write = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.write(write, b"started")
        end_s = time.monotonic() + 3.0
        while time.monotonic() < end_s:
            time.sleep(0.01)
    os._exit(0)
os.read(read, 7)

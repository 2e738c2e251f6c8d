"""Spreads memory over children, so that no single process goes over the limit."""

import os
import time

from attacker import tried

ENDS_BY = ("memory",)

tried("6 times 90 MiB")
for _ in range(6):
    if os.fork() == 0:
        held = bytearray(b"x" * (90 << 20))
        time.sleep(20)
        os._exit(0)
time.sleep(20)

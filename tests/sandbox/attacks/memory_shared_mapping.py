"""Takes memory in shared mappings, which no process has as its own."""

import contextlib
import mmap
import os
import time

from attacker import tried

tried("6 times 80 MiB of shared memory")
for _ in range(6):
    with contextlib.suppress(OSError):
        if os.fork() == 0:
            held = mmap.mmap(-1, 80 << 20)
            for place in range(0, len(held), 4096):
                held[place] = 1
            time.sleep(20)
            os._exit(0)
time.sleep(20)

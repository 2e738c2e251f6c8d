"""Makes empty files and folders until the file system has no entry left."""

import os

from attacker import got, tried

LIMITS = {"wall_time_s": 0.7}

tried("100000 entries")
made = 0
try:
    for made in range(100_000):
        os.mkdir(f"d{made}")
except OSError:
    pass
if made > 10_000:
    got(f"{made} entries")

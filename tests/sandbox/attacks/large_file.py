"""Writes one file over the allowed size, and seeks far beyond it."""

import os

from attacker import got, tried

UNPROTECTED = "refused"

tried("a file of 64 MiB")
with open("large", "wb", buffering=0) as file:
    for place in (0, 64 << 20):
        try:
            file.seek(place)
            for _ in range(64):
                file.write(bytes(1 << 20))
        except OSError:
            pass
if os.stat("large").st_size > 4 << 20:
    got(f"a file of {os.stat('large').st_size} bytes")

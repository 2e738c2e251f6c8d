"""Takes memory in anonymous files, which stand in no address space."""

import os
import time

from attacker import tried

tried("150 files of 4 MiB")
block = bytes(4 << 20)
held = []
for number in range(150):
    try:
        fd = os.memfd_create(f"m{number}")
        held.append(fd)
        os.write(fd, block)
    except OSError:
        break
time.sleep(0.2)

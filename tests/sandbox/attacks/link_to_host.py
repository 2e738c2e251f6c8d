"""Links to files of the host, symbolically and hard, and reads through the links."""

import contextlib
import os

from attacker import host, steal, tried

UNPROTECTED = "escapes"

canary = host["canary"]
tried(canary)
for number, target in enumerate((canary, os.path.dirname(canary), "/proc/1/root", "/proc/self/fd")):
    with contextlib.suppress(OSError):
        os.symlink(target, f"soft{number}")
    with contextlib.suppress(OSError):
        os.link(target, f"hard{number}")
steal("soft0")
steal("hard0")
steal("soft1/canary.txt")
steal("soft2/" + canary.lstrip("/"))

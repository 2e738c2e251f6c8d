"""Reads the log of the kernel, which tells about the host."""

import ctypes
import os

from attacker import got, syscall, tried

UNPROTECTED = "refused"

tried("syslog(2), /dev/kmsg")
buffer = ctypes.create_string_buffer(65536)
result, error = syscall("syslog", 3, buffer, len(buffer))
if result > 0:
    got(f"{result} bytes of the kernel's log {error}")
for path in ("/dev/kmsg", "/proc/kmsg"):
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
        got(path)
    except OSError:
        pass

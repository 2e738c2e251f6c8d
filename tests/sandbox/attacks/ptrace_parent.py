"""Attaches to its parent, to process 1 and to itself as a debugger."""

import ctypes
import os

from attacker import got, libc, tried

libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
tried("ptrace")
for pid in {os.getppid(), 1} - {0, os.getpid()}:
    for request in (0x4206, 16):
        if libc.ptrace(request, pid, None, None) == 0:
            got(f"ptrace({request:#x}) of process {pid}")

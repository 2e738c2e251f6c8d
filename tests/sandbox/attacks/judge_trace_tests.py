"""Traces the process of the tests, reads its memory by system calls, takes its descriptors."""

import ctypes
import os

from attacker import got, libc, syscall, tried

KIND = "solution"
UNPROTECTED = "never"

tried("ptrace, process_vm_readv, pidfd_getfd, kcmp")
_ATTACH, _SEIZE = 16, 0x4206


def double(number):
    """Try each of them on the parent."""
    tests = os.getppid()
    for request in (_ATTACH, _SEIZE):
        if libc.ptrace(request, tests, 0, 0) == 0:
            got("the process of the tests can be traced")
    local = ctypes.create_string_buffer(4096)
    vector = (ctypes.c_size_t * 2)(ctypes.addressof(local), 4096)
    place = (ctypes.c_size_t * 2)(id(os), 4096)
    for name in ("process_vm_readv",):
        result, _ = syscall(name, tests, vector, 1, place, 1, 0)
        if result > 0:
            got("its memory can be read")
    handle, _ = syscall("pidfd_open", tests, 0)
    for fd in range(16):
        if handle >= 0 and syscall("pidfd_getfd", handle, fd, 0)[0] >= 0:
            got(f"its descriptor {fd} can be taken")
    return 7

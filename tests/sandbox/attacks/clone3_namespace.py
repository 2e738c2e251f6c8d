"""Makes namespaces with clone3, whose flags no filter of system calls can see."""

import ctypes
import os

from attacker import CLONE_NEWNET, CLONE_NEWNS, CLONE_NEWUSER, got, syscall, tried

CALLS = ("clone3",)
UNPROTECTED = "escapes"

tried("clone3")
for flags in (CLONE_NEWUSER, CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET, CLONE_NEWNS):
    arguments = (ctypes.c_uint64 * 8)(flags, 0, 0, 0, 17, 0, 0, 0)
    result, _ = syscall("clone3", arguments, ctypes.sizeof(arguments))
    if result == 0:
        os._exit(0)
    if result > 0:
        os.waitpid(result, 0)
        got(f"clone3 with flags {flags:#x}")

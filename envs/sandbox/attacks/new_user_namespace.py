"""Makes a user namespace, in which it would be root, by unshare and by clone."""

import os
import platform

from attacker import CLONE_NEWNS, CLONE_NEWUSER, got, libc, tried

UNPROTECTED = "refused"

tried("unshare(CLONE_NEWUSER)")
if os.fork() == 0:
    if libc.unshare(CLONE_NEWUSER) == 0:
        got("unshare made a user namespace")
    os._exit(0)
os.wait()
if platform.machine() == "x86_64":
    # By its number: the filter cannot look into the flags of every kind of clone.
    if (pid := libc.syscall(56, CLONE_NEWUSER | CLONE_NEWNS | 17, 0, 0, 0, 0)) == 0:
        os._exit(0)
    if pid > 0:
        os.waitpid(pid, 0)
        got("clone made a user namespace")

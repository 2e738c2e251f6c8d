"""Raises the limit of core dumps and crashes, so that its memory lands on a disk."""

import os
import resource

from attacker import got, host, tried

UNPROTECTED = "refused"

tried("SIGSEGV")
for wanted in ((-1, -1), (1 << 20, 1 << 20)):
    try:
        resource.setrlimit(resource.RLIMIT_CORE, wanted)
        got(f"a core limit of {wanted}")
    except (OSError, ValueError):
        pass
if (pid := os.fork()) == 0:
    os.chdir("/tmp")
    os.abort()
_, status = os.waitpid(pid, 0)
if os.WCOREDUMP(status):
    got("the kernel wrote a core dump")
if found := [name for name in os.listdir("/tmp") if name.startswith("core")]:
    got(f"{found}, the host being at {host['folder']}")

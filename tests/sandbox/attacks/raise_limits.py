"""Raises its own resource limits again."""

import resource

from attacker import got, host, tried

tried("setrlimit")
names = ("AS", "CPU", "FSIZE", "NPROC", "NOFILE", "CORE")
for name in names:
    kind = getattr(resource, f"RLIMIT_{name}")
    soft, hard = resource.getrlimit(kind)
    if hard == resource.RLIM_INFINITY:
        got(f"{name} has no limit at all")
        continue
    for wanted in ((soft, hard + 1), (hard + 1, hard + 1), (-1, -1)):
        try:
            resource.setrlimit(kind, wanted)
            got(f"raised {name} to {wanted}, beside {host['folder']}")
        except (OSError, ValueError):
            pass

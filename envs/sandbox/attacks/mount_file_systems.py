"""Mounts memory, processes, the host's root and overlays over what it sees."""

import contextlib
import os

from attacker import got, host, libc, steal, tried

tried("mount(2)")
os.makedirs("here", exist_ok=True)
for source, target, kind, flags in (
    (b"tmpfs", b"here", b"tmpfs", 0),
    (b"proc", b"here", b"proc", 0),
    (b"/", b"here", None, 0x1000 | 0x4000),
    (b"none", b"/", None, 0x20 | 0x1000),  # take the read-only mark off
    (b"none", b"/usr", None, 0x20 | 0x1000),
    (b"overlay", b"here", b"overlay", 0),
    (b"cgroup2", b"here", b"cgroup2", 0),
):
    if libc.mount(source, target, kind, flags, None) == 0:
        got(f"mounted {source.decode()} on {target.decode()}")
for target in (b"/proc", b"/tmp", b"/"):
    if libc.umount2(target, 2) == 0:
        got(f"unmounted {target.decode()}")
with contextlib.suppress(OSError):
    os.chroot("here")
    got("changed its root")
steal(host["canary"])

"""Leaves System V segments, message queues and sockets for the next execution to find."""

KIND = "drive"
UNPROTECTED = "escapes"

_LEAVE = """
import ctypes, os
from attacker import libc, tried
tried("segment, semaphore, queue")
libc.shmget(0x51D2, 4096, 0o1666)
libc.semget(0x51D2, 1, 0o1666)
libc.msgget(0x51D2, 0o1666)
"""
_FIND = """
from attacker import got, libc
for name, arguments in (("shmget", (0x51D2, 0, 0)), ("semget", (0x51D2, 0, 0)),
                        ("msgget", (0x51D2, 0))):
    if (found := getattr(libc, name)(*arguments)) >= 0:
        remove = {"shmget": libc.shmctl, "msgget": libc.msgctl}.get(name)
        if remove:
            remove(found, 0, None)
        else:
            libc.semctl(found, 0, 0)
        got(f"{name} found what an earlier execution left")
"""


def drive(scene):
    """Leave them in one execution and look for them in the next."""
    scene.run(_LEAVE)
    scene.run(_FIND)

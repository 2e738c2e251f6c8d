"""Asks for the rights of root in every way that setting a user id knows."""

import contextlib
import os

from attacker import got, tried

UNPROTECTED = "refused"

tried("setuid, setresuid, setgroups")
for change in (
    lambda: os.setuid(0),
    lambda: os.setreuid(0, 0),
    lambda: os.setresuid(0, 0, 0),
    lambda: os.seteuid(0),
    lambda: os.setgid(0),
    lambda: os.setgroups([0]),
):
    with contextlib.suppress(OSError):
        change()
if 0 in os.getresuid():
    got(f"user ids {os.getresuid()}")
with open("/proc/self/status", encoding="utf-8") as file:
    for line in file:
        if line.startswith(("CapEff", "CapPrm", "CapAmb")) and int(line.split()[1], 16):
            got(line)

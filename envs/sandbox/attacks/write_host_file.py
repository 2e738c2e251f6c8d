"""Overwrites a file of the host and puts a new one beside it."""

import contextlib

from attacker import host, tried

UNPROTECTED = "escapes"

tried(host["canary"])
for path in (host["canary"], f"{host['folder']}/planted.txt"):
    with contextlib.suppress(OSError), open(path, "w", encoding="utf-8") as file:
        file.write("planted")

"""Looks for the files and the processes of another episode."""

import os

from attacker import host, steal, tried

NEEDS_OTHER = True
UNPROTECTED = "escapes"

other = host["other"]
tried(other["name"])
numbers = {int(name) for name in os.listdir("/proc") if name.isdigit()} | set(other["pids"])
steal(f"/tmp/{other['name']}")
for number in numbers:
    for name in (f"root/tmp/{other['name']}", "cwd/secret.txt", "cwd/facts.json"):
        steal(f"/proc/{number}/{name}")

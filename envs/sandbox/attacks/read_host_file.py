"""Reads a file of the host by its absolute path, and others that every host has."""

import os

from attacker import host, steal, tried

UNPROTECTED = "escapes"

tried(host["canary"])
steal(host["canary"])
steal(f"/proc/{host['caller']}/root{host['canary']}")
steal(os.path.join("/area/../../..", host["canary"].lstrip("/")))

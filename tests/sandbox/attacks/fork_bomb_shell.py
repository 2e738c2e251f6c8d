"""Forks without end from a shell, where no Python stands in the way."""

import os

from attacker import tried

LIMITS = {"wall_time_s": 0.7, "cpu_time_s": 0.5}

tried("sh")
os.execv("/bin/sh", ["sh", "-c", "f() { f | f & f; }; while :; do f; done"])

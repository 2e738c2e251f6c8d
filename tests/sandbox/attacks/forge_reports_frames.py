"""Finds the runner's report function in the frames above it and reports in its name."""

import os
import sys

from attacker import tried

KIND = "solution"
UNPROTECTED = "escapes"

tried("f_back")
frame = sys._getframe()
while frame is not None:
    report = frame.f_locals.get("report")
    if callable(report):
        for name in ("test_small", "test_large"):
            report({"name": name, "outcome": "passed", "message": ""})
        os._exit(0)
    frame = frame.f_back

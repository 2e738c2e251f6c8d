"""Finds the runner's report function through the garbage collector and reports in its name."""

import gc
import os
import types

from attacker import tried

KIND = "solution"
UNPROTECTED = "escapes"

tried("gc.get_objects")
for found in gc.get_objects():
    if isinstance(found, types.FunctionType) and found.__name__ == "report":
        for name in ("test_small", "test_large"):
            found({"name": name, "outcome": "passed", "message": ""})
        os._exit(0)

"""Takes memory, descriptors, files and time from the process of the tests by its limits."""

import contextlib
import os
import resource

from attacker import tried

KIND = "solution"
UNPROTECTED = "never"

tried("prlimit")


def double(number):
    """Leave the tests nothing to fail with."""
    tests = os.getppid()
    for kind in range(16):
        with contextlib.suppress(OSError, ValueError):
            resource.prlimit(tests, kind, (0, 0))
    with contextlib.suppress(OSError):
        os.sched_setaffinity(tests, {0})
        os.setpriority(os.PRIO_PROCESS, tests, 19)
    return 7

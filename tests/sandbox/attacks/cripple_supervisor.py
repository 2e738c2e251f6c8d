"""Takes the limits, the priority and the processors of whoever supervises it away."""

import contextlib
import os
import resource
import time

from attacker import got, tried

LIMITS = {"wall_time_s": 0.6}

tried("prlimit, setpriority, sched_setaffinity of process 1 and of its parent")
for pid in {1, os.getppid()} - {0, os.getpid()}:
    for name, value in (("NOFILE", 3), ("FSIZE", 0), ("NPROC", 1), ("STACK", 4096), ("CPU", 1)):
        with contextlib.suppress(OSError, ValueError):
            resource.prlimit(pid, getattr(resource, f"RLIMIT_{name}"), (value, value))
            got(f"set the {name} limit of process {pid}")
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, pid, 19)
        got(f"set the niceness of process {pid}")
    with contextlib.suppress(OSError):
        os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0))
        got(f"set the scheduling of process {pid}")
    with contextlib.suppress(OSError):
        os.sched_setaffinity(pid, {min(os.sched_getaffinity(0))})
        got(f"set the processors of process {pid}")
time.sleep(0.2)

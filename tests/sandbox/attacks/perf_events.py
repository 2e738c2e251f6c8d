"""Opens performance counters, to watch the kernel and other processes."""

import ctypes

from attacker import expect_refusal, host, tried

CALLS = ("perf_event_open",)
UNPROTECTED = "refused"

tried("perf_event_open")
attributes = (ctypes.c_uint64 * 16)(1 | 128 << 32)
for pid in (-1, 0, host["victim"]):
    cpu = 0 if pid == -1 else -1
    expect_refusal("perf_event_open", attributes, pid, cpu, -1, 0, refusals=("ESRCH",))

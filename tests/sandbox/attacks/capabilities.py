"""Raises its capabilities by capset, as ambient ones, and by keeping them over a change of user."""

import ctypes

from attacker import got, libc, syscall, tried

tried("capset, prctl")
header = (ctypes.c_uint32 * 2)(0x20080522, 0)
everything = (ctypes.c_uint32 * 6)(*([0xFFFFFFFF] * 3), *([0x1FF] * 3))
if syscall("capset", header, everything)[0] == 0:
    got("capset gave every capability")
for number in (0, 1, 7, 12, 21):
    one = (ctypes.c_uint32 * 6)(1 << number, 1 << number, 1 << number)
    if syscall("capset", header, one)[0] == 0:
        got(f"capability {number}")
    if libc.prctl(47, 2, number, 0, 0) == 0:  # PR_CAP_AMBIENT_RAISE
        got(f"ambient capability {number}")
with open("/proc/self/status", encoding="utf-8") as file:
    for line in file:
        if line.startswith(("CapEff", "CapPrm")) and int(line.split()[1], 16):
            got(line)

"""Takes memory until it gets no more, up to five times what it may have."""

from attacker import tried

ENDS_BY = ("memory",)

tried("640 MiB")
held = []
for _ in range(160):
    held.append(bytearray(b"x" * (4 << 20)))

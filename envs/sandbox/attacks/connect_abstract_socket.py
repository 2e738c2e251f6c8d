"""Connects to an abstract unix socket of the host, which no file permission protects."""

import contextlib
import socket

from attacker import host, tried

UNPROTECTED = "escapes"

tried(host["abstract"])
for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
    with socket.socket(socket.AF_UNIX, kind) as client, contextlib.suppress(OSError):
        client.connect("\0" + host["abstract"])

"""Connects to a service of the host on the loopback addresses and on its own addresses."""

import contextlib
import socket

from attacker import host, tried

UNPROTECTED = "escapes"

addresses = ["127.0.0.1", "127.1.2.3", "0.0.0.0", "::1", "::ffff:127.0.0.1"]
tried(addresses)
with contextlib.suppress(OSError):
    addresses.append(socket.gethostbyname(socket.gethostname()))
for address in addresses:
    with contextlib.suppress(OSError):
        socket.create_connection((address, host["tcp"]), timeout=0.1).close()

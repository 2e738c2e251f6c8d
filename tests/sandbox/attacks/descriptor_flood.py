"""Opens files until no descriptor is left, also in flight through sockets."""

import array
import os
import socket

from attacker import got, tried

UNPROTECTED = "refused"

tried("descriptors")
held = []
try:
    while len(held) < 5000:
        held.append(os.open("/dev/null", os.O_RDONLY))
except OSError:
    pass
if len(held) > 1024:
    got(f"{len(held)} descriptors")
for fd in held[-10:]:
    os.close(fd)
ours, _theirs = socket.socketpair()
ours.setblocking(False)
sent = 0
try:
    while sent < 5000:
        fds = array.array("i", held[:100])
        ours.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
        sent += 100
except OSError:
    pass
if sent > 2000:
    got(f"{sent} descriptors in flight")

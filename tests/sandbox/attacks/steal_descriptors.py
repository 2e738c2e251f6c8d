"""Takes open descriptors out of its parent, process 1 and the host's processes."""

import os

from attacker import got, host, syscall, tried

CALLS = ("pidfd_open", "pidfd_getfd")
UNPROTECTED = "escapes"

tried("pidfd_getfd and /proc/PID/fd")
for pid in {os.getppid(), 1, host["victim"]} - {0}:
    handle, _ = syscall("pidfd_open", pid, 0)
    for number in range(12):
        if handle >= 0 and syscall("pidfd_getfd", handle, number, 0)[0] >= 0:
            got(f"descriptor {number} of process {pid}")
        try:
            os.close(os.open(f"/proc/{pid}/fd/{number}", os.O_RDWR | os.O_NONBLOCK))
            got(f"opened descriptor {number} of process {pid} again")
        except OSError:
            pass

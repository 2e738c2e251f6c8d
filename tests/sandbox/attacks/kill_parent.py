"""Kills its parent, the leader of its session and process 1, by every kind of signal."""

import contextlib
import os
import signal

from attacker import got, tried

tried("parent, group, session, process 1")
targets = {os.getppid(), os.getsid(0), 1} - {0, os.getpid()}
for pid in targets:
    for number in (signal.SIGSTOP, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGKILL):
        with contextlib.suppress(OSError):
            os.kill(pid, number)
            # The kernel lets it be said to process 1, which then need not obey: what counts is
            # whether this execution and the next go on.
            if pid != 1:
                got(f"sent {number} to process {pid}")
    with contextlib.suppress(OSError):
        signal.pidfd_send_signal(os.pidfd_open(pid), signal.SIGKILL)

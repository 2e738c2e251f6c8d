"""One execution: namespaces of its own, and a fork of this warm interpreter inside them.

Three processes have a part in it. The *server* is the program's parent: it watches the limits of
the whole tree and learns how the program ended. The *init* owns the PID, mount and IPC namespaces
and does nothing; killing it ends everything in them, which only the kernel could do as surely. The
*program* sets itself up, gives up every right, and runs the job. An execution is made ahead of its
job and used once.
"""

from __future__ import annotations

import marshal
import os
import select
import signal
import socket
import time
from typing import Any, NamedTuple

from . import kernel, rootfs, runner
from .capture import Capture
from .program import READY, become_program
from .usage import Tree, guess_limit

_NAMESPACES = (kernel.CLONE_NEWPID, kernel.CLONE_NEWNS, kernel.CLONE_NEWIPC)
_CONTROL_BYTES = 1 << 20
_POLL_S = 0.02
# Where the server is not root its own processes count for the same user: two of each server, and
# init and program of the execution that is made ahead and of the one before, which may be ending.
_OWN_PROCESSES = 9


class Home(NamedTuple):
    """What all executions of one server have in common."""

    link: socket.socket
    """The server's end of its link to the caller; when that hangs up, all is over."""
    namespaces: tuple[int, ...]
    """Descriptors of the server's own namespaces, to return to after a fork."""
    is_root: bool
    """True if programs run as another user than the server."""


def own_namespaces() -> tuple[int, ...]:
    """Open the namespaces of this process that an execution gets anew."""
    flags = os.O_RDONLY | os.O_CLOEXEC
    return tuple(os.open(f"/proc/self/ns/{kind}", flags) for kind in ("pid", "mnt", "ipc"))


class CallerGone(Exception):
    """The caller has hung up in the middle of an execution."""


class Execution:
    """A program that waits for its job in namespaces that were made for it alone.

    Args:
        home: what it shares with the server's other executions.
        disk_bytes: size of its /tmp.

    Raises:
        OSError: the kernel refuses another process; nothing is left behind.
    """

    def __init__(self, home: Home, disk_bytes: int) -> None:
        self.home = home
        self.disk_bytes = disk_bytes
        self.init = self.program = 0
        self._env = runner.Prepared.env
        pairs = [os.pipe() for _ in range(3)]
        self._reading = [read for read, _ in pairs]
        self._link, theirs = socket.socketpair()
        self._init_fd = self._tmp = -1
        writing = [write for _, write in pairs]
        try:
            kernel.unshare(sum(_NAMESPACES))
            try:
                rootfs.mount_tmp(disk_bytes)
                self._tmp = os.open("/tmp", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
                self.init, self._init_fd = kernel.start_idle_init()
                self.program = os.fork()
                if self.program == 0:
                    ends = (*writing, theirs.fileno())
                    become_program(ends, is_root=home.is_root)
            finally:
                for kind, own in zip(_NAMESPACES, home.namespaces, strict=True):
                    kernel.enter_namespace(own, kind)
        except BaseException:
            for pid in self.end():
                os.waitpid(pid, 0)
            raise
        finally:
            theirs.close()
            for fd in writing:
                os.close(fd)

    def start(self, job: dict[str, Any], blob: memoryview) -> None:
        """Wait until the program is ready, and hand over the job.

        Args:
            job: its description, as `runner.run_job` wants it, with `limits`.
            blob: source or standard input.

        Raises:
            OSError: the isolation could not be set up; nothing untrusted has run.
        """
        message = self._link.recv(1000)
        if message != READY:
            reason = message.decode(errors="replace") or "killed while it was set up"
            raise OSError(f"an execution could not be isolated: {reason}")
        limits, env = job["limits"], job["env"]
        own = 0 if self.home.is_root else _OWN_PROCESSES
        text = marshal.dumps(
            {
                **job,
                "env": None if env == self._env else env,
                "limits": runner.resource_limits(limits, processes=limits["processes"] + own),
            }
        )
        self._link.sendall(b"%d %d\n" % (len(text), len(blob)) + text)
        if blob:  # else it may have begun already, and closed its end
            self._link.sendall(blob)

    def finish(self, limits: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        """Wait for the end of the program and of all it started.

        Returns:
            What was seen (`status` as from wait, `limit`, `max_rss_bytes`, `duration_s`,
            `is_truncated`, `sizes` of the outputs; or `error` if nothing untrusted has run), and
            stdout, stderr and reports in one.

        Raises:
            CallerGone: the caller does not want to know any more.
        """
        start_s = time.monotonic()
        sizes = (limits["output_bytes"], limits["output_bytes"], _CONTROL_BYTES)
        captures = [Capture(fd, size) for fd, size in zip(self._reading, sizes, strict=True)]
        tree = Tree(self.init, self.program)
        limit, most_tasks = self._watch(captures, tree, limits)
        duration_s = time.monotonic() - start_s
        if limit:
            self._kill()
        _, status, usage = os.wait4(self.program, 0)
        self.program = 0
        if limit or tree.has_others():
            self._kill()
            os.waitpid(self.init, 0)  # it has ended once everything in its namespace has
            self.init = 0
        for capture in captures:
            capture.drain()
        max_rss = usage.ru_maxrss * 1024
        if limit is None and status:
            limit = guess_limit(status, most_tasks, max_rss, limits)
        if limit is None and rootfs.is_full(self._tmp):
            limit = "disk"
        out, err, control = captures
        answer = {
            "status": status,
            "limit": limit,
            "max_rss_bytes": max_rss,
            "duration_s": duration_s,
            "is_truncated": out.is_truncated or err.is_truncated,
            "sizes": [len(out.data), len(err.data), len(control.data)],
        }
        self._link.setblocking(False)
        failure = self._link.recv(1000) if self._has_message() else b""
        if failure:
            answer["error"] = failure.decode(errors="replace")
        return answer, bytes(out.data + err.data + control.data)

    def end(self) -> list[int]:
        """End whatever still runs, without waiting, and let go of everything.

        Returns:
            The processes that the server must collect when they have ended.
        """
        self._kill()
        self.let_go()
        return [pid for pid in (self.program, self.init) if pid]

    def let_go(self) -> None:
        """Close all descriptors of it, and so nothing else where another process has them too."""
        self._link.close()
        for fd in (*self._reading, self._init_fd, self._tmp):
            if fd >= 0:
                os.close(fd)
        self._reading, self._init_fd, self._tmp = [], -1, -1

    def _watch(
        self, captures: list[Capture], tree: Tree, limits: dict[str, Any]
    ) -> tuple[str | None, int]:
        """Read output until the program ends or breaks a limit; return that and the most tasks."""
        end = os.pidfd_open(self.program)
        poller = select.poll()
        by_fd = {capture.fd: capture for capture in captures}
        for fd in (*by_fd, end, self.home.link.fileno()):
            poller.register(fd, select.POLLIN)
        start_s = time.monotonic()
        deadline, next_look, most_tasks = start_s + limits["wall_time_s"], start_s + _POLL_S, 0
        try:
            while True:
                now = time.monotonic()
                if now >= deadline:
                    return "wall_time", most_tasks
                if now >= next_look:
                    next_look = now + _POLL_S
                    tasks, limit = tree.measure(limits)
                    most_tasks = max(most_tasks, tasks)
                    if limit:
                        return limit, most_tasks
                wait_s = min(deadline, next_look) - now
                ready = [fd for fd, _ in poller.poll(max(1.0, wait_s * 1000))]
                if end in ready:
                    return None, most_tasks
                for fd in ready:
                    if fd not in by_fd:
                        raise CallerGone
                    by_fd[fd].read_some()
                    if not by_fd[fd].is_open:
                        poller.unregister(fd)
        finally:
            os.close(end)

    def _kill(self) -> None:
        """Have the kernel kill all that is in the PID namespace."""
        if self.init:
            signal.pidfd_send_signal(self._init_fd, signal.SIGKILL)

    def _has_message(self) -> bool:
        poller = select.poll()
        poller.register(self._link, select.POLLIN)
        return bool(poller.poll(0))

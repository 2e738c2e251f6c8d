"""One execution, as the server sees it: hand over a job, watch the limits, learn how it ended.

Three processes have a part in it. The *forker* makes it and is the program's parent (`forker.py`).
The *init* owns the PID and mount namespaces and does nothing; killing it ends everything in them,
which only the kernel could do as surely. The *program* sets itself up, gives up every right, and
runs the job. An execution is made ahead of its job and used once.
"""

from __future__ import annotations

import array
import contextlib
import marshal
import os
import select
import signal
import socket
import time
from collections.abc import Iterable
from typing import Any, NamedTuple

from . import forker, rootfs
from .capture import Capture
from .program import HEAD, READY
from .usage import Tree, guess_limit

_CONTROL_BYTES = 1 << 20
_POLL_S = 0.02
_PATIENCE_S = 0.01
"""For so long, outputs may fill their pipes before they are read."""
_MAX_NEWS_BYTES = 4096
_HANDLES_SPACE = socket.CMSG_SPACE(forker.NUM_HANDLES * 4)


class CallerGone(Exception):
    """The caller has hung up in the middle of an execution."""


class LostAhead(OSError):
    """An execution was killed before it had a job; another one can be had."""


class End(NamedTuple):
    """How a program ended (all zero if none was to be collected)."""

    status: int
    """As from wait."""
    max_rss_bytes: int
    """The most that it, or one child that it collected, had in memory."""


class Order(NamedTuple):
    """The server's ends of what the forker was given for an execution."""

    disk_bytes: int
    reading: list[int]
    """Descriptors of stdout, stderr and reports."""
    link: socket.socket
    """To the program."""

    def drop(self) -> None:
        """Close everything."""
        self.link.close()
        for fd in self.reading:
            os.close(fd)


class Line:
    """The server's end of its line to a forker; the forker answers everything in order.

    Args:
        end: the socket.
    """

    def __init__(self, end: socket.socket) -> None:
        self.end = end
        self._ordered: Order | None = None
        self._spare: Execution | None = None
        self._problem = ""

    def take(self, disk_bytes: int) -> Execution:
        """Return an execution that fits; the one made ahead, unless its /tmp has another size.

        Raises:
            OSError: the kernel refuses another process.
        """
        self._settle()
        spare, self._spare = self._spare, None
        if spare is not None and spare.disk_bytes == disk_bytes:
            return spare
        if spare is not None:
            spare.end()
        self.order(disk_bytes, awaited=spare.program if spare is not None else 0)
        self._settle()
        return self._pop()

    def order(self, disk_bytes: int, *, awaited: int) -> None:
        """Have the next execution made, and the program `awaited` collected, if that is one.

        One answer comes, when both have been done.
        """
        pairs = [os.pipe() for _ in range(3)]
        link, theirs = socket.socketpair()
        writing = [write for _, write in pairs]
        ordered = Order(disk_bytes, [read for read, _ in pairs], link)
        try:
            ends = array.array("i", (*writing, theirs.fileno()))
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, ends)]
            self.end.sendmsg([forker.ORDER.pack(forker.EXECUTION, disk_bytes, awaited)], rights)
        except OSError:
            ordered.drop()
            raise
        finally:
            theirs.close()
            for fd in writing:
                os.close(fd)
        self._ordered = ordered

    def branch(self) -> Line:
        """Start a forker that has pytest in memory and return the line to it.

        Raises:
            ImportError: pytest is not installed.
        """
        self._settle()
        ours, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
        with theirs:
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [theirs.fileno()]))]
            self.end.sendmsg([forker.ORDER.pack(forker.PYTEST, 0, 0)], rights)
        news = ours.recv(_MAX_NEWS_BYTES)
        if news[:1] != forker.READY:
            ours.close()
            raise ImportError(news[1:].decode(errors="replace") or "its import ended the process")
        return Line(ours)

    def discard(self, execution: Execution) -> None:
        """End an execution that is not to be finished, and have it collected."""
        execution.end()
        self.order(execution.disk_bytes, awaited=execution.program)

    def receive(self) -> End:
        """Take the answer to the last order; return how the awaited program ended.

        Raises:
            EOFError: the forker is dead.
        """
        data, rights, _, _ = self.end.recvmsg(
            _MAX_NEWS_BYTES, _HANDLES_SPACE, socket.MSG_CMSG_CLOEXEC
        )
        if not data:
            raise EOFError("the forker is dead")
        ordered, self._ordered = self._ordered, None
        if ordered is None:
            raise EOFError(f"the forker sent {data!r} unasked")
        what, program, init, status, max_rss = forker.NEWS.unpack_from(data)
        if what == forker.MADE:
            init_fd, tmp = array.array("i", rights[0][2])
            self._spare = Execution(ordered, program, init, init_fd, tmp)
        else:
            ordered.drop()
            self._problem = data[forker.NEWS.size :].decode(errors="replace")
        return End(status, max_rss * 1024)

    def _pop(self) -> Execution:
        made, self._spare = self._spare, None
        if made is None:
            raise OSError(self._problem)
        return made

    def _settle(self) -> None:
        """Wait for the answer that is still to come, if one is."""
        if self._ordered is not None:
            self.receive()


class Execution:
    """A program that waits for its job in namespaces that were made for it alone.

    Args:
        order: what it was made to.
        program: process id of the program, as listed in the server's /proc.
        init: process id of its init.
        init_fd: descriptor of the init process.
        tmp: descriptor of its /tmp.
    """

    def __init__(self, order: Order, program: int, init: int, init_fd: int, tmp: int) -> None:
        self.disk_bytes = order.disk_bytes
        self.program = program
        self._init = init
        self._init_fd = init_fd
        self._tmp = tmp
        self._reading = order.reading
        self._link = order.link

    def start(self, job: dict[str, Any], blob: bytes | memoryview) -> None:
        """Wait until the program is ready, and hand over the job.

        Args:
            job: its description, as `runner.run_job` wants it; `limits` are those that
                `runner.resource_limits` returns.
            blob: source or standard input.

        Raises:
            LostAhead: it has been killed meanwhile; nothing untrusted has run.
            OSError: the isolation could not be set up; nothing untrusted has run.
        """
        message = self._link.recv(1000)
        if not message:
            raise LostAhead("an execution was killed while it was set up")
        if message != READY:
            raise OSError(f"an execution could not be isolated: {message.decode(errors='replace')}")
        text = marshal.dumps(job)
        head = HEAD.pack(len(text), len(blob))
        if len(blob) > _MAX_NEWS_BYTES:
            self._link.sendall(head + text)
            self._link.sendall(blob)
        else:  # at once: the program closes its end when it has all
            self._link.sendall(b"".join((head, text, blob)))

    def finish(
        self, line: Line, caller: socket.socket, limits: dict[str, Any], tree: Tree
    ) -> tuple[dict[str, Any], bytes]:
        """Wait for the end of the program and of all it started.

        Args:
            line: over which the end is told.
            caller: when it hangs up, all is over.
            limits: the fields of `Limits`.
            tree: of the program.

        Returns:
            What was seen (`status` as from wait, `limit`, `max_rss_bytes`, `duration_s`,
            `is_truncated`, `sizes` of the outputs; or `error` if nothing untrusted has run), and
            stdout, stderr and reports in one.

        Raises:
            CallerGone: the caller does not want to know any more.
            EOFError: the forker is dead.
        """
        start_s = time.monotonic()
        sizes = (limits["output_bytes"], limits["output_bytes"], _CONTROL_BYTES)
        captures = [Capture(fd, size) for fd, size in zip(self._reading, sizes, strict=True)]
        limit, end, most_tasks = self._watch(captures, line, caller, limits, tree)
        duration_s = time.monotonic() - start_s
        if limit:
            self._kill()
        if end is None:
            end = line.receive()
        if limit or tree.has_others():
            self._kill()
            self._await_init()
        for capture in captures:
            capture.drain()
        if limit is None and end.status:
            limit = guess_limit(end.status, most_tasks, end.max_rss_bytes, limits)
        if limit is None and rootfs.is_full(self._tmp):
            limit = "disk"
        out, err, control = captures
        answer = {
            "status": end.status,
            "limit": limit,
            "max_rss_bytes": end.max_rss_bytes,
            "duration_s": duration_s,
            "is_truncated": out.is_truncated or err.is_truncated,
            "sizes": [len(out.data), len(err.data), len(control.data)],
        }
        self._link.setblocking(False)
        failure = b""
        with contextlib.suppress(BlockingIOError, ConnectionError):
            failure = self._link.recv(1000)
        if failure:
            answer["error"] = failure.decode(errors="replace")
        return answer, b"".join((out.data, err.data, control.data))

    def end(self) -> None:
        """End whatever still runs, without waiting, and let go of everything."""
        if self._init_fd < 0:
            return
        self._kill()
        self._link.close()
        for fd in (*self._reading, self._init_fd, self._tmp):
            os.close(fd)
        self._init_fd = -1

    def make_tree(self, area: int) -> Tree:
        """Return what measures the processes of this execution.

        Args:
            area: descriptor of the work area.
        """
        return Tree(self._init, self.program, bounded=(area, self._tmp))

    def _watch(
        self,
        captures: list[Capture],
        line: Line,
        caller: socket.socket,
        limits: dict[str, Any],
        tree: Tree,
    ) -> tuple[str | None, End | None, int]:
        """Read output until the program ends or breaks a limit.

        Returns:
            The limit; how it ended, if it did; and the most tasks that were seen.
        """
        by_fd = {capture.fd: capture for capture in captures}
        news = line.end.fileno()
        start_s = time.monotonic()
        deadline, next_look, most_tasks = start_s + limits["wall_time_s"], start_s + _POLL_S, 0
        poller = _wait_for_end(
            news, caller.fileno(), by_fd, min(_PATIENCE_S, limits["wall_time_s"])
        )
        while True:
            now = time.monotonic()
            if now >= deadline:
                return "wall_time", None, most_tasks
            if now >= next_look:
                next_look = now + _POLL_S
                tasks, limit = tree.measure(limits)
                most_tasks = max(most_tasks, tasks)
                if limit:
                    return limit, None, most_tasks
            wait_s = min(deadline, next_look) - now
            ready = {fd for fd, _ in poller.poll(max(1.0, wait_s * 1000))}
            if caller.fileno() in ready:
                raise CallerGone
            for fd in by_fd.keys() & ready:
                by_fd[fd].read_some()
                if not by_fd[fd].is_open:
                    poller.unregister(fd)
            end = line.receive() if news in ready else None
            if end is not None:
                return None, end, most_tasks

    def _kill(self) -> None:
        """Have the kernel kill all that is in the PID namespace."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._init_fd, signal.SIGKILL)

    def _await_init(self) -> None:
        """Wait for the end of the init: it ends once everything in its namespace has."""
        poller = select.poll()
        poller.register(self._init_fd, select.POLLIN)
        poller.poll()


def _wait_for_end(news: int, caller: int, outputs: Iterable[int], most_s: float) -> select.poll:
    """Wait until there is news or the caller hangs up; return what waits for outputs as well.

    Most programs end soon, and what they have written is then read in one go: to be woken up for
    each line of it costs as much as to run them. The outputs count only if it takes longer.
    """
    poller = select.poll()
    for fd in (news, caller):
        poller.register(fd, select.POLLIN)
    if not poller.poll(most_s * 1000):
        for fd in outputs:
            poller.register(fd, select.POLLIN)
    return poller

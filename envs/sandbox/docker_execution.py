"""One execution inside a container: an unprivileged child of the server, watched until it ends."""

from __future__ import annotations

import contextlib
import gc
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable
from typing import Any, NoReturn

from . import kernel, runner
from .capture import Capture
from .docker_files import Files
from .docker_gauges import Gauges

_CONTROL_BYTES = 1 << 20
_POLL_S = 0.02


class Execution:
    """A program that has been started.

    Args:
        job: what to run and its limits.
        blob: its source or its standard input.
        user: user and group id it runs as.
        folder: its current folder.
        gauges: what the container uses; read once before the program starts.
        files: the same for its files.
    """

    def __init__(
        self,
        job: dict[str, Any],
        blob: bytes,
        *,
        user: int,
        folder: str,
        gauges: Gauges,
        files: Files,
    ) -> None:
        self._limits = job["limits"]
        self._gauges, self._files = gauges, files
        self._tasks, self._cpu_s = gauges.tasks(), gauges.cpu_s()
        self._memory, self._num_killed = self._memory_bytes(), gauges.num_killed()
        self._used, self._num_full = files.used_bytes(), files.num_full()
        self._most_tasks = 0
        self._duration_s = 0.0
        ends = [os.pipe() for _ in range(4)]
        secret, self._secret = os.pipe() if job["kind"] == "judge" else (-1, -1)
        stdin = _memory_file(blob if job["kind"] == "exec" else b"")
        self._start_s = time.monotonic()
        self.pid = os.fork()
        if self.pid == 0:
            _become_program(job, blob, user, folder, stdin, [write for _, write in ends], secret)
        for fd in (stdin, *(write for _, write in ends), *([secret] if secret >= 0 else [])):
            os.close(fd)
        sizes = (self._limits["output_bytes"],) * 2 + (_CONTROL_BYTES,) * 2
        self._captures = [Capture(read, size) for (read, _), size in zip(ends, sizes, strict=True)]

    def tell(self, secret: bytes) -> None:
        """Tell the process of the tests what only that may know, and this one only now."""
        with contextlib.suppress(OSError), open(self._secret, "wb") as file:
            file.write(secret)  # unless it has ended

    def watch(self, has_hung_up: Callable[[], bool]) -> str | None:
        """Read what the program prints until it ends or has to be ended.

        Args:
            has_hung_up: says whether the caller has gone; then the server ends here.

        Returns:
            The limit that was hit, if one was.
        """
        deadline = self._start_s + self._limits["wall_time_s"]
        end = os.pidfd_open(self.pid)
        poller = select.poll()
        poller.register(end, select.POLLIN)
        by_fd = {capture.fd: capture for capture in self._captures}
        for fd in by_fd:
            poller.register(fd, select.POLLIN)
        next_look_s = self._start_s + _POLL_S
        try:
            while True:
                now_s = time.monotonic()
                if now_s >= deadline:
                    return "wall_time"
                if now_s >= next_look_s:
                    if has_hung_up():
                        os._exit(0)
                    if limit := self._limit_over():
                        return limit
                    next_look_s = now_s + _POLL_S
                for fd, _ in poller.poll(max(1.0, (min(deadline, next_look_s) - now_s) * 1000)):
                    if fd == end:
                        return None
                    by_fd[fd].read_some()
                    if not by_fd[fd].is_open:
                        poller.unregister(fd)
        finally:
            os.close(end)
            self._duration_s = time.monotonic() - self._start_s

    def finish(
        self, limit: str | None, status: int, usage: resource.struct_rusage
    ) -> tuple[dict[str, Any], bytes]:
        """Return what there is to tell, when nothing of the program is left running."""
        for capture in self._captures:
            capture.drain()
        out, err, control, setup = self._captures
        if setup.data:
            return {"error": bytes(setup.data).decode(errors="replace")}, b""
        answer = {
            "status": status,
            "limit": limit or self._guess_limit(status, usage.ru_maxrss * 1024),
            "duration_s": self._duration_s,
            "is_truncated": out.is_truncated or err.is_truncated,
            "sizes": [len(out.data), len(err.data)],
        }
        return answer, bytes(out.data + err.data + control.data)

    def close(self) -> None:
        """Close the pipes."""
        for capture in self._captures:
            capture.close()

    def _limit_over(self) -> str | None:
        """Name a limit that the whole tree is over now."""
        limits, gauges = self._limits, self._gauges
        self._most_tasks = max(self._most_tasks, gauges.tasks() - self._tasks)
        if self._memory_bytes() - self._memory > limits["memory_bytes"]:
            return "memory"
        if gauges.cpu_s() - self._cpu_s > limits["cpu_time_s"]:
            return "cpu_time"
        if self._files.used_bytes() > max(limits["disk_bytes"], self._used):
            return "disk"
        return None

    def _memory_bytes(self) -> int:
        """Return memory in use, without the folders: those have a bound of their own."""
        return self._gauges.held_bytes() - self._files.all_used_bytes()

    def _guess_limit(self, status: int, max_rss: int) -> str | None:
        """Name the limit that the kernel enforced without telling us."""
        if self._gauges.num_killed() > self._num_killed:
            return "memory"
        if self._files.num_full() > self._num_full:
            return "disk"
        signal_number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        if signal_number == signal.SIGXCPU:
            return "cpu_time"
        if signal_number == signal.SIGXFSZ:
            return "disk"
        if status and self._most_tasks >= self._limits["processes"]:
            return "processes"
        return "memory" if status and max_rss > 0.9 * self._limits["memory_bytes"] else None


def _become_program(
    job: dict[str, Any],
    blob: bytes,
    user: int,
    folder: str,
    stdin: int,
    ends: list[int],
    secret: int,
) -> NoReturn:
    """Give up every right and run the job; never returns."""
    # Bound here: the code that runs below may replace them in their module.
    end, kill, itself, die = os._exit, os.kill, os.getpid(), signal.SIGKILL
    setup = ends[3]
    is_judge = job["kind"] == "judge"
    try:
        os.setsid()
        os.chdir(folder)
        # Should the container run out of memory, the kernel takes the program, not the server.
        with open("/proc/self/oom_score_adj", "wb") as file:
            file.write(b"1000")
        if is_judge:
            secret = os.dup(secret)  # above the numbers that follow
        os.dup2(stdin, 0)
        os.dup2(ends[0], 1)
        os.dup2(ends[1], 2)
        control = os.dup2(ends[2], 3, inheritable=False)  # 3 and 4 are the server's own link
        setup = os.dup2(setup, 4, inheritable=False)
        if is_judge:
            secret = os.dup2(secret, 5, inheritable=False)
        os.closerange(5 + is_judge, 4096)
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
        kernel.refuse_new_privileges()
        kernel.filter_calls()
        for name in _own_modules():
            del sys.modules[name]
        kernel.set_dumpable(not is_judge)
        if is_judge:
            tests = runner.split_for_judge(job, lambda: _become_code(job))
            with open(secret, "rb") as file:
                blob = file.read()
        _set_limits(job, more_tasks=0)
    except BaseException as error:  # noqa: BLE001 - reported as the sandbox's own failure
        os.write(setup, f"{type(error).__name__}: {error}".encode())
        os._exit(70)
    os.close(setup)
    gc.enable()
    code = 70
    try:
        if is_judge:
            code = runner.run_judge(tests, blob, control)
        else:
            code = runner.run_job(job, blob, control)
    finally:
        try:
            end(code)
        finally:
            while True:
                kill(itself, die)


def _become_code(job: dict[str, Any]) -> None:
    """Make a fork of the program the process of the code under test, which knows no tests."""
    _set_limits(job, more_tasks=1)  # that of the tests
    kernel.set_dumpable(True)
    gc.enable()


def _set_limits(job: dict[str, Any], *, more_tasks: int) -> None:
    runner.set_limits(job["limits"], processes=job["limits"]["processes"] + more_tasks)
    resource.setrlimit(resource.RLIMIT_MSGQUEUE, (0, 0))


def _own_modules() -> list[str]:
    """Return the names of the server's modules, which programs have no business with."""
    package = __name__.rpartition(".")[0]
    return [name for name in sys.modules if name.startswith(package)]


def _memory_file(data: bytes) -> int:
    fd = os.memfd_create("stdin", os.MFD_CLOEXEC)
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
    os.lseek(fd, 0, os.SEEK_SET)
    return fd

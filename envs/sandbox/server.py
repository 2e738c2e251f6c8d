"""The server of one sandbox: takes jobs, watches them, puts the files in order, answers.

Started as a process of its own (see `worker.py`), it enters new user, mount, PID, network, IPC and
UTS namespaces and forks the process that all programs are forks of (`forker.py`), which builds the
private root that both then live in. It imports only the standard library and its siblings in this
folder, under a package name of its own.

All that passes through the sandbox passes through this process, and none of it can get into a
program but the job that is meant for it: the server itself is never forked again.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import socket
import time
from typing import Any, NoReturn

from . import cgroups, forker, kernel, landlock, rootfs, runner, wire
from .area import Area, Entry
from .execution import CallerGone, Execution, Line, LostAhead

_ISOLATION = (
    kernel.CLONE_NEWNS
    | kernel.CLONE_NEWPID
    | kernel.CLONE_NEWNET
    | kernel.CLONE_NEWIPC
    | kernel.CLONE_NEWUTS
)
_MAX_NEWS_BYTES = 4096
_MAX_TOLD_FILES = 64
_MAX_TOLD_BYTES = 1 << 16
_CLOCK_STEP_S = 0.02
"""The kernel notes the time of changes with a clock that advances in steps shorter than this."""
# Processes that the kernel counts for the same user as a program's own. Where the server is not
# root: server and forkers, the other executions made ahead, the program's init, one that is ending.
_OWN_PROCESSES_AS_USER = 9
_OWN_PROCESSES_AS_ROOT = 2
"""Where it is root: the programs made ahead, one of each forker."""


def main(link_fd: int, disk_bytes: int) -> None:
    """Set up the isolation and serve until the caller closes the link."""
    link = socket.socket(fileno=link_fd)
    is_root = os.geteuid() == 0
    step, group = "user namespace", None
    try:
        rootfs.interpreter_folders()
        group = cgroups.make_group()
        _enter_user_namespace(is_root=is_root)
        step = "private PID, mount, network, IPC and UTS namespaces"
        try:
            kernel.unshare(_ISOLATION | kernel.CLONE_NEWCGROUP)
        except OSError:
            kernel.unshare(_ISOLATION)
        ours, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
        pid = os.fork()
    except OSError as error:
        if group is not None:
            group.remove()
        wire.send(link, {"error": str(error), "step": step})
        return
    if pid == 0:
        link.close()
        ours.close()
        _enter_group(group)
        forker.main(theirs, disk_bytes, is_root=is_root)
    theirs.close()
    news = ours.recv(_MAX_NEWS_BYTES)
    if news[:1] != forker.READY:
        problem = news[1:].decode(errors="replace") or "the forker died while it was set up"
        if group is not None:
            group.remove()
        wire.send(link, {"error": problem, "step": "private root folder (mounts)"})
        return
    if group is not None and not group.is_entered:
        group.remove()
        group = None
    kernel.clear_signal_handlers()
    kernel.set_dumpable(False)
    os.chdir("/")
    server = Server(link, Line(ours), disk_bytes, is_root=is_root, group=group)
    ready = {
        "is_root": is_root,
        "path": rootfs.search_path(),
        "filter": kernel.has_call_filter(),
        "landlock": landlock.abi(),
        "groups": group.folders if group is not None else [],
    }
    wire.send(link, ready)
    socket.send_fds(link, [b"f"], [server.area.fd])
    gc.freeze()
    try:
        server.serve()
    except (wire.Closed, CallerGone, EOFError, OSError):
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)  # ends when everything that it ever started has
        if group is not None:
            group.remove()
        os._exit(0)


class Server:
    """Serves one request at a time; the next execution is made while one is going on.

    Args:
        link: to the caller.
        plain: line to the forker of ordinary programs.
        disk_bytes: size of /tmp that is expected to be asked for.
        is_root: True if programs run as another user than the server.
        group: the control group of the forkers and all that they start, if there is one.
    """

    def __init__(
        self,
        link: socket.socket,
        plain: Line,
        disk_bytes: int,
        *,
        is_root: bool,
        group: cgroups.Group | None = None,
    ) -> None:
        self.area = Area(os.open(rootfs.WORKSPACE, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
        self._link = link
        self._plain = plain
        self._pytest: Line | None = None
        self._env = {**os.environ, "PATH": rootfs.search_path()}
        self._own = _OWN_PROCESSES_AS_ROOT if is_root else _OWN_PROCESSES_AS_USER
        self._bounds: tuple[Any, dict[int, tuple[int, int]]] = None, {}
        self._group = group
        if group is not None:
            group.settle()
        plain.order(disk_bytes, awaited=0)

    def serve(self) -> NoReturn:
        """Answer for ever.

        Raises:
            Closed, CallerGone: the caller has closed the link.
            EOFError: a forker is dead.
        """
        while True:
            job, blob = wire.receive_job(self._link)
            try:
                line = self._line_for(job["kind"])
            except ImportError as error:
                wire.send(self._link, {"no_pytest": str(error)})
                continue
            answer, output = self._carry_out(line, job, blob)
            wire.send(self._link, answer, output)

    def _carry_out(self, line: Line, job: dict[str, Any], blob: memoryview) -> wire.Message:
        limits = job["limits"]
        disk_bytes = int(limits["disk_bytes"])
        execution = None
        try:
            self._bound(limits, rootfs.resize_area(disk_bytes))
            was_full = rootfs.is_full(rootfs.WORKSPACE)
            execution, start_s = self._start(line, job, blob, disk_bytes)
            line.order(disk_bytes, awaited=execution.program)
            tree = execution.make_tree(self.area.fd)
            tree.group = self._group
            answer, output = execution.finish(line, self._link, limits, tree)
            if "error" in answer:
                return answer, b""
            settled = self.area.settle(disk_bytes, start_s - _CLOCK_STEP_S)
            if answer["limit"] is None:
                is_full = rootfs.is_full(rootfs.WORKSPACE) and not was_full
                hit = "disk" if is_full else settled.limit_hit(limits, answer["status"])
                answer["limit"] = hit
            if self._was_killed(answer):
                answer["limit"] = "memory"
            if _is_small(settled.entries):
                answer["files"], answer["is_plain"] = settled.entries, settled.is_plain
                output = b"".join([output, *self.area.read_settled(settled.entries)])
            return answer, output
        except OSError as error:
            return {"error": f"{type(error).__name__}: {error}"}, b""
        finally:
            if execution is not None:
                execution.end()

    def _start(
        self, line: Line, job: dict[str, Any], blob: memoryview, disk_bytes: int
    ) -> tuple[Execution, float]:
        """Hand the job to an execution; return it, and when, in seconds since the epoch."""
        limits, env = job["limits"], job["env"]
        if limits != self._bounds[0]:
            processes = limits["processes"] + self._own
            self._bounds = limits, runner.resource_limits(limits, processes=processes)
        told = {**job, "env": None if env == self._env else env, "limits": self._bounds[1]}
        for is_last in (False, True):
            execution = line.take(disk_bytes)
            start_s = time.time()
            try:
                execution.start(told, blob)
                return execution, start_s
            except OSError as error:
                line.discard(execution)
                if is_last or not isinstance(error, LostAhead):
                    raise
        raise AssertionError

    def _bound(self, limits: dict[str, Any], area_bytes: int) -> None:
        """Have the kernel bound what the next execution uses, if we have a control group."""
        if self._group is not None:
            # Files: of the work area, of /tmp, and of the /tmp of an execution that is just ending.
            file_bytes = area_bytes + 2 * int(limits["disk_bytes"])
            self._group.begin(int(limits["memory_bytes"]), file_bytes, int(limits["processes"]))

    def _was_killed(self, answer: dict[str, Any]) -> bool:
        """Say whether a program ended because the kernel had no more memory for it."""
        return (
            self._group is not None
            and answer["status"] != 0
            and answer["limit"] in (None, "processes", "disk")
            and self._group.has_killed()
        )

    def _line_for(self, kind: str) -> Line:
        """Return the line to the forker for a kind of job; that of pytest starts when needed.

        Raises:
            ImportError: pytest is not installed.
        """
        if kind != "pytest":
            return self._plain
        if self._pytest is None:
            self._pytest = self._plain.branch()
            if self._group is not None:
                self._group.settle()
        return self._pytest


def _enter_group(group: cgroups.Group | None) -> None:
    """Be in the control group, and see none but that from now on."""
    with contextlib.suppress(OSError):  # the server looks whether it has become true
        if group is not None:
            group.enter()
            kernel.unshare(kernel.CLONE_NEWCGROUP)
    if group is not None:
        group.close()


def _is_small(entries: list[Entry]) -> bool:
    """Say whether the caller is told at once what is in the files, instead of having to look."""
    return (
        len(entries) <= _MAX_TOLD_FILES
        and sum(entry.size_bytes for entry in entries) <= _MAX_TOLD_BYTES
    )


def _enter_user_namespace(*, is_root: bool) -> None:
    """Become the owner of a new user namespace.

    Root keeps itself for setting up and gets `nobody` for the programs, because the kernel bounds
    the number of processes of every user but root. Anyone else becomes `nobody`.
    """
    if is_root:
        os.setgroups([])
        users = groups = f"0 0 1\n{rootfs.SANDBOX_ID} {rootfs.SANDBOX_ID} 1\n"
    else:
        users, groups = (f"{rootfs.SANDBOX_ID} {own} 1\n" for own in (os.geteuid(), os.getegid()))
    # The maps are written from outside, by a helper that still has its rights there.
    target = os.getpid()
    go_read, go_write = os.pipe()
    done_read, done_write = os.pipe()
    helper = os.fork()
    if helper == 0:
        os.close(go_write)
        message = b""
        try:
            if os.read(go_read, 1):
                if not is_root:
                    _put(f"/proc/{target}/setgroups", "deny")
                _put(f"/proc/{target}/uid_map", users)
                _put(f"/proc/{target}/gid_map", groups)
        except OSError as error:
            message = f"{error.errno} {error}".encode()
        os.write(done_write, message)
        os._exit(0)
    os.close(done_write)
    try:
        kernel.unshare(kernel.CLONE_NEWUSER)
        os.write(go_write, b"g")
        message = os.read(done_read, 1000)
    finally:
        for fd in (go_read, go_write, done_read):
            os.close(fd)
        os.waitpid(helper, 0)
    if message:
        raise OSError(f"user map: {message.decode()}")


def _put(path: str, text: str) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)

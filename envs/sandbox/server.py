"""The fork server: a small warm interpreter that forks one isolated child for each execution.

Started as a process of its own (see `worker.py`), it enters new user, mount, PID, network, IPC and
UTS namespaces, builds a private root folder, and serves one request at a time. It is process 1 of
its PID namespace: when it dies, everything it ever started dies with it. It imports only the
standard library and its siblings in this folder, under a package name of its own.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import importlib
import os
import select
import signal
import socket
import sys
import time
from typing import Any, NoReturn

from . import fork_hooks, kernel, pytest_job, rootfs, runner, wire
from .area import Area, Entry
from .execution import CallerGone, Execution, Home, own_namespaces

_ISOLATION = (
    kernel.CLONE_NEWNS
    | kernel.CLONE_NEWPID
    | kernel.CLONE_NEWNET
    | kernel.CLONE_NEWIPC
    | kernel.CLONE_NEWUTS
)
_MAX_TOLD_FILES = 64
_MAX_TOLD_BYTES = 1 << 16
_NUM_REHEARSALS = 12
_NUM_PYTEST_REHEARSALS = 3
_REHEARSAL_BYTES = 1 << 20
_COLLECT_MS = 10
_CLOCK_STEP_S = 0.02
"""The kernel notes the time of changes with a clock that advances in steps shorter than this."""
# What programs under test commonly import; the child finds it loaded.
_PRELOAD = (
    "bisect collections contextlib copy dataclasses datetime decimal enum fractions functools "
    "heapq itertools math operator re string textwrap threading typing unicodedata"
).split()


def main(link_fd: int, disk_bytes: int) -> None:
    """Set up the isolation and serve until the caller closes the link."""
    link = socket.socket(fileno=link_fd)
    is_root = os.geteuid() == 0
    step = "user namespace"
    try:
        rootfs.interpreter_folders()
        _enter_user_namespace(is_root=is_root)
        step = "private PID, mount, network, IPC and UTS namespaces"
        try:
            kernel.unshare(_ISOLATION | kernel.CLONE_NEWCGROUP)
        except OSError:
            kernel.unshare(_ISOLATION)
        first = os.fork()
    except OSError as error:
        wire.send(link, {"error": str(error), "step": step})
        return
    if first:
        link.close()
        os.waitpid(first, 0)  # it ends with the link or with this process
        return
    kernel.die_with_parent(signal.SIGKILL)
    try:
        step = "private root folder (mounts)"
        rootfs.build_root(disk_bytes)
        _forbid_namespaces()
    except OSError as error:
        wire.send(link, {"error": str(error), "step": step})
        os._exit(1)
    _serve(link, disk_bytes, is_root=is_root)


class Server:
    """Serves one request at a time; the next execution is made when an answer has been given.

    Args:
        home: what its executions have in common.
        disk_bytes: size of /tmp that is expected to be asked for.
    """

    def __init__(self, home: Home, disk_bytes: int) -> None:
        self.home = home
        self.disk_bytes = disk_bytes
        self.area = Area(os.open(rootfs.WORKSPACE, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
        self._spare: Execution | None = None
        self._ended: list[int] = []
        self._branches: list[int] = []
        self._inbox = wire.Inbox()

    def serve(self) -> NoReturn:
        """Answer until the caller closes the link."""
        self._make_spare()
        while True:
            try:
                job, blob = self._inbox.receive_job(self.home.link)
                if job["kind"] == "branch":
                    self._branch()
                    continue
                answer, output = self._carry_out(job, blob)
                wire.send(self.home.link, answer, output)
            except (wire.Closed, CallerGone, OSError):
                os._exit(0)
            self._make_spare()  # now, while the caller is busy with the answer
            self._collect()

    def _collect(self) -> None:
        """Collect the processes of ended executions, for as long as there is nothing else to do."""
        request = select.poll()
        request.register(self.home.link, select.POLLIN)
        while True:
            self._ended = [pid for pid in self._ended if os.waitpid(pid, os.WNOHANG)[0] == 0]
            if not self._ended or request.poll(_COLLECT_MS):
                return

    def _carry_out(self, job: dict[str, Any], blob: memoryview) -> wire.Message:
        limits = job["limits"]
        if job["kind"] != "exec":
            runner.adopt_environment(job["env"])  # most jobs have the same
        self.disk_bytes = int(limits["disk_bytes"])
        execution = None
        try:
            rootfs.resize_area(self.disk_bytes)
            was_full = rootfs.is_full(rootfs.WORKSPACE)
            execution = self._take()
            start_s = time.time()
            execution.start(job, blob)
            answer, output = execution.finish(limits)
            if "error" in answer:
                return answer, b""
            settled = self.area.settle(self.disk_bytes, start_s - _CLOCK_STEP_S)
            if answer["limit"] is None:
                is_full = rootfs.is_full(rootfs.WORKSPACE) and not was_full
                hit = "disk" if is_full else settled.limit_hit(limits, answer["status"])
                answer["limit"] = hit
            if _is_small(settled.entries):
                answer["files"], answer["is_plain"] = settled.entries, settled.is_plain
                output += b"".join(self.area.read_settled(settled.entries))
            return answer, output
        except OSError as error:
            return {"error": f"{type(error).__name__}: {error}"}, b""
        finally:
            if execution is not None:
                self._ended += execution.end()

    def _branch(self) -> None:
        """Start the server that has pytest in memory; the caller sends its link to that one."""
        _, fds, _, _ = socket.recv_fds(self.home.link, 1, 1)
        self._branches = [pid for pid in self._branches if os.waitpid(pid, os.WNOHANG)[0] == 0]
        pid = os.fork()
        if pid == 0:
            self.home.link.close()
            if self._spare is not None:
                self._spare.let_go()
            _serve_pytest(self, socket.socket(fileno=fds[0]))
        os.close(fds[0])
        self._branches.append(pid)  # one that found no pytest is collected the next time

    def _take(self) -> Execution:
        """Return an execution that fits; the one made ahead, unless its /tmp has another size."""
        spare, self._spare = self._spare, None
        if spare is not None and spare.disk_bytes == self.disk_bytes:
            return spare
        if spare is not None:
            self._ended += spare.end()
        return Execution(self.home, self.disk_bytes)

    def _make_spare(self) -> None:
        # Should there be no room for another process now, it is made when it is needed.
        with contextlib.suppress(OSError):
            self._spare = Execution(self.home, self.disk_bytes)


def _is_small(entries: list[Entry]) -> bool:
    """Say whether the caller is told at once what is in the files, instead of having to look."""
    return (
        len(entries) <= _MAX_TOLD_FILES
        and sum(entry.size_bytes for entry in entries) <= _MAX_TOLD_BYTES
    )


def _serve(link: socket.socket, disk_bytes: int, *, is_root: bool) -> NoReturn:
    link = _reserve_descriptors(link)
    kernel.clear_signal_handlers()
    kernel.set_dumpable(False)
    with fork_hooks.held_back():
        for name in _PRELOAD:
            importlib.import_module(name)
    os.chdir(rootfs.WORKSPACE)
    _rehearse("check", _NUM_REHEARSALS)
    # Programs are forks of this process: what they must not find is dropped here, once.
    for name in [name for name in sys.modules if name.partition(".")[0] == __package__]:
        del sys.modules[name]
    server = Server(Home(link, own_namespaces(), is_root), disk_bytes)
    ready = {"is_root": is_root, "path": rootfs.search_path(), "filter": kernel.has_call_filter()}
    wire.send(link, ready)
    socket.send_fds(link, [b"f"], [server.area.fd])
    gc.disable()  # a collection would write to every page that the children share
    gc.freeze()
    server.serve()


def _serve_pytest(plain: Server, link: socket.socket) -> NoReturn:
    """Be the server that has pytest in memory: a fork of the plain one, with the same work area."""
    try:
        with fork_hooks.held_back():
            version = pytest_job.load()
    except ImportError as error:
        wire.send(link, {"error": str(error)})
        os._exit(0)
    # Mounts of its own, for a folder to rehearse in that no program of the plain server can see.
    kernel.unshare(kernel.CLONE_NEWNS)
    rootfs.mount_tmp(_REHEARSAL_BYTES)
    os.chdir("/tmp")
    with fork_hooks.held_back():
        _rehearse("pytest", _NUM_PYTEST_REHEARSALS)
    home = Home(link, own_namespaces(), plain.home.is_root)
    wire.send(link, {"pytest": version})
    gc.freeze()
    Server(home, plain.disk_bytes).serve()


def _rehearse(kind: str, times: int) -> None:
    """Let the runner do a job in this process, with outputs like those of a program."""
    kept = [os.dup(fd) for fd in (1, 2)]
    unread, pipe = os.pipe()
    reader = os.fork()
    if reader == 0:
        os.close(pipe)
        while os.read(unread, 1 << 16):
            pass
        os._exit(0)
    for fd in (1, 2):
        os.dup2(pipe, fd)
    try:
        runner.rehearse(kind, pipe, times)
    finally:
        for fd, number in zip(kept, (1, 2), strict=True):
            os.dup2(fd, number)
        for fd in (unread, pipe, *kept):
            os.close(fd)
        os.chdir("/")
    os.waitpid(reader, 0)


def _reserve_descriptors(link: socket.socket) -> socket.socket:
    """Keep 0 to 4 free for the programs: from here on every new descriptor is above them."""
    moved = socket.socket(fileno=fcntl.fcntl(link, fcntl.F_DUPFD_CLOEXEC, 5))
    link.close()
    null = os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC)
    for number in (0, 3, 4):
        if number != null:
            os.dup2(null, number, inheritable=number == 0)
    if null > 4:
        os.close(null)
    return moved


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


def _forbid_namespaces() -> None:
    """Allow no further user namespaces below this one."""
    _put("/proc/sys/user/max_user_namespaces", "0")


def _put(path: str, text: str) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)

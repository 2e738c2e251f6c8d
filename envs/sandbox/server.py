"""The fork server: a small warm interpreter that forks one isolated child for each execution.

Started as a process of its own (see `worker.py`), it enters new user, mount, PID, network, IPC and
UTS namespaces, builds a private root folder, and serves one request at a time. It is process 1 of
its PID namespace: when it dies, everything it ever started dies with it. It imports only the
standard library and its siblings in this folder, under a package name of its own.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import signal
import socket
import time
from typing import Any, NoReturn

from . import kernel, rootfs, supervise, wire
from .area import Area
from .capture import Capture, pump

_ISOLATION = (
    kernel.CLONE_NEWNS
    | kernel.CLONE_NEWPID
    | kernel.CLONE_NEWNET
    | kernel.CLONE_NEWIPC
    | kernel.CLONE_NEWUTS
)
_CONTROL_BYTES = 1 << 20
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


def _serve(link: socket.socket, disk_bytes: int, *, is_root: bool) -> NoReturn:
    for name in _PRELOAD:
        importlib.import_module(name)
    folder = os.open(rootfs.WORKSPACE, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    own_pids = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    ready = {"is_root": is_root, "path": rootfs.search_path(), "filter": kernel.has_call_filter()}
    wire.send(link, ready)
    socket.send_fds(link, [b"f"], [folder])
    gc.disable()  # a collection would write to every page that the children share
    gc.freeze()
    spare = Spare(link, own_pids, disk_bytes, is_root=is_root)
    while True:
        try:
            job, blob = wire.receive(link)
        except (wire.Closed, OSError):
            os._exit(0)
        wanted = int(job["limits"]["disk_bytes"])
        try:
            if wanted != disk_bytes:
                rootfs.resize_area(wanted)
                disk_bytes = wanted
                spare.end()
                spare = Spare(link, own_pids, disk_bytes, is_root=is_root)
            answer, output = _execute(spare, job, blob, link)
            settled = Area(folder).settle(wanted)
            if "error" not in answer:
                hit = settled.limit_hit(job["limits"], answer["status"])
                answer["limit"] = answer["limit"] or hit
        except OSError as error:
            answer, output = {"error": f"{type(error).__name__}: {error}"}, b""
        wire.send(link, answer, output)
        spare.end()
        _reap()
        spare = Spare(link, own_pids, disk_bytes, is_root=is_root)


class Spare:
    """An execution made ahead: its namespaces are there and its program waits for a job.

    Args:
        link: the server's socket, which the execution must not have.
        own_pids: the server's own PID namespace, to return to after the fork.
        disk_bytes: size of the execution's /tmp.
        is_root: True if the programs run as another user than the server.
    """

    def __init__(
        self, link: socket.socket, own_pids: int, disk_bytes: int, *, is_root: bool
    ) -> None:
        pairs = [os.pipe() for _ in supervise.Pipes.__slots__]
        to_init, to_program, *outputs = pairs
        self.reading = [read for read, _ in outputs]
        self.writing = [to_init[1], to_program[1]]
        theirs = [to_init[0], to_program[0], *(write for _, write in outputs)]
        kernel.unshare(kernel.CLONE_NEWPID)
        self.pid = os.fork()
        if self.pid == 0:
            for fd in (link.fileno(), own_pids, *self.reading, *self.writing):
                os.close(fd)
            supervise.run_init(supervise.Pipes(*theirs), disk_bytes, is_root=is_root)
        kernel.enter_namespace(own_pids, kernel.CLONE_NEWPID)
        for fd in theirs:
            os.close(fd)

    def start(self, job: dict[str, Any], blob: bytes) -> None:
        """Hand over the job; the init needs its limits only."""
        writing, self.writing = self.writing, []
        for fd, rest in zip(writing, (b"", blob), strict=True):
            text = json.dumps(job).encode() + b"\n"
            with open(fd, "wb") as file:
                file.write(text + rest)

    def end_tree(self) -> None:
        """End its init, and so everything in its PID namespace, and wait until it is gone."""
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self.pid = 0

    def end(self) -> None:
        """Close its pipes and see that its init ends too, without waiting for that."""
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            self.pid = 0
        for fd in (*self.reading, *self.writing):
            os.close(fd)
        self.reading, self.writing = [], []


def _execute(
    spare: Spare, job: dict[str, Any], blob: bytes, link: socket.socket
) -> tuple[dict[str, Any], bytes]:
    """Run one job and read what comes out of it."""
    limits = job["limits"]
    sizes = (limits["output_bytes"], limits["output_bytes"], _CONTROL_BYTES, _CONTROL_BYTES)
    captures = [Capture(fd, size) for fd, size in zip(spare.reading, sizes, strict=True)]
    out, err, control, status = captures
    start_s = time.monotonic()
    spare.start(job, blob)
    how = pump(
        captures,
        deadline=start_s + limits["wall_time_s"],
        has_ended=lambda: b"\n" in status.data or not status.is_open,
        tick_s=3600.0,
        abort_fd=link.fileno(),
    )
    if how == "aborted":
        os._exit(0)
    duration_s = time.monotonic() - start_s
    if how == "deadline":
        spare.end_tree()
    # Whatever ran has ended: the init says so before it ends, or the kernel has ended everything.
    for capture in captures:
        capture.drain()
    if how == "deadline":
        answer = {"status": int(signal.SIGKILL), "limit": "wall_time"}
    elif b"\n" in status.data:
        answer = json.loads(status.data.partition(b"\n")[0])
    else:
        answer = {"error": "the init process of the execution was killed"}
    answer.update(
        duration_s=duration_s,
        is_truncated=out.is_truncated or err.is_truncated,
        sizes=[len(out.data), len(err.data)],
    )
    return answer, bytes(out.data + err.data + control.data)


def _reap() -> None:
    """Collect inits that have ended; one that has not yet is collected the next time."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return


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

"""The process that every program is a fork of: it forks, and does nothing else.

It is process 1 of the server's PID namespace: when it dies, everything it ever made dies with it.
No source, argument, environment, report or output of a job ever comes into its memory, so that no
program can find there what an earlier one was given or has said. And it writes to few pages: each
that it writes to after a fork has to be copied first.

Its line to the server carries orders (how large /tmp is to be, and which program to collect) and
news of what came of each, once all of it has been done: a message less is a process less to wake.
Orders bring the descriptors that a program writes to; news bring those by which the server watches
and ends it.
"""

from __future__ import annotations

import array
import contextlib
import fcntl
import gc
import importlib
import os
import signal
import socket
import struct
import sys
from typing import NoReturn

from . import fork_hooks, kernel, landlock, pins, pytest_job, rootfs, runner
from .program import become_program

ORDER = struct.Struct("=cqq")
"""What is wanted; bytes of its /tmp; a program to collect once that has been done, or 0."""
EXECUTION, PYTEST = b"x", b"p"
NEWS = struct.Struct("=cqqqq")
"""`MADE`, program and init, or `FAILED`, 0, 0 and then the reason after all; wait status and most
resident KiB of the collected program."""
READY, MADE, FAILED = b"r", b"m", b"f"
NUM_ENDS = 4
"""Descriptors in an order for an execution: stdout, stderr, reports, and the program's link."""
NUM_HANDLES = 2
"""Descriptors in the news of one: of its init, and of its /tmp."""

_Made = tuple[int, int, int, int]
_MAX_ORDER_BYTES = 64
_ENDS_SPACE = socket.CMSG_SPACE(NUM_ENDS * 4)
# System V and POSIX queues, and memory with a key, would pass from one execution to another; where
# the filter lets nobody make any, all executions may share the IPC namespace of their server.
_NAMESPACES = {
    "pid": kernel.CLONE_NEWPID,
    "mnt": kernel.CLONE_NEWNS,
    **({} if kernel.has_call_filter() else {"ipc": kernel.CLONE_NEWIPC}),
}
_NUM_REHEARSALS = 12
_NUM_PYTEST_REHEARSALS = 3
_NUM_REHEARSED_ORDERS = 3
_REHEARSAL_BYTES = 1 << 20
# What programs under test commonly import; the child finds it loaded.
_PRELOAD = (
    "bisect collections contextlib copy dataclasses datetime decimal enum fractions functools "
    "heapq itertools math operator re string textwrap threading typing unicodedata"
).split()


def main(line: socket.socket, disk_bytes: int, *, is_root: bool) -> NoReturn:
    """Build the private root and serve the line until it closes.

    Args:
        line: to the server, of which this process is the first fork in new namespaces.
        disk_bytes: size of the work area.
        is_root: True if programs must change to another user.
    """
    kernel.die_with_parent(signal.SIGKILL)
    try:
        rootfs.build_root(disk_bytes)
        _forbid_namespaces()
    except OSError as error:
        line.send(FAILED + str(error).encode())
        os._exit(1)
    line = _reserve_descriptors(line)
    kernel.clear_signal_handlers()
    with fork_hooks.held_back():
        for name in _PRELOAD:
            importlib.import_module(name)
    os.chdir(rootfs.WORKSPACE)
    runner.adopt_environment({**os.environ, "PATH": rootfs.search_path()})
    _rehearse("check", _NUM_REHEARSALS)
    # Programs are forks of this process: what they must not find is dropped here, once.
    for name in [name for name in sys.modules if name.partition(".")[0] == __package__]:
        del sys.modules[name]
    _serve(line, is_root=is_root)


def _serve_pytest(line: socket.socket, *, is_root: bool) -> NoReturn:
    """Be the forker that has pytest in memory: a fork of the plain one."""
    try:
        with fork_hooks.held_back():
            pytest_job.load()
    except ImportError as error:
        line.send(FAILED + str(error).encode())
        os._exit(0)
    # Mounts of its own, for a folder to rehearse in that no program of the plain one can see.
    kernel.unshare(kernel.CLONE_NEWNS)
    rootfs.mount_tmp(_REHEARSAL_BYTES)
    os.chdir("/tmp")
    with fork_hooks.held_back():
        _rehearse("pytest", _NUM_PYTEST_REHEARSALS)
    _serve(line, is_root=is_root)


def _serve(line: socket.socket, *, is_root: bool) -> NoReturn:
    runner.prepare(rootfs.WORKSPACE)
    gc.collect()
    gc.disable()  # a collection would write to every page that the children share
    gc.freeze()
    os.chdir("/")
    forker = Forker(line, is_root=is_root)
    forker.pin()
    kernel.set_dumpable(False)
    line.send(READY)
    forker.serve()


class Forker:
    """Makes executions to order.

    Args:
        line: to the server.
        is_root: True if programs must change to another user.
    """

    def __init__(self, line: socket.socket, *, is_root: bool) -> None:
        self._line = line
        self._is_root = is_root
        self._own = _own_namespaces()
        self._walls = landlock.Landlock((rootfs.WORKSPACE,), ("/dev",), landlock.abi())
        self._inits: dict[int, int] = {}
        self._ended: list[int] = []
        self._ring = -1

    def serve(self) -> NoReturn:
        """Carry out orders until the line closes."""
        while self._serve_once(self._line):
            pass
        os._exit(0)

    def pin(self) -> None:
        """Have the memory that every order writes to copied with each fork, where that works.

        See `pins.py`. Which memory that is, shows after a few orders.
        """
        with pins.kept_apart() as written_to, contextlib.suppress(OSError):
            self._rehearse_orders()
            self._ring = pins.pin(written_to())

    def _rehearse_orders(self) -> None:
        ours, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
        program = 0
        with ours, theirs, open("/dev/null", "r+b", buffering=0) as null:
            ends = array.array("i", [null.fileno()] * NUM_ENDS)
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, ends)]
            for _ in range(_NUM_REHEARSED_ORDERS):
                # A program that reads no job from its link ends, and is killed anyway.
                ours.sendmsg([ORDER.pack(EXECUTION, _REHEARSAL_BYTES, program)], rights)
                self._serve_once(theirs)
                data, handles, _, _ = ours.recvmsg(NEWS.size, socket.CMSG_SPACE(NUM_HANDLES * 4))
                what, program, *_ = NEWS.unpack(data)
                if what == FAILED:
                    return  # so will the first order that counts, and tell
                init_fd, tmp = array.array("i", handles[0][2])
                signal.pidfd_send_signal(init_fd, signal.SIGKILL)
                os.close(init_fd)
                os.close(tmp)
        os.waitpid(program, 0)
        self._ended.append(self._inits.pop(program))
        while self._ended:
            os.waitpid(self._ended.pop(), 0)

    def _serve_once(self, line: socket.socket) -> bool:
        """Carry out one order; return False if the line is closed."""
        data, rights, _, _ = line.recvmsg(_MAX_ORDER_BYTES, _ENDS_SPACE, socket.MSG_CMSG_CLOEXEC)
        if not data:
            return False
        what, disk_bytes, awaited = ORDER.unpack(data)
        # Their whole trees have been killed, and nobody need wait for the last of it.
        self._ended = [pid for pid in self._ended if os.waitpid(pid, os.WNOHANG)[0] == 0]
        fds = tuple(array.array("i", rights[0][2])) if rights else ()
        made, problem = None, b""
        try:
            if what == EXECUTION:
                made = self._make(fds, disk_bytes)
            else:
                self._branch(*fds)
        except OSError as error:
            problem = str(error).encode()
        finally:
            for fd in fds:
                os.close(fd)
        if what == EXECUTION:  # the other forker answers for itself, or its line closes
            self._tell(line, made, problem, awaited)
        return True

    def _tell(self, line: socket.socket, made: _Made | None, problem: bytes, awaited: int) -> None:
        """Collect the awaited program, if there is one, and tell what has been done."""
        status = max_rss = 0
        if awaited:
            _, status, usage = os.wait4(awaited, 0)
            max_rss = usage.ru_maxrss
            self._ended.append(self._inits.pop(awaited))
        if made is None:
            line.send(NEWS.pack(FAILED, 0, 0, status, max_rss) + problem)
            return
        program, init, *handles = made
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", handles))]
        line.sendmsg([NEWS.pack(MADE, program, init, status, max_rss)], rights)
        for fd in handles:
            os.close(fd)

    def _make(self, ends: tuple[int, ...], disk_bytes: int) -> _Made:
        """Make an execution: its program, its init, and descriptors of the init and of its /tmp."""
        tmp = rules = init = init_fd = -1
        try:
            kernel.unshare(sum(_NAMESPACES.values()))
            try:
                rootfs.mount_tmp(disk_bytes)
                tmp = os.open("/tmp", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
                rules = self._walls.make_ruleset(tmp)
                init, init_fd = kernel.start_idle_init()
                program = os.fork()
                if program == 0:
                    become_program(ends, self._walls, rules, is_root=self._is_root)
            finally:
                for own, kind in self._own:
                    kernel.enter_namespace(own, kind)
        except BaseException:
            if init > 0:
                signal.pidfd_send_signal(init_fd, signal.SIGKILL)
                os.waitpid(init, 0)
            for fd in (init_fd, tmp):
                if fd >= 0:
                    os.close(fd)
            raise
        finally:
            if rules >= 0:
                os.close(rules)
        self._inits[program] = init
        return program, init, init_fd, tmp

    def _branch(self, fd: int) -> None:
        pid = os.fork()
        if pid == 0:
            self._line.close()
            if self._ring >= 0:
                os.close(self._ring)
            _serve_pytest(socket.socket(fileno=fd), is_root=self._is_root)
        self._ended.append(pid)  # one that finds no pytest ends at once


def _own_namespaces() -> tuple[tuple[int, int], ...]:
    """Open the namespaces of this process that an execution gets anew; each with its type."""
    flags = os.O_RDONLY | os.O_CLOEXEC
    return tuple(
        (os.open(f"/proc/self/ns/{name}", flags), kind) for name, kind in _NAMESPACES.items()
    )


def _rehearse(kind: str, times: int) -> None:
    """Let the runner do a job in this process, with outputs like those of a program."""
    kept = [os.dup(fd) for fd in (1, 2)]
    folder = os.getcwd()
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
        os.chdir(folder)
    os.waitpid(reader, 0)


def _reserve_descriptors(line: socket.socket) -> socket.socket:
    """Keep 0 to 4 free for the programs: from here on every new descriptor is above them."""
    moved = socket.socket(fileno=fcntl.fcntl(line, fcntl.F_DUPFD_CLOEXEC, 5))
    line.close()
    null = os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC)
    for number in (0, 3, 4):
        if number != null:
            os.dup2(null, number, inheritable=number == 0)
    if null > 4:
        os.close(null)
    return moved


def _forbid_namespaces() -> None:
    """Allow no further user namespaces below this one."""
    fd = os.open("/proc/sys/user/max_user_namespaces", os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, b"0")
    finally:
        os.close(fd)

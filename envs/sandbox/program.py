"""How a fork of the server becomes the program of one execution: step by step without rights."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` goes through its enumerations
import gc
import marshal
import os
import resource
import struct
from typing import Any, NoReturn

from . import cgroups, fork_hooks, kernel, rootfs, runner
from .landlock import Landlock

READY = b"ready"
"""What the program says when it is isolated and waits for its job; anything else is an error."""
HEAD = struct.Struct("=QQ")
"""What a job begins with: the sizes of its description and of what follows that."""

_CONTROL, _LINK = 3, 4


def become_program(
    ends: tuple[int, ...], walls: Landlock, rules: int, *, is_root: bool
) -> NoReturn:
    """Give up every right, wait for a job and run it; it was born into its namespaces.

    Args:
        ends: descriptors (above 4) for stdout, stderr, reports, and of a socket to the server.
        walls: what the rules are laid with.
        rules: descriptor (above 4) of the rules of this execution, or -1.
        is_root: True if the program must change to another user.
    """
    # Bound here: the code that runs below may replace them in their module.
    end, kill, itself, die = os._exit, os.kill, os.getpid(), _signal.SIGKILL
    code = 70
    try:
        _take(ends)
        _become_first_victim()
        rootfs.mount_proc()
        os.setsid()
        os.chdir(rootfs.WORKSPACE)
        os.umask(0o022)
        _signal.signal(_signal.SIGINT, _signal.default_int_handler)
        if is_root:
            os.setgroups([])
            os.setresgid(*(rootfs.SANDBOX_ID,) * 3)
            os.setresuid(*(rootfs.SANDBOX_ID,) * 3)
        kernel.drop_capabilities()
        kernel.refuse_new_privileges()
        walls.restrict(rules)
        kernel.filter_calls()
        os.closerange(_LINK + 1, 4096)
        os.write(_LINK, READY)
        text, blob_size = _receive_head()
        job = marshal.loads(text)
        is_judge = job["kind"] == "judge"
        if is_judge:
            tests = runner.split_for_judge(job, lambda: _become_code(job))
        fork_hooks.release()
        blob = _receive(blob_size)
        if job["kind"] == "exec":
            _put_on_stdin(blob)
        runner.apply_limits(job["limits"])
        if not is_judge:
            kernel.set_dumpable(True)
    except BaseException as error:  # noqa: BLE001 - reported as the sandbox's own failure
        os.write(_LINK, f"{type(error).__name__}: {error}".encode()[:1000])
        os._exit(70)
    os.close(_LINK)
    gc.enable()
    try:
        code = (
            runner.run_judge(tests, blob, _CONTROL)
            if is_judge
            else runner.run_job(job, blob, _CONTROL)
        )
    finally:
        try:
            end(code)
        finally:
            while True:
                kill(itself, die)


def _become_code(job: dict[str, Any]) -> None:
    """Make a fork of the program the process of the code under test, which knows no tests."""
    fork_hooks.release()
    runner.apply_limits(_with_one_more_task(job["limits"]))
    kernel.set_dumpable(True)
    gc.enable()


def _with_one_more_task(limits: dict[int, tuple[int, int]]) -> dict[int, tuple[int, int]]:
    """Return resource limits that leave room for the process of the tests."""
    soft, hard = limits.get(resource.RLIMIT_NPROC, (resource.RLIM_INFINITY,) * 2)
    if resource.RLIM_INFINITY in (soft, hard):
        return limits
    return {**limits, resource.RLIMIT_NPROC: (soft + 1, hard + 1)}


def _take(ends: tuple[int, ...]) -> None:
    """Put the four descriptors on 1 to 4; standard input is there already."""
    for target, fd in enumerate(ends, 1):
        os.dup2(fd, target, inheritable=target < _CONTROL)


def _become_first_victim() -> None:
    """Have the kernel, out of memory, kill this process and its children before the forker."""
    kernel.set_dumpable(True)  # else the file belongs to another user
    cgroups.become_first_victim()
    kernel.set_dumpable(False)


def _receive_head() -> tuple[bytes, int]:
    """Read the description of a job, and not a byte of what follows it, whose size is returned.

    The process ends quietly if the server wants nothing done.
    """
    text_size, blob_size = HEAD.unpack(_receive(HEAD.size))
    return _receive(text_size), blob_size


def _receive(size: int) -> bytes:
    parts: list[bytes] = []
    while size > 0:
        part = os.read(_LINK, min(size, 1 << 20)) or os._exit(0)
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _put_on_stdin(data: bytes) -> None:
    fd = os.memfd_create("stdin", os.MFD_CLOEXEC)
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
    os.lseek(fd, 0, os.SEEK_SET)
    os.dup2(fd, 0)
    os.close(fd)

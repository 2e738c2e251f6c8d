"""How a fork of the server becomes the program of one execution: step by step without rights."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` goes through its enumerations
import gc
import marshal
import os
from typing import NoReturn

from . import fork_hooks, kernel, rootfs, runner

READY = b"ready"
"""What the program says when it is isolated and waits for its job; anything else is an error."""

_CONTROL, _LINK = 3, 4


def become_program(ends: tuple[int, ...], *, is_root: bool) -> NoReturn:
    """Give up every right, wait for a job and run it; it was born into its namespaces.

    Args:
        ends: descriptors (above 4) for stdout, stderr, reports, and of a socket to the server.
        is_root: True if the program must change to another user.
    """
    try:
        _take_only(ends)
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
        kernel.filter_calls()
        os.write(_LINK, READY)
        text, blob = _receive_job()
        job = marshal.loads(text)
        if job["kind"] == "exec":
            _put_on_stdin(blob)
        fork_hooks.release()
        runner.apply_limits(job["limits"])
        kernel.set_dumpable(True)
    except BaseException as error:  # noqa: BLE001 - reported as the sandbox's own failure
        os.write(_LINK, f"{type(error).__name__}: {error}".encode()[:1000])
        os._exit(70)
    os.close(_LINK)
    gc.enable()
    code = 70
    try:
        code = runner.run_job(job, blob, _CONTROL)
    finally:
        os._exit(code)


def _take_only(ends: tuple[int, ...]) -> None:
    """Put the four descriptors on 1 to 4 and close all others but standard input."""
    for target, fd in enumerate(ends, 1):
        os.dup2(fd, target, inheritable=target < _CONTROL)
    os.closerange(_LINK + 1, 4096)


def _receive_job() -> tuple[bytes, bytes]:
    """Read one job; the process ends quietly if the server wants none done."""
    data = b""
    while b"\n" not in data:
        chunk = os.read(_LINK, 1 << 16)
        if not chunk:
            os._exit(0)
        data += chunk
    head, _, rest = data.partition(b"\n")
    text_size, blob_size = map(int, head.split())
    parts, missing = [rest], text_size + blob_size - len(rest)
    while missing > 0:
        chunk = os.read(_LINK, 1 << 16)
        if not chunk:
            os._exit(0)
        parts.append(chunk)
        missing -= len(chunk)
    whole = b"".join(parts)
    return whole[:text_size], whole[text_size:]


def _put_on_stdin(data: bytes) -> None:
    fd = os.memfd_create("stdin", os.MFD_CLOEXEC)
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
    os.lseek(fd, 0, os.SEEK_SET)
    os.dup2(fd, 0)
    os.close(fd)

"""One execution inside its own namespaces: a trusted init process and the program below it.

The init is process 1 of a PID namespace, so the kernel ends everything below it when it ends. It
starts the program, adds up what the whole tree uses, and reports how it went. It cannot be traced
or signalled by the program.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import select
import signal
import sys
import time
from typing import Any, NoReturn

from . import kernel, rootfs, runner

_POLL_S = 0.02
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
# By name, because going through all of `sys.modules` would copy a page for every other name.
_OWN_MODULES = (
    __package__ or "",
    *(
        f"{__package__}.{name}"
        for name in "area capture kernel rootfs runner server supervise wire".split()
    ),
)


class Pipes:
    """The ends that an execution gets of its pipes."""

    __slots__ = ("control", "status", "stderr", "stdout", "to_init", "to_program")

    def __init__(self, *fds: int) -> None:
        (
            self.to_init,
            self.to_program,
            self.stdout,
            self.stderr,
            self.control,
            self.status,
        ) = fds


def run_init(pipes: Pipes, disk_bytes: int, *, is_root: bool) -> NoReturn:
    """Set up as process 1 of a new PID namespace, wait for a job, run it; never returns.

    Writes one JSON line to the status pipe, when nothing but itself is left running: `status` (as
    from wait), `limit`, `max_rss_bytes`; or `error` if the isolation could not be set up, in which
    case nothing untrusted ran.
    """
    try:
        kernel.unshare(kernel.CLONE_NEWNS | kernel.CLONE_NEWIPC)
        rootfs.enter_private_mounts(disk_bytes)
        child = os.fork()
        if child == 0:
            _become_program(pipes, is_root=is_root)
        kernel.set_dumpable(False)
        for fd in (pipes.to_program, pipes.stdout, pipes.stderr, pipes.control):
            os.close(fd)
        with open(pipes.to_init, "rb") as file:
            line = file.readline()
        if not line:
            os._exit(0)
        limits = json.loads(line)["limits"]
        was_full = rootfs.is_full(rootfs.WORKSPACE)
        fields = _watch(child, limits)
        _end_all_others()
        is_full = rootfs.is_full("/tmp") or (rootfs.is_full(rootfs.WORKSPACE) and not was_full)
        if fields["limit"] is None and is_full:
            fields["limit"] = "disk"
    except BaseException as error:  # noqa: BLE001 - the process ends here; the server raises it
        fields = {"error": f"{type(error).__name__}: {error}"}
    os.write(pipes.status, json.dumps(fields).encode() + b"\n")
    os._exit(0)


def _become_program(pipes: Pipes, *, is_root: bool) -> NoReturn:
    """Give up every right, wait for the job, and run it; never returns."""
    try:
        os.setsid()
        os.chdir(rootfs.WORKSPACE)
        os.umask(0o022)
        os.dup2(pipes.stdout, 1)
        os.dup2(pipes.stderr, 2)
        os.close(pipes.to_init)
        if is_root:
            os.setgroups([])
            os.setresgid(*(rootfs.SANDBOX_ID,) * 3)
            os.setresuid(*(rootfs.SANDBOX_ID,) * 3)
        kernel.drop_capabilities()
        kernel.refuse_new_privileges()
        kernel.filter_calls()
        for name in _OWN_MODULES:
            sys.modules.pop(name, None)
        runner.warm_up()
        with open(pipes.to_program, "rb") as file:
            line = file.readline()
            blob = file.read()
        if not line:
            os._exit(0)
        job = json.loads(line)
        os.dup2(_stdin(blob if job["kind"] == "exec" else b""), 0)
        status = os.dup2(pipes.status, 4, inheritable=False)
        control = os.dup2(pipes.control, 3, inheritable=False)
        os.closerange(5, 4096)
        # Where the server is not root, its own processes count for the same user: the two of the
        # server, this execution's init, and that of the one before, which may be ending yet.
        own = 0 if is_root else 4
        runner.set_limits(job["limits"], processes=job["limits"]["processes"] + own)
        kernel.set_dumpable(True)
    except BaseException as error:  # noqa: BLE001 - reported as the sandbox's own failure
        text = json.dumps({"error": f"{type(error).__name__}: {error}"})
        os.write(pipes.status, text.encode() + b"\n")
        os._exit(70)
    os.close(status)
    gc.enable()
    code = 70
    try:
        code = runner.run_job(job, blob, control)
    finally:
        os._exit(code)


def _stdin(data: bytes) -> int:
    fd = os.memfd_create("stdin", os.MFD_CLOEXEC)
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _watch(child: int, limits: dict[str, Any]) -> dict[str, Any]:
    """Wait for the program, ending it at the limits that only the whole tree can break."""
    end = os.pidfd_open(child)
    poller = select.poll()
    poller.register(end, select.POLLIN)
    limit, most = None, {"tasks": 0}
    while not poller.poll(_POLL_S * 1000):
        tasks, resident, cpu_s = _usage()
        most["tasks"] = max(most["tasks"], tasks)
        _reap_orphans(child)
        if resident > limits["memory_bytes"]:
            limit = "memory"
        elif cpu_s > limits["cpu_time_s"]:
            limit = "cpu_time"
        if limit:
            os.kill(child, signal.SIGKILL)
            break
    _, status, usage = os.wait4(child, 0)
    os.close(end)
    max_rss = usage.ru_maxrss * 1024
    if limit is None and status:
        limit = _guess_limit(status, most["tasks"], max_rss, limits)
    return {"status": status, "limit": limit, "max_rss_bytes": max_rss}


def _guess_limit(status: int, tasks: int, max_rss: int, limits: dict[str, Any]) -> str | None:
    """Name the limit behind a bad end where the kernel enforced it without telling us."""
    signal_number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    if signal_number == signal.SIGXCPU:
        return "cpu_time"
    if signal_number == signal.SIGXFSZ:
        return "disk"
    if tasks >= limits["processes"]:
        return "processes"
    return "memory" if max_rss > 0.9 * limits["memory_bytes"] else None


def _usage() -> tuple[int, int, float]:
    """Return tasks, resident bytes not shared with files, and CPU seconds of all but this init."""
    own = resource.getrusage(resource.RUSAGE_CHILDREN)
    tasks, resident, cpu_s = 0, 0, own.ru_utime + own.ru_stime
    for name in os.listdir("/proc"):
        if not name.isdigit() or name == "1":
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                # The name in the second field is the program's choice and may hold anything.
                fields = file.read().rpartition(b")")[2].split()
            with open(f"/proc/{name}/statm", "rb") as file:
                pages = file.read().split()
        except OSError:
            continue  # it has ended meanwhile
        tasks += int(fields[17])
        cpu_s += (int(fields[11]) + int(fields[12])) / _TICKS_PER_S
        resident += (int(pages[1]) - int(pages[2])) * _PAGE_BYTES
    return tasks, resident, cpu_s


def _reap_orphans(child: int) -> None:
    """Collect daemons that have ended, so that they do not fill the process table."""
    while True:
        found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if found is None or found.si_pid == child:
            return
        os.waitpid(found.si_pid, 0)


def _end_all_others() -> None:
    deadline = time.monotonic() + 2.0
    while time.monotonic() < deadline:
        try:
            os.kill(-1, signal.SIGKILL)
        except ProcessLookupError:
            pass
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return

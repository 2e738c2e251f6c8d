"""The isolating sandbox: Linux namespaces around a warm interpreter."""

from __future__ import annotations

import functools
import itertools
import os
import platform
import sys
import weakref
from pathlib import Path
from typing import Any

from ...errors import SandboxError, SandboxUnavailableError, SandboxWorkerError
from .base import Limits
from .common import Answer, AreaSandbox, check_limits
from .mirror import MirroredArea
from .worker import Worker

_MIN_KERNEL = (5, 14)


class NamespaceSandbox(AreaSandbox):
    """Runs hostile code in new namespaces without network, host files or rights (Linux).

    A fork server starts with the first use and stays warm; it is not shared with other sandboxes.
    The work area is a memory file system of bounded size that only this process can reach. If the
    server dies, the call raises `SandboxWorkerError` and the next one has a new server with the
    same files. In a forked process the sandbox goes on with a server of its own and a copy of the
    files.

    Args:
        limits: limits of executions that name none.
        interpreter: path of the Python (3.11 or newer) that runs the programs; by default this one.
    """

    name = "namespaces"
    is_isolated = True

    def __init__(self, limits: Limits | None = None, *, interpreter: str | None = None) -> None:
        super().__init__(limits)
        self._interpreter = interpreter
        self._worker: Worker | None = None
        self._orphaned: MirroredArea | None = None
        self._end: weakref.finalize[Any, NamespaceSandbox] | None = None

    @property
    def worker_pid(self) -> int | None:
        """Process id of the fork server, or None if none runs."""
        return self._worker.process_id if self._worker else None

    @property
    def control_group(self) -> list[str]:
        """Folders of the control group around its programs; empty if there is none."""
        return list(self._worker.facts["groups"]) if self._worker else []

    def _ensure(self) -> Worker:
        if self._worker is None:
            worker = self._start()
            if self._orphaned is not None:
                self._adopt(worker, self._orphaned)
                self._orphaned = None
            # Should nobody call `close`, the server ends with this object or with the process.
            self._worker, self._end = worker, weakref.finalize(self, worker.close)
        return self._worker

    def _start(self) -> Worker:
        try:
            return Worker(self.limits, self._interpreter)
        except SandboxUnavailableError as cause:
            raise SandboxUnavailableError(how_to_enable(str(cause))) from cause

    def _adopt(self, worker: Worker, orphaned: MirroredArea) -> None:
        """Give a new server the files that the old one left."""
        try:
            orphaned.settle(self.limits.disk_bytes)
            worker.area.restore(orphaned.snapshot())
        except OSError as cause:
            worker.close()
            raise SandboxWorkerError(
                f"the files of a dead sandbox worker cannot be read ({cause}); make a new sandbox"
            ) from cause
        orphaned.close()

    def _run(self, job: dict[str, Any], blob: bytes) -> Answer:
        worker = self._ensure()
        job["env"] = {"PATH": worker.facts["path"], **job["env"]}
        worker.area.forget()
        try:
            answer, output = worker.ask(job, blob)
        except SandboxUnavailableError:
            raise  # nothing has run
        except BaseException:
            self._orphan(worker)
            raise
        if "sizes" not in answer:
            return answer, b"", b"", b""
        told = answer.get("files", [])
        sizes = [*answer["sizes"], *(size for _, size, _ in told)]
        ends = list(itertools.accumulate(sizes))
        out, err, control, *contents = (
            output[end - size : end] for size, end in zip(sizes, ends, strict=True)
        )
        if "files" in answer:
            paths = [path for path, _, _ in told]
            worker.area.learn(
                dict(zip(paths, contents, strict=True)),
                touched=(path for path, _, is_touched in told if is_touched),
                is_plain=answer["is_plain"],
            )
        return answer, out, err, control

    def _area(self) -> MirroredArea:
        return self._ensure().area

    def _release(self) -> None:
        if self._end is not None:
            self._end()
        if self._orphaned is not None:
            self._orphaned.close()
        self._worker = self._orphaned = None

    def _after_fork(self) -> None:
        if self._worker is not None:
            self._worker.abandon()
            self._orphan(self._worker)

    def _orphan(self, worker: Worker) -> None:
        """Keep a lost server's files for the next one."""
        if self._end is not None:
            self._end.detach()
        worker.area.forget()
        self._orphaned, self._worker, self._end = worker.area, None, None


def how_to_enable(refused: str) -> str:
    """Turn what was refused into a message that says what to do about it."""
    causes = [
        f"{name} is {bad}: run `sysctl -w {name}={good}` as root"
        for name, bad, good in (
            ("user.max_user_namespaces", "0", "10000"),
            ("kernel.unprivileged_userns_clone", "0", "1"),
            ("kernel.apparmor_restrict_unprivileged_userns", "1", "0"),
        )
        if _sysctl(name) == bad
    ]
    if not causes:
        causes = [
            "in a container, start it with `--security-opt seccomp=unconfined --security-opt "
            "systempaths=unconfined` (and `--security-opt apparmor=unconfined` where AppArmor runs)"
        ]
    return (
        f"the `namespaces` sandbox cannot be had here. Refused: {refused}. To enable it: "
        f"{'; or '.join(causes)}. Code that you trust can be run without isolation: ask for the "
        "sandbox `process` by name."
    )


def _sysctl(name: str) -> str:
    try:
        return Path("/proc/sys", *name.split(".")).read_text().strip()
    except OSError:
        return ""


def _kernel_version() -> tuple[int, ...]:
    parts = platform.release().split("-")[0].split(".")[:2]
    return tuple(int(part) for part in parts if part.isdigit())


@functools.lru_cache(maxsize=4)
def _probe(interpreter: str | None, pid: int) -> str | None:
    """Start a sandbox once per process and run something; return what was refused, or None."""
    del pid  # only tells forked processes apart in the cache
    if sys.platform != "linux":
        return f"the operating system is {sys.platform}; Linux is needed"
    if _kernel_version() < _MIN_KERNEL:
        return f"Linux {platform.release()} is too old; 5.14 or newer is needed"
    with NamespaceSandbox(check_limits(Limits()), interpreter=interpreter) as sandbox:
        try:
            result = sandbox.python("print('ready')")
        except SandboxUnavailableError as refused:
            return str(refused.__cause__)
        except SandboxError as failed:
            return str(failed)
    return None if result.stdout == b"ready\n" else f"a first program did not run: {result.text}"


def missing_isolation(interpreter: str | None = None) -> str | None:
    """Return which protection is refused on this machine, or None if isolation can be had.

    The answer is found by trying, once per process.
    """
    return _probe(interpreter, os.getpid())

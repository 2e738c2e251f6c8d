"""The sandbox without isolation: plain subprocesses in a temporary folder.

For code that is trusted, and for systems without Linux namespaces. It bounds time, CPU, memory per
process, file size and output, and kills the process group; it hides nothing and stops nobody.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
import weakref
from typing import IO, Any

from ...errors import SandboxUnavailableError, SandboxWorkerError
from .area import Area
from .base import Limits
from .capture import Capture, pump
from .common import Answer, AreaSandbox
from .results import read_reports
from .worker import BOOT, FLAGS, FOLDER, SERVER_ENV

_TICK_S = 0.005
_CONTROL_BYTES = 1 << 20
_warned: set[int] = set()


class ProcessSandbox(AreaSandbox):
    """Runs code as an ordinary subprocess. It is not contained: it can read what you can read.

    Not enforced: `processes` (the kernel counts per user, not per sandbox), `disk_bytes` while the
    program runs (afterwards the largest files are removed until the rest fits), and whatever a
    program starts in a session of its own goes on.

    Args:
        limits: limits of executions that name none.
    """

    name = "process"
    is_isolated = False

    def __init__(self, limits: Limits | None = None) -> None:
        super().__init__(limits)
        if not _warned:
            _warned.add(os.getpid())
            warnings.warn(
                "the `process` sandbox does not contain code: what runs in it can read and change "
                "whatever you can. Use it for code that you trust.",
                UserWarning,
                stacklevel=2,
            )
        self._folder = ""
        self._files: Area | None = None
        self._inherited: Area | None = None
        self._remove: weakref.finalize[Any, ProcessSandbox] | None = None

    def _area(self) -> Area:
        if self._files is None:
            self._folder = tempfile.mkdtemp(prefix="sandbox-")
            self._remove = weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
            self._files = Area(os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
            if self._inherited is not None:
                self._files.restore(self._inherited.snapshot())
                self._inherited.close()
                self._inherited = None
        return self._files

    def _run(self, job: dict[str, Any], blob: bytes) -> Answer:
        if job["kind"] == "pytest" and importlib.util.find_spec("pytest") is None:
            raise SandboxUnavailableError(
                f"pytest is not installed for `{sys.executable}`; `pip install pytest`"
            )
        area = self._area()
        path = os.pathsep.join(
            [os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)]
        )
        job["env"] = {"PATH": path, **job["env"]}
        answer, out, err, control = _run_process(job, blob, self._folder)
        settled = area.settle(int(job["limits"]["disk_bytes"]))
        answer["limit"] = answer["limit"] or settled.limit_hit(job["limits"], answer["status"])
        return answer, out, err, control

    def _release(self) -> None:
        for area in (self._files, self._inherited):
            if area is not None:
                area.close()
        if self._remove is not None:
            self._remove()
        self._files = self._inherited = self._remove = None

    def _after_fork(self) -> None:
        if self._remove is not None:
            self._remove.detach()  # the folder is the parent's to remove
            self._inherited, self._files, self._remove = self._files, None, None


def _run_process(job: dict[str, Any], blob: bytes, folder: str) -> Answer:
    """Run one job in a fresh interpreter and read what it prints."""
    limits = job["limits"]
    is_program = job["kind"] == "exec"
    ends = [os.pipe() for _ in range(3)]
    sizes = (limits["output_bytes"], limits["output_bytes"], _CONTROL_BYTES)
    captures = [Capture(read, size) for (read, _), size in zip(ends, sizes, strict=True)]
    writing = [write for _, write in ends]
    text = json.dumps(job).encode() + b"\n"
    with _file(blob if is_program else b"") as stdin, _file(text + blob) as job_file:
        numbers = (job_file.fileno(), writing[2])
        started_s = time.monotonic()
        try:
            process = subprocess.Popen(
                [
                    *(sys.executable, *FLAGS, "-c", BOOT.format(module="launch"), FOLDER),
                    *map(str, numbers),
                ],
                stdin=stdin,
                stdout=writing[0],
                stderr=writing[1],
                pass_fds=numbers,
                env=SERVER_ENV,
                cwd=folder,
                start_new_session=True,
            )
        except OSError as cause:
            for capture in captures:
                capture.close()
            raise SandboxWorkerError(f"cannot start `{sys.executable}`: {cause}") from cause
        finally:
            for fd in writing:
                os.close(fd)
    try:
        how = pump(
            captures,
            deadline=started_s + limits["wall_time_s"],
            has_ended=lambda: _has_ended(process.pid),
            tick_s=_TICK_S,
        )
    finally:
        # The leader is not reaped yet, so the group's number cannot belong to anyone else.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        code = process.wait()
        for capture in captures:
            capture.drain()
            capture.close()
    out, err, control = (bytes(capture.data) for capture in captures)
    if how == "ended" and not read_reports(control, job["nonce"]):
        raise SandboxWorkerError(f"a program could not be started: {err.decode(errors='replace')}")
    answer = {
        "status": -code if code < 0 else code << 8,
        "limit": "wall_time" if how == "deadline" else _guess_limit(code),
        "duration_s": time.monotonic() - started_s,
        "is_truncated": any(capture.is_truncated for capture in captures[:2]),
    }
    return answer, out, err, control


def _file(data: bytes) -> IO[bytes]:
    file = tempfile.TemporaryFile()
    file.write(data)
    file.seek(0)
    return file


def _has_ended(pid: int) -> bool:
    """Say whether the process has ended, without reaping it."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _guess_limit(code: int) -> str | None:
    """Name the limit that the kernel enforced with a signal."""
    return {-signal.SIGXCPU: "cpu_time", -signal.SIGXFSZ: "disk"}.get(code)

"""The caller's end of one fork server: start it, ask it, end it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from ...errors import SandboxUnavailableError, SandboxWorkerError
from . import cgroups, wire
from .base import Limits
from .common import BASE_ENV
from .mirror import MirroredArea

_START_S = 20.0
_GRACE_S = 5.0
_END_S = 0.5
_STDERR_TAIL_BYTES = 2000

# The server's modules import each other relatively, without the package around them: they get a
# package of their own whose folder is this one, so that nothing heavy is imported.
BOOT = (
    "import sys, types; p = types.ModuleType('sandbox_server'); p.__path__ = [sys.argv[1]]; "
    "sys.modules[p.__name__] = p; from sandbox_server.{module} import main; "
    "main(*map(int, sys.argv[2:]))"
)
FOLDER = str(Path(__file__).resolve().parent)
# No site (-s -S), no script folder on the path (-P), no bytecode (-B). Not -I, which would ignore
# the fixed hash seed; the environment is given in full instead.
FLAGS = ("-s", "-S", "-P", "-B")
SERVER_ENV = {"PYTHONHASHSEED": "0", "LANG": "C.UTF-8"}


class Worker:
    """A running fork server and its work area.

    Args:
        limits: its `disk_bytes` is the first size of the work area.
        interpreter: path of the Python (3.11 or newer) to run the server and the programs.

    Raises:
        SandboxUnavailableError: the isolation was refused here; the message says which part.
        SandboxWorkerError: the server did not come up for another reason.
    """

    def __init__(self, limits: Limits, interpreter: str | None = None) -> None:
        self.pid = os.getpid()
        self._log = tempfile.TemporaryFile()
        self.link, theirs = socket.socketpair()
        self._has_used_pytest = False
        self.facts: dict[str, Any] = {"groups": []}
        self._command = command = [
            *(interpreter or sys.executable, *FLAGS, "-c", BOOT.format(module="boot"), FOLDER),
            *(str(theirs.fileno()), str(limits.disk_bytes)),
        ]
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._log,
                pass_fds=(theirs.fileno(),),
                env=BASE_ENV,
                cwd="/",
                start_new_session=True,
            )
        except OSError as cause:
            self.link.close()
            self._log.close()
            raise SandboxWorkerError(f"cannot start `{command[0]}`: {cause}") from cause
        finally:
            theirs.close()
        try:
            self.facts = self._greet()
        except BaseException:
            self.close()
            raise

    def _greet(self) -> dict[str, Any]:
        try:
            facts, _ = wire.receive(self.link, time.monotonic() + _START_S)
            if "error" in facts:
                raise SandboxUnavailableError(f"{facts['step']}: {facts['error']}")
            _, fds, _, _ = socket.recv_fds(self.link, 1, 1)
        except (wire.Closed, TimeoutError, OSError) as cause:
            raise SandboxWorkerError(
                f"the fork server did not start: {self._last_words()}"
            ) from cause
        if not fds:
            raise SandboxWorkerError("the fork server gave no access to its work area")
        os.set_inheritable(fds[0], False)
        # Where the server is root, programs run as another user, who must own the files.
        self.area = MirroredArea(fds[0], owner=(65534, 65534) if facts["is_root"] else None)
        return facts

    @property
    def process_id(self) -> int:
        """Process id of the server's outermost process."""
        return self._process.pid

    def ask(self, job: dict[str, Any], blob: bytes) -> tuple[dict[str, Any], bytes]:
        """Have one job done.

        Raises:
            SandboxWorkerError: the server died or did not answer in time; it has been ended.
            SandboxUnavailableError: pytest is wanted and not installed; the server goes on.
        """
        try:
            deadline = time.monotonic() + job["limits"]["wall_time_s"] + _GRACE_S
            if job["kind"] == "pytest" and not self._has_used_pytest:
                deadline += _START_S
            wire.send_job(self.link, job, blob)
            answer = wire.receive_answer(self.link, deadline)
        except (wire.Closed, TimeoutError, OSError, ValueError) as cause:
            last_words = self._last_words()
            self.end()
            raise SandboxWorkerError(
                "the sandbox worker died or hung and is replaced; this call did not complete, the "
                f"files are as it left them ({type(cause).__name__} {cause}{last_words})"
            ) from cause
        except BaseException:
            self.end()  # interrupted in the middle of a message: the link cannot be used again
            raise
        if "no_pytest" in answer[0]:
            raise SandboxUnavailableError(
                f"pytest cannot be imported by `{self._command[0]}` ({answer[0]['no_pytest']}); "
                f"install it there: `{self._command[0]} -m pip install pytest`"
            )
        self._has_used_pytest |= job["kind"] == "pytest"
        return answer

    def end(self) -> None:
        """End the server and everything below it; its files stay reachable through `area`."""
        if os.getpid() != self.pid:
            return  # a copy in a forked process
        self.link.close()
        try:
            # It ends by itself when the link is gone, and then leaves no zombie behind.
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()
        cgroups.remove(self.facts["groups"])  # the server has, unless it was killed

    def abandon(self) -> None:
        """Forget the server in a forked child: it belongs to the parent process."""
        self.link.close()
        self._log.close()
        self._process.returncode = 0  # not our child: there is nothing to wait for

    def _last_words(self) -> str:
        size = self._log.seek(0, os.SEEK_END)
        self._log.seek(max(0, size - _STDERR_TAIL_BYTES))
        return self._log.read().decode(errors="replace").strip()

    def close(self) -> None:
        """End the server and give up its files."""
        self.end()
        if hasattr(self, "area"):
            self.area.close()

"""Tests in a process of their own, against modules of the work area that run in another one.

The process forks before it knows any test. The child becomes the code under test: it keeps a socket
to the parent, standard input and the outputs, and nothing else. The parent learns what to test only
then. It never runs code of the work area, and the kernel lets no process of the same user read or
trace it where it was made so (`kernel.set_dumpable`). The child can end it, and so lose the tests
that have not been reported.

What the tests themselves print is thrown away: the code under test could read it, since both would
write to the same pipe. Runs in the sandbox: standard library only.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from . import checks, under_test
from .remote import SideOfTests

_LINK = 3
_MAX_DESCRIPTORS = 4096


def pack_secret(nonce: str, expected: list[str] | None, source: str) -> bytes:
    """Return what only the tests' process may know, as bytes."""
    return json.dumps([nonce, expected, source]).encode()


def unpack_secret(data: bytes) -> tuple[str, list[str] | None, str]:
    """Return nonce, names of the tests and source."""
    nonce, expected, source = json.loads(data)
    return nonce, expected, source


class Split:
    """The two processes; made, it is the parent, and the child never leaves the constructor.

    Args:
        become_code: what the child does before any code of the work area runs.
        flush: writes out what the child has printed.
    """

    def __init__(self, become_code: Callable[[], None], flush: Callable[[], None]) -> None:
        ours, theirs = socket.socketpair()
        processor = _this_processor()
        self._code = os.fork()
        if self._code == 0:
            _become_code(theirs, become_code, flush, processor)
        _stay_on(processor)
        theirs.close()
        self._tests = SideOfTests(ours)

    def run(
        self, source: str, expected: list[str] | None, report: Callable[[dict[str, Any]], None]
    ) -> int:
        """Run the tests, end the child, and return the exit code of this process.

        If a limit of the kernel's ended the child, it ends this process in the same way.
        """
        _close_outputs()
        for harmless in (signal.SIGINT, signal.SIGPIPE):  # the child may send what it likes
            signal.signal(harmless, signal.SIG_IGN)
        code = run_remotely(self._tests, source, expected, report)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._code, signal.SIGKILL)
        _, status = os.waitpid(self._code, 0)
        if self._tests.link.why_lost and os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            if number in (signal.SIGXCPU, signal.SIGXFSZ):
                signal.signal(number, signal.SIG_DFL)
                os.kill(os.getpid(), number)
        return code


def run_remotely(
    tests: SideOfTests,
    source: str,
    expected: list[str] | None,
    report: Callable[[dict[str, Any]], None],
) -> int:
    """Run tests whose modules, but for those of the standard library, are on the other side."""
    sys.meta_path.append(tests)
    return checks.run_tests(source, expected, report, lambda: tests.link.why_lost)


def _become_code(
    link: socket.socket,
    become_code: Callable[[], None],
    flush: Callable[[], None],
    processor: int | None,
) -> NoReturn:
    # Bound here: the code that runs below may replace them in their module.
    end, kill, itself, die = os._exit, os.kill, os.getpid(), signal.SIGKILL
    code = 70
    try:
        os.dup2(link.fileno(), _LINK, inheritable=False)
        link.detach()
        os.closerange(_LINK + 1, _MAX_DESCRIPTORS)
        mine = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, fileno=_LINK)
        become_code()
        _stay_on(processor)
        under_test.serve(mine, flush)
        code = 0
    finally:
        try:
            end(code)
        finally:
            while True:
                kill(itself, die)


def _this_processor() -> int | None:
    """Return the number of the processor that this process runs on, where that can be known."""
    with contextlib.suppress(OSError, IndexError, ValueError):
        with open("/proc/self/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[36])
    return None


def _stay_on(processor: int | None) -> None:
    """Keep this process and its forks on one processor, on systems that have a way to.

    Tests and code take turns: on two processors each turn would cost three times as much.
    """
    if processor is not None and hasattr(os, "sched_setaffinity"):
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, {processor})


def _close_outputs() -> None:
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    for fd in (1, 2):
        os.dup2(null, fd)
    os.close(null)


class _Loop:
    """A socket to code under test in this same thread, which serves when its answer is wanted."""

    def __init__(self) -> None:
        self.ours, self.theirs = socket.socketpair()
        self.code: under_test.CodeUnderTest | None = None
        self.sendall = self.ours.sendall

    def recv(self, size: int) -> bytes:
        if self.code is not None:
            self.code.link.serve_one()
        return self.ours.recv(size)

    def close(self) -> None:
        self.ours.close()
        self.theirs.close()


def rehearse(
    source: str,
    modules: dict[str, Any],
    report: Callable[[dict[str, Any]], None],
    flush: Callable[[], None],
) -> None:
    """Do in this one process, with modules that are there, what both do later (see `runner`)."""
    loop = _Loop()
    try:
        loop.code = under_test.CodeUnderTest(loop.theirs, modules.__getitem__, flush)
        tests = SideOfTests(loop)  # type: ignore[arg-type]  # as much of a socket as it uses
        secret = pack_secret("0" * 32, None, source)
        run_remotely(tests, unpack_secret(secret)[2], None, report)
        sys.meta_path.remove(tests)
    finally:
        loop.close()

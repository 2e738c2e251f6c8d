"""Any sandbox from asyncio: each call runs in a thread, the event loop goes on meanwhile."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import threading
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, ParamSpec, Self, TypeVar

from ...errors import SandboxError
from .base import CheckResult, ExecResult, Limits, Sandbox, Snapshot

_P = ParamSpec("_P")
_T = TypeVar("_T")


class AsyncSandbox:
    """The calls of a sandbox, awaitable.

    Many tasks, also of several event loops, may share one: calls are carried out one at a time in
    the order in which they came, each in a thread of its own, so that waiting sandboxes do not take
    the threads of the event loop's executor from each other.

    A cancelled call raises `CancelledError` at once. If it had begun, it goes on in the background
    until it ends, at the latest at its time limit, and its result is dropped; the calls after it
    wait for that. So the sandbox stays usable, but a cancelled call may have had its effect on the
    files. A call that had not begun has none.

    Args:
        sandbox: what to run the calls in; `close` closes it.
    """

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._line = _Line()
        self._is_closed = False

    @property
    def name(self) -> str:
        """Name of the sandbox."""
        return self._sandbox.name

    @property
    def is_isolated(self) -> bool:
        """True if hostile code is contained."""
        return self._sandbox.is_isolated

    async def exec(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        limits: Limits | None = None,
    ) -> ExecResult:
        """Run a program: see `Sandbox.exec`."""
        return await self._call(self._sandbox.exec, argv, stdin=stdin, env=env, limits=limits)

    async def python(self, source: str, *, limits: Limits | None = None) -> ExecResult:
        """Run Python source: see `Sandbox.python`."""
        return await self._call(self._sandbox.python, source, limits=limits)

    async def check(
        self, source: str, *, expected: Sequence[str] | None = None, limits: Limits | None = None
    ) -> CheckResult:
        """Run test functions: see `Sandbox.check`."""
        return await self._call(self._sandbox.check, source, expected=expected, limits=limits)

    async def judge(
        self, source: str, *, expected: Sequence[str] | None = None, limits: Limits | None = None
    ) -> CheckResult:
        """Run test functions apart from the code under test: see `Sandbox.judge`."""
        return await self._call(self._sandbox.judge, source, expected=expected, limits=limits)

    async def pytest(
        self, args: Sequence[str] = (), *, limits: Limits | None = None
    ) -> CheckResult:
        """Run pytest: see `Sandbox.pytest`."""
        return await self._call(self._sandbox.pytest, args, limits=limits)

    async def read_file(self, path: str) -> bytes:
        """Return a file's content: see `Sandbox.read_file`."""
        return await self._call(self._sandbox.read_file, path)

    async def write_file(self, path: str, data: bytes) -> None:
        """Create or replace a file: see `Sandbox.write_file`."""
        await self._call(self._sandbox.write_file, path, data)

    async def remove_file(self, path: str) -> None:
        """Delete a file: see `Sandbox.remove_file`."""
        await self._call(self._sandbox.remove_file, path)

    async def list_files(self) -> list[str]:
        """Return the paths of all files: see `Sandbox.list_files`."""
        return await self._call(self._sandbox.list_files)

    async def snapshot(self) -> Snapshot:
        """Return the files: see `Sandbox.snapshot`."""
        return await self._call(self._sandbox.snapshot)

    async def restore(self, snapshot: Snapshot) -> None:
        """Put files back: see `Sandbox.restore`."""
        await self._call(self._sandbox.restore, snapshot)

    async def close(self) -> None:
        """Close the sandbox when the calls before have ended; calls after this are refused.

        Cancelling it does not leave the sandbox open: the closing goes on in the background.
        """
        self._is_closed = True
        await _in_thread(self._line, self._sandbox.close, can_be_dropped=False)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def _call(self, function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        if self._is_closed:
            raise SandboxError(f"this `{self.name}` sandbox is closed; make a new one")
        work = functools.partial(function, *args, **kwargs)
        return await _in_thread(self._line, work, can_be_dropped=True)


class _Line:
    """Work that is done one after the other, by a thread that lives while there is some."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: list[Callable[[], None]] = []
        self._is_served = False

    def add(self, work: Callable[[], None]) -> None:
        with self._lock:
            self._waiting.append(work)
            if self._is_served:
                return
            self._is_served = True
        threading.Thread(target=self._serve, name="sandbox", daemon=True).start()

    def _serve(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._is_served = False
                    return
                work = self._waiting.pop(0)
            work()


async def _in_thread(line: _Line, work: Callable[[], _T], *, can_be_dropped: bool) -> _T:
    """Await what `work` returns, done by the line's thread.

    Args:
        line: in whose turn it is done.
        work: what to do.
        can_be_dropped: leave it undone if the caller is cancelled before its turn.
    """
    loop = asyncio.get_running_loop()
    result: asyncio.Future[_T] = loop.create_future()
    context = contextvars.copy_context()

    def settle(error: BaseException | None, value: Any) -> None:
        if result.done():
            return  # cancelled: nobody waits
        if error is None:
            result.set_result(value)
        else:
            result.set_exception(error)

    def run() -> None:
        if can_be_dropped and result.cancelled():
            return
        error, value = None, None
        try:
            value = context.run(work)
        except BaseException as raised:  # noqa: BLE001 - it is raised where the call is awaited
            error = raised
        try:
            loop.call_soon_threadsafe(settle, error, value)
        except RuntimeError:
            return  # the loop has been closed meanwhile: nobody waits

    line.add(run)
    return await result

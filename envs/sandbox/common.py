"""What both sandboxes share: checked arguments, the work area's files, one call at a time."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import os
import secrets
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from ...errors import ConfigError, SandboxError
from .area import Area
from .base import CheckResult, ExecResult, Limits, Snapshot
from .judge import pack_secret
from .results import read_reports, to_check_result, to_exec_result

BASE_ENV = {
    "HOME": "/tmp",
    "LANG": "C.UTF-8",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",
}
"""What every program finds in its environment, besides PATH and what the caller adds."""

_LIMIT_NAMES = tuple(field.name for field in dataclasses.fields(Limits))
_MIN_MEMORY_BYTES = 64 * 1024 * 1024

Answer = tuple[dict[str, Any], bytes, bytes, bytes]
"""What was observed, stdout, stderr, and what came through the private pipe."""


class AreaSandbox(ABC):
    """A sandbox that keeps its files in a folder it alone has a descriptor of.

    Args:
        limits: limits of executions that name none.
    """

    name: str
    is_isolated: bool

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = check_limits(limits or Limits())
        self._lock = threading.RLock()
        self._is_closed = False
        _living.add(self)

    @abstractmethod
    def _run(self, job: dict[str, Any], blob: bytes) -> Answer:
        """Carry out one job; called under the lock."""

    @abstractmethod
    def _area(self) -> Area:
        """Return the work area, made if need be; called under the lock."""

    @abstractmethod
    def _release(self) -> None:
        """End everything; called under the lock, once."""

    @abstractmethod
    def _after_fork(self) -> None:
        """Let go, in a forked child, of what belongs to the parent process."""

    def exec(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        limits: Limits | None = None,
    ) -> ExecResult:
        """Run a program in the work area and wait for it (exit code 127 if it is not found).

        Raises:
            ConfigError: `argv` or `env` is not what a program can be started with.
            SandboxError: the sandbox itself failed.
        """
        words = _check_words(argv, env or {})
        answer, out, err, _ = self._execute("exec", stdin, limits, argv=words, env=dict(env or {}))
        return to_exec_result(answer, out, err)

    def python(self, source: str, *, limits: Limits | None = None) -> ExecResult:
        """Run Python source as `__main__`, with the work area first on `sys.path`.

        Only the standard library and the work area can be imported; `random` starts from a fixed
        state, so that the same source does the same thing again.
        """
        blob = source.encode("utf-8", "surrogatepass")
        answer, out, err, _ = self._execute("python", blob, limits)
        return to_exec_result(answer, out, err)

    def check(
        self, source: str, *, expected: Sequence[str] | None = None, limits: Limits | None = None
    ) -> CheckResult:
        """Run the `test_*` functions of a test module given as source.

        Args:
            source: source of the test module.
            expected: names to run and count; by default the top-level `test_*` functions of
                `source`, read from its text, so that an import cannot add any.
            limits: limits for the whole module.

        Returns:
            One outcome for each expected test; `<module>: error` if the source cannot be parsed.
        """
        names = None if expected is None else list(dict.fromkeys(expected))
        blob = source.encode("utf-8", "surrogatepass")
        answer, out, err, control = self._execute("check", blob, limits, expected=names)
        reports = read_reports(control, answer["nonce"])
        return to_check_result(reports, names, to_exec_result(answer, out, err))

    def judge(
        self, source: str, *, expected: Sequence[str] | None = None, limits: Limits | None = None
    ) -> CheckResult:
        """Run test functions where the code of the work area cannot reach them.

        See `Sandbox.judge`. The names, the source and what proves a report are sent to the process
        of the tests alone.
        """
        names = None if expected is None else list(dict.fromkeys(expected))
        nonce = secrets.token_hex(16)
        blob = pack_secret(nonce, names, source)
        answer, out, err, control = self._execute("judge", blob, limits, nonce=nonce)
        reports = read_reports(control, nonce)
        return to_check_result(reports, names, to_exec_result(answer, out, err))

    def pytest(self, args: Sequence[str] = (), *, limits: Limits | None = None) -> CheckResult:
        """Run pytest over the work area (see `Sandbox.pytest`).

        Returns:
            One outcome for each collected test; `<module>: missing` if pytest ended before it had
            collected any.

        Raises:
            ConfigError: `args` is not what a program can be started with.
            SandboxUnavailableError: pytest is not installed where the code runs.
            SandboxError: the sandbox itself failed.
        """
        words = _check_words(["pytest", *_as_list(args)], {})[1:]
        answer, out, err, control = self._execute("pytest", b"", limits, argv=words)
        reports = read_reports(control, answer["nonce"])
        return to_check_result(reports, None, to_exec_result(answer, out, err))

    def read_file(self, path: str) -> bytes:
        """Return a file's content (FileNotFoundError, PermissionError as the protocol says)."""
        with self._open():
            return self._area().read(path)

    def write_file(self, path: str, data: bytes) -> None:
        """Create or replace a file.

        Raises:
            PermissionError: the path leaves the work area or is a symbolic link.
            ValueError: no file can have that name.
            OSError: the file is larger than `file_bytes`, or the area is full.
        """
        with self._open():
            if len(data) > self.limits.file_bytes:
                raise OSError(
                    errno.EFBIG, f"over the limit of {self.limits.file_bytes} bytes", path
                )
            self._area().write(path, data)

    def remove_file(self, path: str) -> None:
        """Delete a file (FileNotFoundError if it is not there)."""
        with self._open():
            self._area().remove(path)

    def list_files(self) -> list[str]:
        """Return the relative POSIX paths of all regular files, sorted."""
        with self._open():
            return self._area().list_files()

    def snapshot(self) -> Snapshot:
        """Return the files as they are now."""
        with self._open():
            return Snapshot(files=self._area().snapshot())

    def restore(self, snapshot: Snapshot) -> None:
        """Make the work area hold exactly the files of `snapshot`."""
        with self._open():
            self._area().restore(snapshot.files)

    def close(self) -> None:
        """End every process and remove the work area; a second call does nothing."""
        with self._lock:
            if not self._is_closed:
                self._is_closed = True
                self._release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @contextlib.contextmanager
    def _open(self) -> Iterator[None]:
        """Hold the lock for one call on an open sandbox."""
        with self._lock:
            if self._is_closed:
                raise SandboxError(f"this `{self.name}` sandbox is closed; make a new one")
            yield

    def _execute(
        self, kind: str, blob: bytes, limits: Limits | None, *, nonce: str = "", **rest: Any
    ) -> Answer:
        """Carry out one job; a `nonce` that is given is not told to the process that starts it."""
        told = "" if nonce else secrets.token_hex(16)
        nonce = nonce or told
        job = {
            "kind": kind,
            "argv": [],
            "expected": None,
            **rest,
            "env": BASE_ENV | rest.get("env", {}),
            "nonce": told,
            "limits": _as_dict(check_limits(limits) if limits else self.limits),
        }
        with self._open():
            answer, out, err, control = self._run(job, blob)
        if "error" in answer:
            raise SandboxError(f"the `{self.name}` sandbox could not run code: {answer['error']}")
        answer["nonce"] = nonce
        if answer["limit"] is None and b'"memory"' in control:
            if any("memory" in report for report in read_reports(control, nonce)):
                answer["limit"] = "memory"
        return answer, out, err, control


def _as_dict(limits: Limits) -> dict[str, Any]:
    return {name: getattr(limits, name) for name in _LIMIT_NAMES}


def check_limits(limits: Limits) -> Limits:
    """Return `limits` if they can be enforced.

    Raises:
        ConfigError: a limit is not positive, or too small for an interpreter to start.
    """
    for name in _LIMIT_NAMES:
        value = getattr(limits, name)
        if not value > 0:
            raise ConfigError(f"limit `{name}` is {value}; expected a positive number")
    if limits.memory_bytes < _MIN_MEMORY_BYTES:
        raise ConfigError(
            f"limit `memory_bytes` is {limits.memory_bytes}; expected at least "
            f"{_MIN_MEMORY_BYTES}, which an interpreter needs to start"
        )
    return limits


def _as_list(args: Sequence[str]) -> list[str]:
    if isinstance(args, str):
        raise ConfigError(f"`args` is {args!r}; expected a list such as ['-k', 'name']")
    return list(args)


def _check_words(argv: Sequence[str], env: Mapping[str, str]) -> list[str]:
    if isinstance(argv, str) or not argv:
        raise ConfigError(f"`argv` is {argv!r}; expected a list such as ['ls', '-l']")
    if any("=" in name for name in env):
        raise ConfigError("a name in `env` has a `=` in it")
    for word in [*argv, *env, *env.values()]:
        try:
            has_nul = b"\0" in os.fsencode(word)
        except UnicodeEncodeError as cause:
            raise ConfigError(f"{word!r} cannot be encoded as UTF-8") from cause
        if has_nul:
            raise ConfigError(f"{word!r} has a NUL character, which no argument can have")
    return list(argv)


_living: weakref.WeakSet[AreaSandbox] = weakref.WeakSet()


def _let_go_after_fork() -> None:
    for sandbox in list(_living):
        sandbox._lock = threading.RLock()  # another thread may have held it at the fork
        if not sandbox._is_closed:
            sandbox._after_fork()


os.register_at_fork(after_in_child=_let_go_after_fork)

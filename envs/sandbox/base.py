"""The interface of a sandbox: a work area and ways to run code in it.

A sandbox owns a private work area (a small tree of files) and runs programs whose current folder is
that area. What runs there is hostile until proven otherwise. A sandbox's own failure is raised
(`SandboxError`), never returned as if the program had said it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable


@dataclass(slots=True, kw_only=True, frozen=True)
class Limits:
    """What one execution may use. Every limit is enforced, and a result says which one was hit."""

    wall_time_s: float = 5.0
    cpu_time_s: float = 5.0
    memory_bytes: int = 512 * 1024 * 1024
    processes: int = 32
    file_bytes: int = 16 * 1024 * 1024
    """Size of the largest file that may be written."""
    disk_bytes: int = 64 * 1024 * 1024
    """Size of the whole work area."""
    output_bytes: int = 64 * 1024
    """Bytes of stdout and of stderr that are kept; the rest is read and thrown away."""


@dataclass(slots=True, kw_only=True, frozen=True)
class ExecResult:
    """What one execution did."""

    exit_code: int | None
    """Exit status; None if a signal or a limit ended it."""
    signal: int | None = None
    """Number of the signal that ended it, if one did."""
    stdout: bytes = b""
    stderr: bytes = b""
    is_truncated: bool = False
    """True if output was cut at `Limits.output_bytes`."""
    duration_s: float = 0.0
    """Wall-clock seconds (varies from run to run)."""
    limit: str | None = None
    """The limit that was hit: `wall_time`, `cpu_time`, `memory`, `processes`, `disk`; else None."""

    @property
    def is_ok(self) -> bool:
        """True if it ended by itself with exit status 0."""
        return self.exit_code == 0 and self.limit is None

    @property
    def text(self) -> str:
        """Return stdout then stderr, decoded as UTF-8 with undecodable bytes replaced."""
        return (self.stdout + self.stderr).decode("utf-8", errors="replace")


@dataclass(slots=True, kw_only=True, frozen=True)
class CheckResult:
    """Outcome of a set of test functions, counted against the tests that were expected."""

    outcomes: Mapping[str, str]
    """Test name to `passed`, `failed` (an assertion), `error` (any other exception) or `missing`
    (expected, but never reported: the process ended early, or the test is gone). From `pytest` also
    `skipped`; there `failed` is any exception of a test, and `error` one of its fixtures."""
    messages: Mapping[str, str] = field(default_factory=dict)
    """Test name to a short message, for those that did not pass."""
    execution: ExecResult

    @property
    def num_passed(self) -> int:
        """Number of tests that passed."""
        return sum(1 for outcome in self.outcomes.values() if outcome == "passed")

    @property
    def num_total(self) -> int:
        """Number of tests that were expected or reported."""
        return len(self.outcomes)

    @property
    def is_ok(self) -> bool:
        """True if there was at least one test and all passed."""
        return self.num_total > 0 and self.num_passed == self.num_total


@dataclass(slots=True, kw_only=True, frozen=True)
class Snapshot:
    """The files of a work area at one moment: relative POSIX path to content."""

    files: Mapping[str, bytes]


@runtime_checkable
class Sandbox(Protocol):
    """Where code runs. Paths are relative to the work area; a path that leaves it is refused.

    Implementations are context managers, safe to use from several threads (calls on one sandbox are
    serialised), and leave nothing behind after `close()`, which may be called twice.
    """

    name: str
    is_isolated: bool
    """True if hostile code is contained."""

    def exec(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        limits: Limits | None = None,
    ) -> ExecResult:
        """Run a program in the work area and wait for it.

        Raises:
            SandboxError: the sandbox itself failed. A program that cannot be found is not such a
                failure: it gives exit code 127.
        """
        ...

    def python(self, source: str, *, limits: Limits | None = None) -> ExecResult:
        """Run Python source as `__main__` with the work area on `sys.path`."""
        ...

    def check(
        self, source: str, *, expected: Sequence[str] | None = None, limits: Limits | None = None
    ) -> CheckResult:
        """Run the `test_*` functions of a test module given as source.

        The functions take no arguments and import what they test from the work area. Results come
        back over a private channel and are never parsed from output.

        Tests and the code under test share one interpreter, as with any Python test runner: code
        that means to can read the tests, patch them or report in their name. Use this for tests
        whose author and the code's are the same; `judge` is for grading.

        Args:
            source: source of the test module.
            expected: names that must be reported; by default the top-level `test_*` functions of
                `source`. One that is not reported is `missing`.
            limits: limits for the whole module.
        """
        ...

    def judge(
        self, source: str, *, expected: Sequence[str] | None = None, limits: Limits | None = None
    ) -> CheckResult:
        """Run test functions in a process that the code of the work area cannot read or change.

        What a test imports and the standard library does not have is imported from the work area,
        by a second process that knows no test. Tests use such modules as ever: call, construct, set
        attributes, catch exceptions; every operation is a request to that process. The tests are
        trusted, and must not be written by whom they judge.

        - Plain values pass as copies: the builtin types from None to dict, and Decimal, Fraction,
          the types of datetime, Counter, OrderedDict, defaultdict and deque. `type(x) is int` in a
          test is true of real integers only. A named tuple arrives as a tuple that has its fields.
          What a call does to a list, dict, set, bytearray or deque among its arguments is done to
          the test's own.
        - Everything else stays where it is, instances of subclasses of the plain types included,
          and the test holds an object that forwards. Such an object never equals a plain value;
          ordering and measuring it (`<`, `-`, `/`, `%`) against one is a TypeError, and `in` looks
          through its items: the code is not told what it is compared with. Two such objects are
          compared by their own process.
        - What else is asked of an object is its own word: `len`, truth, attributes, and methods,
          also those that are told what is expected (`result.startswith("a")`). Tests that must hold
          against hostile code compare with plain values, or look at `type(result)` first.
        - Exceptions arrive as what they are, if they are builtin or of the standard library;
          a class of the code's own can be caught by its name in the module, or by a base.
        - Functions of a test can be handed over (as a key or a callback); its other objects cannot.
          A test cannot derive from a class of the code, await its coroutines, or capture what it
          prints; what tests print is thrown away. Both processes share one processor.
        - A module of the work area with the name of one of the standard library is not seen by
          tests (but by the code).

        Args:
            source: source of the test module.
            expected: names that must be reported; by default the top-level `test_*` functions of
                `source`.
            limits: limits for both processes together.

        Returns:
            One outcome for each expected test. `missing` are those that come after the end of
            either process.
        """
        ...

    def pytest(self, args: Sequence[str] = (), *, limits: Limits | None = None) -> CheckResult:
        """Run pytest over the work area.

        Outcomes come back over a private channel; `execution` has what pytest printed and its exit
        status. Names are node ids. `skipped` is a test that skips itself or fails as its `xfail`
        mark expects; it has not passed, so `is_ok` is false. One that passes in spite of such a
        mark has `passed`, or `failed` if the mark is strict. A file that cannot be imported is an
        `error` under its own name. Only pytest's own plugins are loaded, and no cache is kept;
        the installed packages can be imported, and settings in the work area apply.

        Args:
            args: arguments of pytest, such as `["-k", "fast", "tests"]`.
            limits: limits for the whole run.

        Raises:
            SandboxUnavailableError: pytest is not installed where the code runs.
        """
        ...

    def read_file(self, path: str) -> bytes:
        """Return a file's content.

        Raises:
            FileNotFoundError: there is no such file.
            PermissionError: the path leaves the work area.
        """
        ...

    def write_file(self, path: str, data: bytes) -> None:
        """Create or replace a file, making its folders."""
        ...

    def remove_file(self, path: str) -> None:
        """Delete a file (FileNotFoundError if it is not there)."""
        ...

    def list_files(self) -> list[str]:
        """Return the relative POSIX paths of all regular files, sorted."""
        ...

    def snapshot(self) -> Snapshot:
        """Return the files as they are now."""
        ...

    def restore(self, snapshot: Snapshot) -> None:
        """Make the work area hold exactly the files of `snapshot`."""
        ...

    def close(self) -> None:
        """End every process and remove the work area."""
        ...

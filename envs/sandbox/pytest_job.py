"""Runs a real pytest over the current folder and reports what became of each test.

Reports go through the private pipe, never through what pytest prints. Runs in the process of the
tests, and imports pytest only when asked to: most servers never need it.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from typing import Any

_WORST_FIRST = ("error", "failed", "skipped", "passed")
_MAX_MESSAGE_CHARS = 300
_Report = Callable[[dict[str, Any]], None]


def load() -> str:
    """Make pytest and the other installed packages importable, import it, return its version.

    Raises:
        ImportError: it is not installed for this interpreter.
    """
    if "site" not in sys.modules:
        importlib.import_module("site").main()  # servers start without it (-S)
    version: str = importlib.import_module("pytest").__version__
    return version


def run(args: list[str], report: _Report) -> int:
    """Run pytest and return its exit status.

    Args:
        args: its arguments, after ours: no plugins but its own, no cache folder, and node ids
            relative to the current folder.
        report: takes one report; see `Reporter`.
    """
    load()
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    ours = ["-p", "no:cacheprovider", f"--rootdir={os.getcwd()}"]
    main = importlib.import_module("pytest").main
    return int(main([*ours, *args], plugins=[Reporter(report)]))


class Reporter:
    """A pytest plugin that reports the collected tests, then the outcome of each that has ended.

    A test is an `error` if its fixtures raise, before or after it, and `failed` if it raises itself
    or passes where a strict `xfail` forbids it. `skipped` is also what fails as its `xfail` mark
    expects; what passes all the same has `passed`. A file that cannot be imported is an `error`
    under its own name, and one that skips itself is `skipped`.
    """

    def __init__(self, report: _Report) -> None:
        self._report = report
        self._problems: dict[str, tuple[str, str]] = {}
        self._outcomes: dict[str, tuple[str, str]] = {}

    def pytest_collectreport(self, report: Any) -> None:
        """Note a file or class from which no tests can be had."""
        if not report.passed:
            outcome = "error" if report.failed else "skipped"
            self._problems[report.nodeid or "."] = (outcome, _describe(report))

    def pytest_collection_finish(self, session: Any) -> None:
        """Say which tests there are, before the first one runs."""
        names = [item.nodeid for item in session.items]
        self._report({"tests": [*dict.fromkeys([*self._problems, *names])]})
        for name, (outcome, message) in self._problems.items():
            self._report({"name": name, "outcome": outcome, "message": message})

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Note how one of the phases of a test ended; the worst of them counts."""
        if report.failed:
            outcome = "failed" if report.when == "call" else "error"
        elif report.skipped:
            outcome = "skipped"
        elif report.when == "call":
            outcome = "passed"
        else:
            return  # a fixture that worked says nothing about the test
        known = self._outcomes.get(report.nodeid, ("passed", ""))
        if _WORST_FIRST.index(outcome) <= _WORST_FIRST.index(known[0]):
            self._outcomes[report.nodeid] = (outcome, _describe(report))

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Report a test of which all phases have ended."""
        if nodeid in self._outcomes:
            outcome, message = self._outcomes.pop(nodeid)
            self._report({"name": nodeid, "outcome": outcome, "message": message})

    def pytest_exception_interact(self, call: Any) -> None:
        """Tell of a lack of memory, which is a limit and not only a failure."""
        if call.excinfo.errisinstance(MemoryError):
            self._report({"memory": True})


def _describe(report: Any) -> str:
    """Say what was raised and where, in one short line."""
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is not None:
        first_line = str(crash.message).partition("\n")[0]
        return f"{first_line} | {os.path.relpath(crash.path)}:{crash.lineno}"[:_MAX_MESSAGE_CHARS]
    if isinstance(report.longrepr, tuple):
        path, line, reason = report.longrepr
        return f"{reason} | {os.path.relpath(path)}:{line}"[:_MAX_MESSAGE_CHARS]
    lines = [line for line in report.longreprtext.splitlines() if line.strip()]
    return lines[-1][:_MAX_MESSAGE_CHARS] if lines else ""

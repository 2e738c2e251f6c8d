"""Runs pytest in the process of `Sandbox.judge` that the code under test cannot reach.

The text of this file is sent there, with the tests, and runs as the module of tests. It lays the
tests out in a folder of their own for pytest to find, but has every module in it imported from
memory: the code under test may write to that folder as it likes and changes nothing. What a test
imports and neither this folder nor the library has comes from the code under test, by request.

Runs in the sandbox: standard library only, and pytest where it is installed.
"""

from __future__ import annotations

import base64
import importlib
import importlib.machinery
import importlib.util
import os
import sys
import tempfile
import types
from collections.abc import Callable, Sequence
from typing import Any

_WORST_FIRST = ("error", "failed", "skipped", "passed")


class MemoryFinder:
    """Finds modules of one folder of an import path in memory, and nothing on the disk.

    Args:
        folder: absolute path.
        sources: absolute path of each file to its source.
        spaces: folders that are packages without an `__init__.py`.
    """

    def __init__(self, folder: str, sources: dict[str, bytes], spaces: frozenset[str]) -> None:
        self._folder, self._sources, self._spaces = folder, sources, spaces

    def find_spec(self, name: str, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of a module (see `sys.path_hooks`); None if it is not here."""
        del target
        base = os.path.join(self._folder, name.rpartition(".")[2])
        for path, is_package in ((f"{base}/__init__.py", True), (f"{base}.py", False)):
            if path in self._sources:
                loader: Any = _MemoryLoader(path, self._sources[path])
                places = [base] if is_package else None
                return importlib.util.spec_from_file_location(
                    name, path, loader=loader, submodule_search_locations=places
                )
        if base in self._spaces:
            spec = importlib.machinery.ModuleSpec(name, None, is_package=True)
            spec.submodule_search_locations = [base]
            return spec
        return None


class _MemoryLoader:
    def __init__(self, path: str, source: bytes) -> None:
        self._path, self._source = path, source

    def create_module(self, spec: Any) -> None:
        """Leave it to the import system."""

    def exec_module(self, module: types.ModuleType) -> None:
        exec(compile(self._source, self._path, "exec", dont_inherit=True), module.__dict__)

    def get_source(self, name: str) -> str:
        del name
        return self._source.decode("utf-8", errors="replace")


class CodeFirst:
    """Takes modules of the work area from the code under test, whatever is installed by that name.

    Args:
        code: finder and loader of the code under test.
        names: the top-level names of the work area.
        root: the tests' folder, whose modules come before.
    """

    def __init__(self, code: Any, names: frozenset[str], root: str) -> None:
        self._code, self._names, self._root = code, names - sys.stdlib_module_names, root

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return a spec (see `sys.meta_path`) if the module is one of these."""
        top = name.partition(".")[0]
        if top not in self._names:
            return None
        places = path if path is not None and len(path) else self._places()
        if importlib.machinery.PathFinder.find_spec(name, list(places)) is not None:
            return None
        if "." in name and type(sys.modules.get(top)).__name__ != "RemoteModule":
            return None
        spec: importlib.machinery.ModuleSpec = self._code.find_spec(name)
        return spec

    def _places(self) -> list[str]:
        return [path for path in sys.path if f"{path}/".startswith(f"{self._root}/")]


class Outcomes:
    """A pytest plugin that keeps the worst that happened to each test."""

    def __init__(self) -> None:
        self.found: dict[str, str] = {}
        self.messages: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Note a phase of a test; an `xfail` mark makes it `skipped`, whichever way it went."""
        if report.failed:
            outcome = "failed" if report.when == "call" else "error"
        else:
            outcome = "skipped" if report.skipped or hasattr(report, "wasxfail") else "passed"
        if report.when != "call" and outcome == "passed":
            return
        known = self.found.get(report.nodeid, "passed")
        if _WORST_FIRST.index(outcome) <= _WORST_FIRST.index(known):
            self.found[report.nodeid] = outcome
            self.messages[report.nodeid] = _last_line(report)

    def pytest_collectreport(self, report: Any) -> None:
        """Note a file from which no tests can be had."""
        if report.failed:
            self.found[report.nodeid] = "error"
            self.messages[report.nodeid] = _last_line(report)


def _last_line(report: Any) -> str:
    try:
        lines = [line for line in report.longreprtext.splitlines() if line.strip()]
    except Exception:  # noqa: BLE001 - a hostile object in a traceback is only worth a note
        return "(cannot be shown)"
    return str(lines[-1])[:160] if lines else ""


def run(payload: dict[str, Any]) -> Callable[[str], Callable[[], None]]:
    """Run pytest; return what makes the test function that stands for one test id.

    Args:
        payload: `files` (path to base64) of the tests, `spaces` (their packages without an
            `__init__.py`), `names` of the code's modules, `helper` (a module that prepares the
            code's process) and `args` of pytest.
    """
    importlib.import_module("site").main()  # servers start without it
    pytest: Any = importlib.import_module("pytest")
    code = sys.meta_path[-1]
    root = os.path.realpath(tempfile.mkdtemp())
    files = {os.path.join(root, path): base64.b64decode(d) for path, d in payload["files"].items()}
    for path, data in files.items():
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)
    spaces = frozenset(os.path.join(root, space) for space in payload["spaces"])

    def hook(folder: str) -> MemoryFinder:
        if not f"{folder}/".startswith(f"{root}/"):
            raise ImportError(f"{folder} is not a folder of the tests")
        return MemoryFinder(folder, files, spaces)

    sys.path_hooks.insert(0, hook)
    sys.path_importer_cache.clear()
    finder: Any = CodeFirst(code, frozenset(payload["names"]), root)
    sys.meta_path.insert(0, finder)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    os.chdir(root)
    importlib.import_module(payload["helper"])
    outcomes = Outcomes()
    ours = ["-p", "no:cacheprovider", "--assert=plain", f"--rootdir={root}"]
    pytest.main([*ours, f"--confcutdir={root}", *payload["args"]], plugins=[outcomes])
    is_tampered = any(_read(path) != data for path, data in files.items())

    def make(name: str) -> Callable[[], None]:
        def test() -> None:
            outcome = "tampered" if is_tampered else outcomes.found.get(name, "missing")
            message = outcomes.messages.get(name, "")
            assert outcome == "passed", f"{outcome}: {message}"

        return test

    return make


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None

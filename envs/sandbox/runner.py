"""What happens inside the process that runs the untrusted code, last thing before it.

Four kinds of job: `exec` a program, run Python source as `__main__`, `check` test functions, or run
`pytest`.
The interpreter is warm and thrown away afterwards. It shares its memory with the code it runs, so
reports are a matter of good order, not of proof: see "not covered" in the package's docstring.
"""

from __future__ import annotations

import ast
import atexit
import builtins
import contextlib
import functools
import io
import json
import linecache
import os
import random
import re
import resource
import signal
import sys
import traceback
import types
from collections.abc import Callable
from typing import Any, TextIO

from . import pytest_job

MAIN_FILE = "<main>"
TEST_FILE = "<tests>"
MODULE_ENTRY = "<module>"
"""Stands for the tests of a module that does not even parse."""

_MAX_MESSAGE_CHARS = 300
_REHEARSAL = "rehearsal_of_sandbox"
_REHEARSED = "def f(x):\n    return x + 1\n"
_REHEARSED_TESTS = f"""
import {_REHEARSAL}

class A:
    pass

def test_a():
    assert {_REHEARSAL}.f(1) == 2

def test_b():
    assert {_REHEARSAL}.f(1) == 3
"""
_Report = Callable[[dict[str, Any]], None]


def set_limits(limits: dict[str, Any], *, processes: int | None) -> None:
    """Set this process's resource limits; what is asked for never exceeds what we may have.

    Args:
        limits: the fields of `Limits`.
        processes: number of tasks this user may have; None leaves it.
    """
    apply_limits(resource_limits(limits, processes=processes))


def apply_limits(wanted: dict[int, tuple[int, int]]) -> None:
    """Set what `resource_limits` returned, be it in the parent process."""
    for kind, pair in wanted.items():
        resource.setrlimit(kind, pair)


def resource_limits(limits: dict[str, Any], *, processes: int | None) -> dict[int, tuple[int, int]]:
    """Return the soft and hard resource limits that enforce `limits` (see `set_limits`)."""
    memory, cpu_s = int(limits["memory_bytes"]), -int(-limits["cpu_time_s"] // 1)
    wanted = {
        resource.RLIMIT_AS: (memory, memory),
        resource.RLIMIT_CPU: (cpu_s, cpu_s + 1),
        resource.RLIMIT_FSIZE: (int(limits["file_bytes"]),) * 2,
        resource.RLIMIT_CORE: (0, 0),
        resource.RLIMIT_NOFILE: (256, 256),
    }
    if processes is not None:
        wanted[resource.RLIMIT_NPROC] = (processes, processes)
    for kind, (soft, hard) in wanted.items():
        most = _most_allowed(kind)
        if most != resource.RLIM_INFINITY:
            wanted[kind] = (min(soft, most), min(hard, most))
    return wanted


@functools.cache
def _most_allowed(kind: int) -> int:
    return resource.getrlimit(kind)[1]


def warm_up() -> None:
    """Touch, while there is no job yet, the memory that every job will write to."""
    source = "def test_it():\n    assert True\n"
    ast.parse(source)
    exec(compile(source, TEST_FILE, "exec", dont_inherit=True), {})
    json.loads(json.dumps({"name": [source]}))
    _text_stream(1, "surrogateescape")


class Prepared:
    """What a server has made ready for its forks; a fork that finds nothing does it itself."""

    env: dict[str, str] | None = None
    """What `os.environ` holds."""
    streams: tuple[TextIO, TextIO, TextIO] | None = None
    """Objects for `sys.stdin`, `sys.stdout` and `sys.stderr`."""


def rehearse(kind: str, control: int, times: int) -> None:
    """Do a job, several times, in the server whose forks will do jobs, and undo what it changed.

    Code that has run is specialised and caches are filled; a fork that finds this done writes to
    fewer pages, and each page that it writes to first has to be copied. The current folder must be
    writable, and descriptors 0 to 2 of the kinds that programs get.

    Args:
        kind: `check` or `pytest`.
        control: descriptor that reports are written to.
        times: how often.
    """
    Prepared.streams = Prepared.streams or _make_streams()
    kept = (sys.stdin, sys.stdout, sys.stderr, sys.argv, sys.path[:])
    job = {"kind": kind, "argv": [f"test_{_REHEARSAL}.py"], "nonce": "0" * 32, "expected": None}
    files = {f"{_REHEARSAL}.py": _REHEARSED, f"test_{_REHEARSAL}.py": _REHEARSED_TESTS}
    for name, text in files.items():
        with open(name, "w", encoding="utf-8") as file:
            file.write(text)
    try:
        for _ in range(times):
            run_job({**job, "env": dict(os.environ)}, _REHEARSED_TESTS.encode(), control)
            for name in ("check_tests", _REHEARSAL, f"test_{_REHEARSAL}"):
                sys.modules.pop(name, None)
            sys.stdin, sys.stdout, sys.stderr, sys.argv, sys.path[:] = kept
            linecache.clearcache()
    finally:
        for name in files:
            os.unlink(name)
        sys.path_importer_cache.pop(os.getcwd(), None)


def adopt_environment(env: dict[str, str]) -> None:
    """Make `env` the environment of this process and of the jobs of its forks."""
    if env != Prepared.env:
        os.environ.clear()
        os.environ.update(env)
        Prepared.env = dict(env)


def run_job(job: dict[str, Any], blob: bytes, control: int) -> int:
    """Do the job in the current folder and return the exit code (`exec` returns only if it fails).

    Args:
        job: `kind`, `argv`, `env` (None leaves it), `nonce`, `expected`.
        blob: the Python source of the kinds that have one.
        control: descriptor of the private pipe for reports.
    """
    if job["env"] is not None:
        adopt_environment(job["env"])
    if job["kind"] == "exec":
        return _exec(job["argv"])
    sys.stdin, sys.stdout, sys.stderr = Prepared.streams or _make_streams()
    sys.dont_write_bytecode = True
    sys.argv = [MAIN_FILE]
    sys.path.insert(0, os.getcwd())
    if job["kind"] != "pytest":  # there, what pytest has imported comes first, as anywhere
        _forget_shadowed(os.listdir())
    random.seed(0)  # so that code which forgets to seed still does the same in every run
    report = _reporter(control, job["nonce"])
    source = blob.decode("utf-8", "surrogatepass")
    try:
        if job["kind"] == "python":
            return _python(source, report)
        if job["kind"] == "pytest":
            return pytest_job.run(job["argv"], report)
        return _check(source, job["expected"], report)
    finally:
        _finish(with_threads=job["kind"] != "check")


def _exec(argv: list[str]) -> int:
    for number in (signal.SIGPIPE, getattr(signal, "SIGXFSZ", signal.SIGPIPE)):
        signal.signal(number, signal.SIG_DFL)  # the interpreter ignores them; programs expect not
    try:
        os.execvp(argv[0], argv)
    except (FileNotFoundError, NotADirectoryError):
        os.write(2, os.fsencode(f"{argv[0]}: command not found\n"))
        return 127
    except (OSError, ValueError) as error:
        os.write(2, os.fsencode(f"{argv[0]}: cannot be run: {error}\n"))
        return 126


def _make_streams() -> tuple[TextIO, TextIO, TextIO]:
    return (
        open(0, encoding="utf-8", closefd=False),
        _text_stream(1, "surrogateescape"),
        _text_stream(2, "backslashreplace"),
    )


def _text_stream(fd: int, errors: str) -> io.TextIOWrapper:
    # Unbuffered below: closing is never relied on, since the process may end at any point.
    raw = open(fd, "wb", closefd=False)
    return io.TextIOWrapper(raw, encoding="utf-8", errors=errors, line_buffering=fd == 2)


def _forget_shadowed(entries: list[str]) -> None:
    """Drop preloaded modules that a file of the work area would have come before."""
    kept = {"sys", "builtins", "os", "io", "abc", "codecs", "encodings", "stat", "posixpath"}
    for entry in entries:
        name = entry.removesuffix(".py")
        if name in sys.modules and name not in kept:
            for module in [m for m in sys.modules if m == name or m.startswith(f"{name}.")]:
                del sys.modules[module]


def _reporter(control: int, nonce: str) -> _Report:
    # Everything a report needs is bound here, before untrusted code can patch it.
    write, dumps = os.write, json.dumps

    def report(fields: dict[str, Any]) -> None:
        write(control, f"{nonce} {dumps(fields)}\n".encode())

    return report


def _compile(source: str, file: str) -> types.CodeType:
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    code: types.CodeType = compile(source, file, "exec", dont_inherit=True)
    return code


def _python(source: str, report: _Report) -> int:
    module = types.ModuleType("__main__")
    module.__dict__.update(__builtins__=builtins, __file__=MAIN_FILE)
    sys.modules["__main__"] = module
    try:
        exec(_compile(source, MAIN_FILE), module.__dict__)
    except SystemExit as stop:
        return _exit_code(stop)
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is the program's own
        _print_error(error, report)
        return 1
    return 0


def _exit_code(stop: SystemExit) -> int:
    if stop.code is None:
        return 0
    if isinstance(stop.code, int):
        return stop.code & 0xFF
    with contextlib.suppress(Exception):
        sys.stderr.write(f"{stop.code}\n")
    return 1


def _print_error(error: BaseException, report: _Report) -> None:
    """Print the traceback without our own frames."""
    if isinstance(error, MemoryError):
        report({"memory": True})
    frame = error.__traceback__
    while frame is not None and frame.tb_frame.f_code.co_filename == __file__:
        frame = frame.tb_next
    with contextlib.suppress(BaseException):
        traceback.print_exception(type(error), error, frame, file=sys.stderr)


def _check(source: str, expected: list[str] | None, report: _Report) -> int:
    code, problem = None, None
    try:
        code = _compile(source, TEST_FILE)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        problem = error
    try:
        names = expected
        if names is None:
            names = (_plain_names(source) if code else None) or _test_names(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        report({"name": MODULE_ENTRY, "outcome": "error", "message": _describe(error)})
        _print_error(error, report)
        return 1
    report({"tests": names})
    module = types.ModuleType("check_tests")
    module.__dict__.update(__builtins__=builtins, __file__=TEST_FILE)
    sys.modules[module.__name__] = module
    try:
        if code is None:
            raise problem or SyntaxError
        exec(code, module.__dict__)
    except BaseException as error:  # noqa: BLE001 - sys.exit at import is a failure as well
        message = f"import failed: {_describe(error)}"
        for name in names:
            report({"name": name, "outcome": "error", "message": message})
        _print_error(error, report)
        return 1
    num_bad = 0
    for name in names:
        outcome, message = _run_test(module.__dict__.get(name), report)
        report({"name": name, "outcome": outcome, "message": message})
        num_bad += outcome != "passed"
    return 1 if num_bad else 0


_UNCLEAR = re.compile(r"[^\x20-\x7e\n\t]|\"\"\"|'''|\\\n")
_PLAIN_TEST = re.compile(r"^(?:async[ \t]+)?def[ \t]+(test_\w*)", re.MULTILINE)


def _plain_names(source: str) -> list[str] | None:
    """Return what `_test_names` would, for valid source in which no line can be misread.

    Parsing into a tree costs more than running most tests. A `def` in the first column starts a
    top-level function, unless the line begins inside a string or goes on from the one before; where
    that cannot be excluded at a glance, the answer is None.
    """
    if _UNCLEAR.search(source):
        return None
    return list(dict.fromkeys(_PLAIN_TEST.findall(source)))


def _test_names(source: str) -> list[str]:
    """Return the top-level test functions in order: from the text, so that imports cannot add."""
    return list(
        dict.fromkeys(
            node.name
            for node in ast.parse(source).body
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and node.name.startswith("test_")
        )
    )


def _run_test(test: object, report: _Report) -> tuple[str, str]:
    if test is None:
        return "missing", "the module has no such function"
    if not callable(test):
        return "error", f"not a function but {type(test).__name__}"
    try:
        result = test()
    except AssertionError as error:
        return "failed", _describe(error)
    except BaseException as error:  # noqa: BLE001 - sys.exit in a test must not end the check
        if isinstance(error, MemoryError):
            report({"memory": True})
        return "error", _describe(error)
    if hasattr(result, "__await__"):
        return "error", "an async test function; write it as a plain function"
    return "passed", ""


def _describe(error: BaseException) -> str:
    """Say what was raised and at which line of the tests, in one short line."""
    try:
        text = str(error)
    except BaseException as worse:  # noqa: BLE001 - a hostile __str__ is only worth a note
        text = f"(its text raised {type(worse).__name__})"
    parts, frame = [type(error).__name__, text], error.__traceback__
    while frame is not None:
        if frame.tb_frame.f_code.co_filename == TEST_FILE:
            line = linecache.getline(TEST_FILE, frame.tb_lineno).strip()
            parts[2:] = [f"line {frame.tb_lineno}: {line}"]
        frame = frame.tb_next
    return " | ".join(part for part in parts if part)[:_MAX_MESSAGE_CHARS]


def _finish(*, with_threads: bool) -> None:
    """Do what an interpreter does at its end: wait for threads, run exit functions, flush."""
    if with_threads and "threading" in sys.modules:
        with contextlib.suppress(Exception):
            sys.modules["threading"]._shutdown()
    if with_threads:
        with contextlib.suppress(Exception):
            atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()

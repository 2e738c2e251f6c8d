"""What happens inside the process that runs the untrusted code, last thing before it.

Three kinds of job: `exec` a program, run Python source as `__main__`, or `check` test functions.
The interpreter is warm and thrown away afterwards. It shares its memory with the code it runs, so
reports are a matter of good order, not of proof: see "not covered" in the package's docstring.
"""

from __future__ import annotations

import ast
import atexit
import builtins
import contextlib
import io
import json
import linecache
import os
import random
import resource
import signal
import sys
import traceback
import types
from collections.abc import Callable
from typing import Any

MAIN_FILE = "<main>"
TEST_FILE = "<tests>"
MODULE_ENTRY = "<module>"
"""Stands for the tests of a module that does not even parse."""

_MAX_MESSAGE_CHARS = 300
_Report = Callable[[dict[str, Any]], None]


def set_limits(limits: dict[str, Any], *, processes: int | None) -> None:
    """Set this process's resource limits; what is asked for never exceeds what we may have.

    Args:
        limits: the fields of `Limits`.
        processes: number of tasks this user may have; None leaves it.
    """
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
        _, most = resource.getrlimit(kind)
        if most == resource.RLIM_INFINITY:
            most = hard
        resource.setrlimit(kind, (min(soft, most), min(hard, most)))


def warm_up() -> None:
    """Touch, while there is no job yet, the memory that every job will write to."""
    source = "def test_it():\n    assert True\n"
    ast.parse(source)
    exec(compile(source, TEST_FILE, "exec", dont_inherit=True), {})
    json.loads(json.dumps({"name": [source]}))
    _text_stream(1, "surrogateescape")


def run_job(job: dict[str, Any], blob: bytes, control: int) -> int:
    """Do the job in the current folder and return the exit code (`exec` returns only if it fails).

    Args:
        job: `kind`, `argv`, `env`, `nonce`, `expected`.
        blob: the Python source of the kinds that have one.
        control: descriptor of the private pipe for reports.
    """
    os.environ.clear()
    os.environ.update(job["env"])
    if job["kind"] == "exec":
        return _exec(job["argv"])
    sys.stdin = open(0, encoding="utf-8", closefd=False)
    sys.stdout = _text_stream(1, "surrogateescape")
    sys.stderr = _text_stream(2, "backslashreplace")
    sys.dont_write_bytecode = True
    sys.argv = [MAIN_FILE]
    sys.path.insert(0, os.getcwd())
    _forget_shadowed(os.listdir())
    random.seed(0)  # so that code which forgets to seed still does the same in every run
    report = _reporter(control, job["nonce"])
    source = blob.decode("utf-8", "surrogatepass")
    try:
        if job["kind"] == "python":
            return _python(source, report)
        return _check(source, job["expected"], report)
    finally:
        _finish(with_threads=job["kind"] == "python")


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
    try:
        names = expected if expected is not None else _test_names(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        report({"name": MODULE_ENTRY, "outcome": "error", "message": _describe(error)})
        _print_error(error, report)
        return 1
    report({"tests": names})
    module = types.ModuleType("check_tests")
    module.__dict__.update(__builtins__=builtins, __file__=TEST_FILE)
    sys.modules[module.__name__] = module
    try:
        exec(_compile(source, TEST_FILE), module.__dict__)
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

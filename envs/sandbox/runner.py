"""What happens inside the process that runs the untrusted code, last thing before it.

Five kinds of job: `exec` a program, run Python source as `__main__`, `check` test functions, run
`pytest`, or `judge` the work area with test functions that its code cannot reach.
The interpreter is warm and thrown away afterwards. In all but the last it shares its memory with
the code it runs, so that reports are a matter of good order, not of proof; `judge` runs the tests
in one process and the code in another (`judge.py`).
"""

from __future__ import annotations

import ast
import atexit
import builtins
import contextlib
import functools
import importlib
import io
import json
import linecache
import os
import random
import resource
import signal
import sys
import types
from collections.abc import Callable
from typing import Any, TextIO

from . import judge, pytest_job, sources
from .checks import TEST_FILE, compile_source, print_error, run_tests

MAIN_FILE = "<main>"

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
    folder: str | None = None
    """The folder whose modules are imported by source alone; if any, `random` is seeded, too."""


def prepare(folder: str) -> None:
    """Do, in a server, what each of its forks would have to do before a job in `folder`.

    The folder is not put on `sys.path`: the server itself must import nothing from there.
    """
    sources.believe_no_bytecode(folder)
    sys.path_importer_cache[folder] = sys.path_hooks[0](folder)
    random.seed(0)
    Prepared.folder = folder


def rehearse(kind: str, control: int, times: int) -> None:
    """Do a job, several times, in the server whose forks will do jobs, and undo what it changed.

    Code that has run is specialised and caches are filled; a fork that finds this done writes to
    fewer pages, and each page that it writes to first has to be copied. The current folder must be
    writable, and descriptors 0 to 2 of the kinds that programs get.

    Args:
        kind: `check` (and with it `judge`) or `pytest`.
        control: descriptor that reports are written to.
        times: how often.
    """
    Prepared.streams = Prepared.streams or _make_streams()
    kept = (sys.stdin, sys.stdout, sys.stderr, sys.argv, sys.path[:], sys.path_hooks[:])
    argv = [f"test_{_REHEARSAL}.py"]
    job: dict[str, Any] = {"kind": kind, "argv": argv, "nonce": "0" * 32, "expected": None}
    job["is_rehearsal"] = True  # the end of an interpreter must not come to the server
    files = {f"{_REHEARSAL}.py": _REHEARSED, f"test_{_REHEARSAL}.py": _REHEARSED_TESTS}
    for name, text in files.items():
        with open(name, "w", encoding="utf-8") as file:
            file.write(text)
    try:
        for _ in range(times):
            run_job({**job, "env": dict(os.environ)}, _REHEARSED_TESTS.encode(), control)
            if kind == "check":
                _rehearse_judge(control)
            for name in ("check_tests", _REHEARSAL, f"test_{_REHEARSAL}"):
                sys.modules.pop(name, None)
            sys.stdin, sys.stdout, sys.stderr, sys.argv, sys.path[:], sys.path_hooks[:] = kept
            linecache.clearcache()
    finally:
        for name in files:
            os.unlink(name)
        sys.path_importer_cache.pop(os.getcwd(), None)


def _rehearse_judge(control: int) -> None:
    module = sys.modules.pop(_REHEARSAL)
    sys.path.remove(os.getcwd())  # so that the tests look for it on the other side
    judge.rehearse(_REHEARSED_TESTS, {_REHEARSAL: module}, _reporter(control, "0" * 32), _flush)


def adopt_environment(env: dict[str, str]) -> None:
    """Make `env` the environment of this process and of the jobs of its forks."""
    if env != Prepared.env:
        os.environ.clear()
        os.environ.update(env)
        Prepared.env = dict(env)


def run_job(job: dict[str, Any], blob: bytes, control: int) -> int:
    """Do the job in the current folder and return the exit code (`exec` returns only if it fails).

    Args:
        job: `kind`, `argv`, `env` (None leaves it), `nonce`, `expected`, and `is_rehearsal` if the
            process goes on afterwards.
        blob: the Python source of the kinds that have one.
        control: descriptor of the private pipe for reports.
    """
    if job["env"] is not None:
        adopt_environment(job["env"])
    if job["kind"] == "exec":
        return _exec(job["argv"])
    _start()
    _see_area(is_first=job["kind"] != "pytest")
    report = _reporter(control, job["nonce"])
    source = blob.decode("utf-8", "surrogatepass")
    try:
        if job["kind"] == "python":
            return _python(source, report)
        if job["kind"] == "pytest":
            _distrust_rewritten_tests()
            return pytest_job.run(job["argv"], report)
        return run_tests(source, job["expected"], report)
    finally:
        _finish(with_threads=job["kind"] != "check" and not job.get("is_rehearsal"))


def split_for_judge(job: dict[str, Any], become_code: Callable[[], None]) -> judge.Split:
    """Divide this process into the tests (it returns) and the code under test (it does not).

    Args:
        job: `env` (None leaves it).
        become_code: what the new process does before any code of the work area runs in it.
    """
    if job["env"] is not None:
        adopt_environment(job["env"])
    _start()

    def become() -> None:
        become_code()
        _see_area(is_first=True)

    return judge.Split(become, _flush)


def run_judge(tests: judge.Split, secret: bytes, control: int) -> int:
    """Run the tests and return the exit code.

    Args:
        tests: what `split_for_judge` has returned.
        secret: see `judge.pack_secret`; the process must not have read it before.
        control: descriptor of the private pipe for reports.
    """
    nonce, expected, source = judge.unpack_secret(secret)
    return tests.run(source, expected, _reporter(control, nonce))


def _start() -> None:
    """Make this interpreter what every program finds."""
    sys.stdin, sys.stdout, sys.stderr = Prepared.streams or _make_streams()
    sys.dont_write_bytecode = True
    sys.argv = [MAIN_FILE]
    if Prepared.folder is None:
        random.seed(0)  # so that code which forgets to seed still does the same in every run


def _see_area(*, is_first: bool) -> None:
    """Let modules of the current folder be imported, before loaded ones if `is_first`."""
    folder = os.getcwd()
    if folder != Prepared.folder:
        sources.believe_no_bytecode(folder)
    sys.path.insert(0, folder)
    if is_first:  # not for pytest: what that has imported comes first, as anywhere
        _forget_shadowed(os.listdir())


def _distrust_rewritten_tests() -> None:
    """Have pytest compile its test files anew: what it finds in a cache may have been planted."""
    pytest_job.load()
    rewrite = importlib.import_module("_pytest.assertion.rewrite")
    if hasattr(rewrite, "_read_pyc"):
        vars(rewrite)["_read_pyc"] = lambda *arguments, **options: None


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


def _python(source: str, report: _Report) -> int:
    module = types.ModuleType("__main__")
    module.__dict__.update(__builtins__=builtins, __file__=MAIN_FILE)
    sys.modules["__main__"] = module
    try:
        exec(compile_source(source, MAIN_FILE), module.__dict__)
    except SystemExit as stop:
        return _exit_code(stop)
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is the program's own
        print_error(error, report)
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


def _finish(*, with_threads: bool) -> None:
    """Do what an interpreter does at its end: wait for threads, run exit functions, flush."""
    if with_threads and "threading" in sys.modules:
        with contextlib.suppress(Exception):
            sys.modules["threading"]._shutdown()
    if with_threads:
        with contextlib.suppress(Exception):
            atexit._run_exitfuncs()
    _flush()


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()

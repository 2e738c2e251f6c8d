"""What is measured: ways to run the same small check, each behind the same two methods.

A subject that cannot be had here raises `NotHere` with the reason when it is entered; it is a row
of the table all the same.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import importlib.util
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...envs.sandbox import NamespaceSandbox
from ...errors import SandboxUnavailableError

SOLUTION = "def add(a, b):\n    return a + b\n"
TESTS = """
from solution import add

def test_positive():
    assert add(1, 2) == 3

def test_negative():
    assert add(-1, 1) == 0
"""
# The same code for programs that are started with it as their only argument.
PROGRAM = (
    f"{SOLUTION}{TESTS.replace('from solution import add', '')}test_positive()\ntest_negative()\n"
)
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_DOCKER_MEMORY = "512m"


class NotHere(Exception):
    """This subject cannot be measured on this machine; the message says why."""


@dataclass(slots=True, kw_only=True)
class Subject:
    """A way to run the check.

    `run_many` returns the seconds that each of so many executions took. `cpu_s` returns the CPU
    seconds of this process and of all that it has made, so far; None where that cannot be known.
    """

    run_many: Callable[[int], list[float]]
    cpu_s: Callable[[], float | None]


def repeat(run: Callable[[], object]) -> Callable[[int], list[float]]:
    """Return a function that times so many calls of `run`."""

    def run_many(num: int) -> list[float]:
        times_s = []
        for _ in range(num):
            start_s = time.perf_counter()
            run()
            times_s.append(time.perf_counter() - start_s)
        return times_s

    return run_many


def _expect(is_ok: bool, what: object) -> None:
    if not is_ok:
        raise RuntimeError(f"an execution did not pass: {what}")


@contextlib.contextmanager
def namespaces(kind: str) -> Iterator[Subject]:
    """`check`, `pytest` or `exec` of the namespaces sandbox."""
    with NamespaceSandbox() as sandbox:
        sandbox.write_file("solution.py", SOLUTION.encode())
        if kind == "pytest":
            sandbox.write_file("test_solution.py", TESTS.encode())

        def run() -> None:
            if kind == "check":
                result = sandbox.check(TESTS)
                _expect(result.is_ok and result.num_total == 2, result)
            elif kind == "pytest":
                result = sandbox.pytest(["-q"])
                _expect(result.is_ok and result.num_total == 2, result)
            else:
                ended = sandbox.exec(["python3", "-c", PROGRAM])
                _expect(ended.is_ok, ended)

        try:
            run()
        except SandboxUnavailableError as cause:
            raise NotHere(str(cause)) from cause

        def cpu_s() -> float:
            pid = sandbox.worker_pid
            return time.process_time() + (_tree_cpu_s(pid) if pid else 0.0)

        yield Subject(run_many=repeat(run), cpu_s=cpu_s)


@contextlib.contextmanager
def bare(kind: str) -> Iterator[Subject]:
    """Forks of a warm interpreter without protection: see `bare.py`."""
    if kind == "pytest" and importlib.util.find_spec("pytest") is None:
        raise NotHere("`pytest` is not installed")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "solution.py").write_text(SOLUTION)
        Path(folder, "test_solution.py").write_text(TESTS)
        script = str(Path(__file__).with_name("bare.py"))
        flags = ["-S", "-s"] if kind == "check" else []
        process = subprocess.Popen(
            [sys.executable, "-B", *flags, script, kind, folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        used = [0.0]

        def run_many(num: int) -> list[float]:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(f"{num}\n")
            process.stdin.flush()
            times_s, cpu_s = json.loads(process.stdout.readline())
            used[0] += cpu_s
            return list(times_s)

        with process:
            run_many(1)
            yield Subject(run_many=run_many, cpu_s=lambda: used[0])


@contextlib.contextmanager
def program(*before: str) -> Iterator[Subject]:
    """A fresh interpreter as a subprocess, behind the words of `before` if there are any."""
    if before and shutil.which(before[0]) is None:
        raise NotHere(f"`{before[0]}` is not installed")
    argv = [*before, sys.executable, "-c", PROGRAM]

    def run() -> None:
        done = subprocess.run(argv, capture_output=True, check=False)
        _expect(done.returncode == 0, done.stderr.decode(errors="replace"))

    try:
        run()
    except RuntimeError as cause:
        raise NotHere(str(cause).strip()) from cause
    # What runs in another PID namespace is collected there, and does not count for the caller.
    yield Subject(run_many=repeat(run), cpu_s=(lambda: None) if before else _own_cpu_s)


BWRAP = (
    *("bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"),
    *("--ro-bind", sys.prefix, sys.prefix),  # an interpreter of a checkout below /tmp
    *("--unshare-all", "--die-with-parent", "--new-session"),
)


@contextlib.contextmanager
def docker(kind: str, image: str) -> Iterator[Subject]:
    """`exec` in a container that runs already, or `run` with a new one for each execution."""
    try:
        client = importlib.import_module("docker").from_env()
        client.ping()
        client.images.get(image)
    except Exception as cause:
        raise NotHere(f"no docker daemon, or no image `{image}`: {cause}") from cause
    options = {"network_mode": "none", "mem_limit": _DOCKER_MEMORY}
    argv = ["python3", "-c", PROGRAM]
    with contextlib.ExitStack() as stack:
        stack.callback(client.close)
        if kind == "exec":
            container = client.containers.run(
                image, ["sleep", "86400"], detach=True, init=True, **options
            )
            stack.callback(container.remove, force=True)

        def run() -> None:
            if kind == "exec":
                code, output = container.exec_run(argv)
                _expect(code == 0, output)
            else:
                client.containers.run(image, argv, remove=True, **options)

        run()
        # The work is the daemon's and the containers', which are not below this process.
        yield Subject(run_many=repeat(run), cpu_s=lambda: None)


@contextlib.contextmanager
def swe_rex() -> Iterator[Subject]:
    """The local runtime of swe-rex: no isolation."""
    if importlib.util.find_spec("swerex") is None:
        raise NotHere("`swe-rex` is not installed")
    command = importlib.import_module("swerex.runtime.abstract").Command
    runtime = importlib.import_module("swerex.runtime.local").LocalRuntime()
    with asyncio.Runner() as runner:

        def run() -> None:
            done = runner.run(runtime.execute(command(command=[sys.executable, "-c", PROGRAM])))
            _expect(done.exit_code == 0, done)

        run()
        yield Subject(run_many=repeat(run), cpu_s=_own_cpu_s)


@contextlib.contextmanager
def inspect_ai() -> Iterator[Subject]:
    """The local sandbox of inspect-ai: no isolation."""
    if importlib.util.find_spec("inspect_ai") is None:
        raise NotHere("`inspect-ai` is not installed")
    local = importlib.import_module("inspect_ai.util._sandbox.local")
    environment = local.LocalSandboxEnvironment()
    with asyncio.Runner() as runner:

        def run() -> None:
            done = runner.run(environment.exec([sys.executable, "-c", PROGRAM]))
            _expect(done.success, done)

        run()
        yield Subject(run_many=repeat(run), cpu_s=_own_cpu_s)


def _own_cpu_s() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def _tree_cpu_s(pid: int) -> float:
    """CPU seconds of a process, of those below it, and of those that they have collected."""
    total_s, waiting = 0.0, [pid]
    while waiting:
        current = waiting.pop()
        with contextlib.suppress(OSError):
            folder = Path("/proc", str(current))
            fields: list[Any] = (folder / "stat").read_bytes().rpartition(b")")[2].split()
            total_s += sum(map(int, fields[11:15])) / _TICKS_PER_S
            waiting += map(int, (folder / "task" / str(current) / "children").read_text().split())
    return total_s

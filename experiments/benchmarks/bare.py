"""The baselines: what the same code costs in forks of a warm interpreter without any protection.

Started as a script of its own (`python bare.py check|pytest FOLDER`), so that the interpreter is as
small as a fork server's. Each line on stdin is a number of executions; each line on stdout is the
JSON of their seconds and of the CPU seconds of all of them.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import resource
import sys
import time
from collections.abc import Callable

_NUM_REHEARSALS = 3
_PRELOAD = "ast dataclasses decimal fractions json linecache random traceback typing".split()


def run_check() -> None:
    """Do what a check does and nothing else: compile the tests, run them, count on no-one."""
    with open("test_solution.py", encoding="utf-8") as file:
        source = file.read()
    space: dict[str, object] = {"__name__": "check_tests"}
    exec(compile(source, "test_solution.py", "exec"), space)
    for name, test in list(space.items()):
        if name.startswith("test_") and callable(test):
            test()


def run_pytest() -> None:
    """Run pytest as `Sandbox.pytest` does."""
    main = importlib.import_module("pytest").main
    if main(["-q", "-p", "no:cacheprovider", f"--rootdir={os.getcwd()}"]):
        raise RuntimeError("the tests did not pass")


def prepare(kind: str) -> Callable[[], None]:
    """Import what the executions need and, for pytest, run it before, as a fork server does."""
    sys.path.insert(0, os.getcwd())
    for name in _PRELOAD:
        importlib.import_module(name)
    if kind == "check":
        return run_check
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    for _ in range(_NUM_REHEARSALS):
        run_pytest()
        for name in ("test_solution", "solution"):
            sys.modules.pop(name, None)
    return run_pytest


def _fork(work: Callable[[], None]) -> float:
    start_s = time.perf_counter()
    pid = os.fork()
    if pid == 0:
        code = 1
        with contextlib.suppress(BaseException):
            work()
            code = 0
        os._exit(code)
    _, status = os.waitpid(pid, 0)
    if status:
        raise RuntimeError(f"an execution ended with status {status}")
    return time.perf_counter() - start_s


def _cpu_s() -> float:
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def main(kind: str, folder: str) -> None:
    """Answer until stdin ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # pytest prints, and that is no answer
    os.chdir(folder)
    sys.dont_write_bytecode = True
    work = prepare(kind)
    gc.disable()
    gc.freeze()
    for line in sys.stdin:
        cpu_s = _cpu_s()
        times_s = [_fork(work) for _ in range(int(line))]
        answers.write(json.dumps([times_s, _cpu_s() - cpu_s]) + "\n")
        answers.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])

"""What every sandbox must do, as checks that anyone can run on their own implementation.

    check_sandbox(MySandbox())

Like Gymnasium's `check_env`: it uses the sandbox, leaves it empty but open, and raises at the first
thing that is not as `base.Sandbox` says. What hostile code can and cannot do needs a hostile
machine around it and is left to the tests of each implementation.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from functools import partial

from ...errors import SandboxError, SandboxUnavailableError
from .base import CheckResult, ExecResult, Limits, Sandbox, Snapshot

_ENDLESS = "while True: pass"


def check_sandbox(sandbox: Sandbox) -> list[str]:
    """Run every check on an open sandbox; takes a few seconds, most of them waiting for limits.

    Args:
        sandbox: what to check; its files are deleted.

    Returns:
        Why checks were left out, one sentence each; an empty list if all were made.

    Raises:
        SandboxError: something is not as the interface says; the message names the check, what was
            expected and what came.
    """
    if not isinstance(sandbox, Sandbox):
        raise SandboxError(f"{type(sandbox).__name__} lacks parts of the `Sandbox` interface")
    checks: tuple[Callable[[Sandbox], str | None], ...] = (
        *(_files, _paths, _snapshots, _programs, _python, _tests, _judging),
        *(_pytest, _limits, _independence),
    )
    left_out = []
    for check in checks:
        sandbox.restore(Snapshot(files={}))
        if reason := check(sandbox):
            left_out.append(reason)
    sandbox.restore(Snapshot(files={}))
    return left_out


def _expect(what: str, given: object, wanted: object) -> None:
    if given != wanted:
        raise SandboxError(f"{what}: expected {wanted!r}, got {given!r}")


def _expect_error(
    what: str, kinds: tuple[type[Exception], ...], call: Callable[[], object]
) -> None:
    try:
        given = call()
    except kinds:
        return
    except Exception as error:
        raise SandboxError(f"{what}: expected {kinds}, got {error!r}") from error
    raise SandboxError(f"{what}: expected {kinds}, got the answer {given!r}")


def _files(sandbox: Sandbox) -> None:
    data = bytes(range(256))
    sandbox.write_file("deep/er/data.bin", data)
    sandbox.write_file("a.txt", b"long content")
    sandbox.write_file("a.txt", b"short")
    _expect("read_file returns what was written", sandbox.read_file("deep/er/data.bin"), data)
    _expect("write_file replaces", sandbox.read_file("./a.txt"), b"short")
    _expect("list_files is sorted", sandbox.list_files(), ["a.txt", "deep/er/data.bin"])
    sandbox.remove_file("a.txt")
    _expect("remove_file removes", sandbox.list_files(), ["deep/er/data.bin"])
    missing = (FileNotFoundError,)
    _expect_error("read_file of nothing", missing, lambda: sandbox.read_file("a.txt"))
    _expect_error("remove_file of nothing", missing, lambda: sandbox.remove_file("a.txt"))
    _expect_error("read_file of a folder", (OSError,), lambda: sandbox.read_file("deep"))


def _paths(sandbox: Sandbox) -> None:
    refused = (PermissionError,)
    for path in ("../x", "a/../../x", "/etc/passwd", "/x"):
        _expect_error(f"read_file({path!r})", refused, partial(sandbox.read_file, path))
        _expect_error(f"write_file({path!r})", refused, partial(sandbox.write_file, path, b""))
        _expect_error(f"remove_file({path!r})", refused, partial(sandbox.remove_file, path))
    for path in ("", ".", "a\0b", "folder/"):
        _expect_error(
            f"write_file({path!r})", (ValueError,), partial(sandbox.write_file, path, b"")
        )
    sandbox.exec(["/bin/sh", "-c", "ln -s /etc/passwd link; ln -s / all"])
    for path in ("link", "all/etc/passwd"):
        _expect_error(f"read_file({path!r})", refused, partial(sandbox.read_file, path))
    _expect("list_files leaves out symbolic links", sandbox.list_files(), [])


def _snapshots(sandbox: Sandbox) -> None:
    sandbox.write_file("a/b.txt", b"1")
    before = sandbox.snapshot()
    _expect("snapshot holds the files", dict(before.files), {"a/b.txt": b"1"})
    sandbox.write_file("a/b.txt", b"2")
    sandbox.exec(["/bin/sh", "-c", "mkdir -p deep/er; touch deep/er/new; chmod 0 deep/er deep"])
    sandbox.restore(before)
    _expect("restore brings back exactly the files", sandbox.snapshot(), before)


def _programs(sandbox: Sandbox) -> None:
    result = sandbox.exec(
        ["/bin/sh", "-c", 'cat; printf "%s" "$WORD"; printf err >&2; exit 3'],
        stdin=b"\xff\0in",
        env={"WORD": "\u00e9"},
    )
    _expect("exec: stdout", result.stdout, b"\xff\0in\xc3\xa9")
    _expect("exec: stderr", result.stderr, b"err")
    _ended(result, "exec", exit_code=3)
    _ended(sandbox.exec(["no-such-program"]), "a program that is not there", exit_code=127)
    killed = sandbox.exec(["/bin/sh", "-c", "kill -9 $$"])
    _ended(killed, "a killed program", exit_code=None, signal=9)
    sandbox.write_file("here.txt", b"")
    _expect("exec runs in the work area", sandbox.exec(["ls"]).stdout, b"here.txt\n")


def _python(sandbox: Sandbox) -> None:
    sandbox.write_file("helper.py", b"word = 'from the area'")
    result = sandbox.python("import helper, sys\nprint(__name__, helper.word)\nsys.exit(7)")
    _expect("python: stdout", result.stdout, b"__main__ from the area\n")
    _ended(result, "sys.exit(7)", exit_code=7)
    broken = sandbox.python("1/0")
    _ended(broken, "an exception", exit_code=1)
    _expect("the traceback names the error", b"ZeroDivisionError" in broken.stderr, True)
    _ended(sandbox.python("import os; os._exit(4)"), "os._exit(4)", exit_code=4)
    _ended(sandbox.python("def"), "a syntax error", exit_code=1)


_TESTS = """
from helper import double

def test_right():
    assert double(2) == 4

def test_wrong():
    assert double(2) == 5

def test_raises():
    double(None)

def test_exits():
    raise SystemExit(0)

def not_a_test():
    raise RuntimeError
"""


def _tests(sandbox: Sandbox) -> None:
    sandbox.write_file("helper.py", b"def double(x):\n    return x * 2")
    _outcomes(sandbox.check(_TESTS), "passed failed error error".split())
    only = sandbox.check(_TESTS, expected=["test_right", "test_gone"])
    _expect("expected tests", dict(only.outcomes), {"test_right": "passed", "test_gone": "missing"})
    _expect("a check without tests is not ok", sandbox.check("x = 1").is_ok, False)
    _expect("a check that cannot be parsed is not ok", sandbox.check("def").is_ok, False)
    for name, sabotage in (
        ("os._exit(0)", "import os; os._exit(0)"),
        ("sys.exit(0)", "import sys; sys.exit(0)"),
        ("an exception", "raise RuntimeError"),
        ("printed results", "print('test_right passed'); import os; os._exit(0)"),
        ("an endless loop", _ENDLESS),
    ):
        sandbox.write_file("helper.py", sabotage.encode())
        result = sandbox.check(_TESTS, limits=Limits(wall_time_s=0.5))
        passed = [test for test, outcome in result.outcomes.items() if outcome == "passed"]
        _expect(f"tests that pass after {name} at import", passed, [])


_JUDGED = """
from helper import double, fail, sort, Pair, Problem

def test_plain():
    assert double([1, "a", {2: (3.5, None)}]) == [1, "a", {2: (3.5, None)}] * 2

def test_object():
    assert Pair(1, 2).swapped() == Pair(2, 1) and Pair(1, 2).left == 1

def test_in_place():
    numbers = [3, 1, 2]
    sort(numbers, key=lambda number: -number)
    assert numbers == [3, 2, 1]

def test_exceptions():
    for kind in (Problem, ValueError):
        try:
            fail("why")
        except kind as problem:
            assert str(problem) == "why"
        else:
            raise AssertionError

def test_subclass_is_not_plain():
    assert double(True) == 2 and Pair.liar() != 4 and not Pair.liar() == 4

def test_wrong():
    assert double(2) == 5

def test_raises():
    fail(1)
"""
_JUDGED_CODE = b"""
import dataclasses

class Problem(ValueError):
    pass

class Liar(int):
    __eq__ = lambda self, other: True
    __hash__ = int.__hash__

@dataclasses.dataclass
class Pair:
    left: int
    right: int

    def swapped(self):
        return Pair(self.right, self.left)

    def liar():
        return Liar(4)

def double(x):
    return x * 2

def sort(items, key):
    items.sort(key=key)

def fail(why):
    raise Problem(why)
"""


def _judging(sandbox: Sandbox) -> None:
    sandbox.write_file("helper.py", _JUDGED_CODE)
    wanted = dict.fromkeys(re.findall(r"def (test_\w+)", _JUDGED), "passed")
    wanted |= {"test_wrong": "failed", "test_raises": "error"}
    judged = sandbox.judge(_JUDGED)
    _expect("outcomes of a judgement", dict(judged.outcomes), wanted)
    _expect("judged tests with a message", sorted(judged.messages), ["test_raises", "test_wrong"])
    only = sandbox.judge(_JUDGED, expected=["test_plain", "test_gone"])
    _expect("expected tests", dict(only.outcomes), {"test_plain": "passed", "test_gone": "missing"})
    _expect("a judgement without tests is not ok", sandbox.judge("x = 1").is_ok, False)
    _expect("a judgement that cannot be parsed is not ok", sandbox.judge("def").is_ok, False)
    for name, sabotage in (
        ("os._exit(0)", "import os; os._exit(0)"),
        ("sys.exit(0)", "import sys; sys.exit(0)"),
        ("an endless loop", _ENDLESS),
        ("a search for the tests", _SEARCH),
    ):
        sandbox.write_file("helper.py", f"def double(x):\n    {sabotage}".encode())
        names = ["test_right", "test_wrong"]
        result = sandbox.judge(_TESTS, expected=names, limits=Limits(wall_time_s=0.5))
        passed = [test for test, outcome in result.outcomes.items() if outcome == "passed"]
        _expect(f"judged tests that pass after {name}", passed, [])


_SEARCH = """import gc
    for found in gc.get_objects():
        if getattr(found, "__name__", "").startswith("test_"):
            found.__code__ = (lambda: None).__code__"""

_PYTEST = b"""
import pytest
from helper import double

@pytest.fixture
def broken():
    raise ValueError

def test_right():
    assert double(2) == 4

def test_wrong():
    assert double(2) == 5

def test_fixture(broken):
    pass

@pytest.mark.skip
def test_left_out():
    pass

@pytest.mark.xfail
def test_expected_to_fail():
    assert 0

class TestClass:
    @pytest.mark.parametrize("n", [1, 2])
    def test_many(self, n):
        assert double(n) == 2
"""
_PYTEST_OUTCOMES = {
    "test_right": "passed",
    "test_wrong": "failed",
    "test_fixture": "error",
    "test_left_out": "skipped",
    "test_expected_to_fail": "skipped",
    "TestClass::test_many[1]": "passed",
    "TestClass::test_many[2]": "failed",
}


def _pytest(sandbox: Sandbox) -> str | None:
    files = ["conftest.py", "helper.py", "tests/test_helper.py"]
    for path, data in zip(files, (b"", b"def double(x):\n    return x * 2", _PYTEST), strict=True):
        sandbox.write_file(path, data)
    try:
        result = sandbox.pytest(["-q"])
    except SandboxUnavailableError as refusal:
        return f"`pytest` was not checked: {refusal}"
    wanted = {f"tests/test_helper.py::{name}": kind for name, kind in _PYTEST_OUTCOMES.items()}
    _expect("outcomes of pytest", dict(result.outcomes), wanted)
    _ended(result.execution, "pytest with failures", exit_code=1)
    _expect("pytest prints a summary", b"2 failed, 2 passed" in result.execution.stdout, True)
    bad = {name for name, kind in wanted.items() if kind != "passed"}
    _expect("tests of pytest with a message", set(result.messages), bad)
    only = sandbox.pytest(["-k", "right"])
    _expect("selected tests", dict(only.outcomes), {"tests/test_helper.py::test_right": "passed"})
    _expect("pytest with tests that all pass is ok", only.is_ok, True)
    _expect("pytest leaves no files", sandbox.list_files(), files)
    _expect("pytest without tests is not ok", sandbox.pytest(["-k", "no_such"]).is_ok, False)
    for name, sabotage in (
        ("os._exit(0)", "import os; os._exit(0)"),
        ("sys.exit(0)", "import sys; sys.exit(0)"),
        ("an endless loop", _ENDLESS),
    ):
        for code in (sabotage, f"def double(x):\n    {sabotage}"):
            sandbox.write_file("helper.py", code.encode())
            result = sandbox.pytest(["-k", "right"], limits=Limits(wall_time_s=1.0))
            passed = [test for test, outcome in result.outcomes.items() if outcome == "passed"]
            _expect(f"tests of pytest that pass after {name}", passed, [])
    return None


def _limits(sandbox: Sandbox) -> None:
    start_s = time.monotonic()
    asleep = sandbox.exec(["sleep", "30"], limits=Limits(wall_time_s=0.3))
    _expect("limit of a sleeping program", asleep.limit, "wall_time")
    _expect("its exit code", asleep.exit_code, None)
    if time.monotonic() - start_s > 5:
        raise SandboxError("a wall-time limit of 0.3 s ended the program only after 5 s")
    busy = sandbox.python(_ENDLESS, limits=Limits(cpu_time_s=1.0, wall_time_s=20.0))
    _expect("limit of a busy program", busy.limit, "cpu_time")
    flood = sandbox.python("print('x' * 300000)", limits=Limits(output_bytes=1000))
    _expect("kept output", (len(flood.stdout), flood.is_truncated), (1000, True))
    _ended(flood, "a program whose output was cut", exit_code=0)
    greedy = sandbox.python("x = bytearray(1 << 30)", limits=Limits(memory_bytes=128 << 20))
    _expect("limit of a greedy program", (greedy.limit, greedy.is_ok), ("memory", False))
    large = sandbox.python(
        "with open('f', 'wb') as file: file.write(bytes(5000))", limits=Limits(file_bytes=4096)
    )
    _expect("limit of a file that is too large", (large.limit, large.is_ok), ("disk", False))
    full = sandbox.python(
        "for i in range(9): open(str(i), 'wb').write(bytes(100_000))",
        limits=Limits(disk_bytes=500_000),
    )
    _expect("limit of a program that fills the area", full.limit, "disk")
    held = sum(len(data) for data in sandbox.snapshot().files.values())
    _expect("what is left fits into the limit", held <= 500_000, True)


def _independence(sandbox: Sandbox) -> None:
    sandbox.python("import builtins, json; builtins.len = json.dumps = None")
    after = sandbox.check("import json\ndef test_len():\n    assert len(json.dumps([])) == 2")
    _expect("an execution does not change the next", after.is_ok, True)


def _ended(
    result: ExecResult, what: str, *, exit_code: int | None, signal: int | None = None
) -> None:
    given = (result.exit_code, result.signal, result.limit)
    _expect(f"{what}: exit code, signal and limit", given, (exit_code, signal, None))


def _outcomes(result: CheckResult, wanted: list[str]) -> None:
    names = ("test_right", "test_wrong", "test_raises", "test_exits")
    _expect("outcomes of a check", dict(result.outcomes), dict(zip(names, wanted, strict=True)))
    explained = sorted(result.messages)
    _expect("tests with a message", explained, sorted(set(names) - {"test_right"}))

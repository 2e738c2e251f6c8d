"""What both sandboxes must do; what only the isolating one does is in `test_namespaces.py`."""

from __future__ import annotations

import ast
import multiprocessing
import os
import threading
import warnings
from collections.abc import Iterator

import pytest

from sim2live.envs.sandbox import (
    Limits,
    Sandbox,
    Snapshot,
    check_sandbox,
    isolation_report,
    make_sandbox,
)
from sim2live.envs.sandbox.namespaces import missing_isolation
from sim2live.errors import ConfigError, SandboxError


def _make(name: str) -> Sandbox:
    if name == "namespaces" and (missing := missing_isolation()):
        pytest.skip(f"no isolation on this machine: {missing}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # `process` says that it contains nothing
        return make_sandbox(name)


@pytest.fixture(scope="module", params=["namespaces", "process"])
def shared(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    made = _make(request.param)
    yield made
    made.close()


@pytest.fixture
def sandbox(shared: Sandbox) -> Sandbox:
    shared.restore(Snapshot(files={}))
    return shared


def test_conformance(sandbox: Sandbox) -> None:
    assert check_sandbox(sandbox) == []


def test_messages_quote_the_line_of_the_test(sandbox: Sandbox) -> None:
    result = sandbox.check("def test_sum():\n    x = 2\n    assert x + 2 == 5\n")
    assert result.messages["test_sum"] == "AssertionError | line 3: assert x + 2 == 5"


def test_an_import_cannot_add_tests(sandbox: Sandbox) -> None:
    sandbox.write_file("helper.py", b"def test_free(): pass\ndef f(): return 1")
    result = sandbox.check("from helper import *\ndef test_f():\n    assert f() == 2")
    assert dict(result.outcomes) == {"test_f": "failed"}


def test_a_test_that_cannot_run_is_an_error(sandbox: Sandbox) -> None:
    source = "async def test_a(): pass\ndef test_b(x): pass\ntest_c = 3"
    result = sandbox.check(source, expected=["test_a", "test_b", "test_c"])
    assert set(result.outcomes.values()) == {"error"}


def test_an_early_end_is_missing_and_what_came_before_counts(sandbox: Sandbox) -> None:
    source = "import os\ndef test_a(): pass\ndef test_b(): os._exit(0)\ndef test_c(): pass"
    outcomes = dict(sandbox.check(source).outcomes)
    assert outcomes == {"test_a": "passed", "test_b": "missing", "test_c": "missing"}


def test_pytest_counts_what_never_ran(sandbox: Sandbox) -> None:
    sandbox.write_file(
        "test_it.py",
        b"import os, pytest\n"
        b"def test_a(): pass\n"
        b"def test_b(): pytest.exit('enough', returncode=0)\n"
        b"def test_c(): pass\n",
    )
    result = sandbox.pytest()
    assert dict(result.outcomes) == {
        "test_it.py::test_a": "passed",
        "test_it.py::test_b": "missing",
        "test_it.py::test_c": "missing",
    }
    assert result.execution.exit_code == 0
    assert not result.is_ok


def test_pytest_names_files_that_cannot_be_collected(sandbox: Sandbox) -> None:
    sandbox.write_file("test_broken.py", b"import not_there\n")
    sandbox.write_file(
        "test_idle.py", b"import pytest\npytest.skip('idle', allow_module_level=True)"
    )
    sandbox.write_file("test_fine.py", b"def test_a(): pass\n")
    result = sandbox.pytest(["--continue-on-collection-errors"])
    assert dict(result.outcomes) == {
        "test_broken.py": "error",
        "test_idle.py": "skipped",
        "test_fine.py::test_a": "passed",
    }
    assert "not_there" in result.messages["test_broken.py"]
    assert "idle" in result.messages["test_idle.py"]


def test_a_fixture_that_fails_afterwards_makes_an_error(sandbox: Sandbox) -> None:
    sandbox.write_file(
        "test_it.py",
        b"import pytest\n@pytest.fixture\ndef f():\n    yield\n    raise ValueError(3)\n"
        b"def test_a(f): pass\n"
        b"@pytest.mark.xfail\ndef test_b(): pass\n"
        b"@pytest.mark.xfail(strict=True)\ndef test_c(): pass\n",
    )
    result = sandbox.pytest()
    assert list(result.outcomes.values()) == ["error", "passed", "failed"]
    assert result.messages["test_it.py::test_a"] == "ValueError: 3 | test_it.py:5"


def test_pytest_that_ends_while_collecting_is_missing(sandbox: Sandbox) -> None:
    sandbox.write_file("conftest.py", b"import os\nprint('1 passed')\nos._exit(0)")
    sandbox.write_file("test_it.py", b"def test_a(): pass\n")
    result = sandbox.pytest()
    assert dict(result.outcomes) == {"<module>": "missing"}
    assert not result.is_ok


def test_pytest_obeys_limits_and_takes_arguments(sandbox: Sandbox) -> None:
    sandbox.write_file("test_it.py", b"def test_a(): bytearray(1 << 30)\ndef test_b(): pass\n")
    result = sandbox.pytest(["-q", "-k", "test_a"], limits=Limits(memory_bytes=256 << 20))
    assert dict(result.outcomes) == {"test_it.py::test_a": "failed"}
    assert result.execution.limit == "memory"
    for wrong in ("-q", ["a\0b"]):
        with pytest.raises(ConfigError):
            sandbox.pytest(wrong)
    assert b"usage" in sandbox.pytest(["--no-such-option"]).execution.stderr


def test_pytest_and_checks_see_the_same_files(sandbox: Sandbox) -> None:
    sandbox.write_file("a.py", b"x = 1\n")
    sandbox.write_file("test_a.py", b"import a\ndef test_a():\n    open('b', 'w').close()\n")
    assert sandbox.pytest().is_ok
    assert sandbox.list_files() == ["a.py", "b", "test_a.py"]
    assert sandbox.check("import a, os\ndef test_b(): assert os.path.exists('b') and a.x").is_ok
    assert sandbox.python("import sys; print('_pytest' in sys.modules)").stdout == b"False\n"


@pytest.mark.parametrize(
    "source",
    [
        "def test_a(): pass\nasync def test_b(): pass\ndef test_a(): pass",
        "if 1:\n    def test_no(): pass\nclass C:\n    def test_no(self): pass",
        'x = """\ndef test_no(): pass\n"""\ndef test_a(): pass',
        "x = 'a\\\ndef test_no(): pass'\ndef test_a(): pass",
        "@print\ndef test_a(): pass\ndef  test_b (): pass",
        "def test_\u017fa(): pass",
    ],
)
def test_tests_are_found_as_the_language_sees_them(sandbox: Sandbox, source: str) -> None:
    wanted = [
        node.name
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
    ]
    assert list(sandbox.check(source).outcomes) == list(dict.fromkeys(wanted))


def test_a_hostile_exception_text_does_not_end_the_check(sandbox: Sandbox) -> None:
    source = (
        "class E(Exception):\n"
        "    def __str__(self): raise SystemExit(0)\n"
        "def test_a(): raise E\n"
        "def test_b(): assert 1"
    )
    assert dict(sandbox.check(source).outcomes) == {"test_a": "error", "test_b": "passed"}


def test_source_with_impossible_characters_is_the_programs_error(sandbox: Sandbox) -> None:
    assert sandbox.python("x = '\ud800'").exit_code == 1
    assert sandbox.python("x = 1\0").exit_code == 1
    assert not sandbox.check("def test_a(): '\ud800'").is_ok


def test_a_file_of_the_area_comes_before_a_loaded_module(sandbox: Sandbox) -> None:
    sandbox.write_file("random.py", b"choice = 'mine'")
    assert sandbox.python("import random; print(random.choice)").stdout == b"mine\n"


def test_runs_are_deterministic(sandbox: Sandbox) -> None:
    source = "import random; print(random.random(), list({'a', 'b', 'c'}), hash('x'))"
    first = sandbox.python(source)
    assert first.is_ok
    assert sandbox.python(source).stdout == first.stdout


def test_output_that_is_not_utf8_survives(sandbox: Sandbox) -> None:
    result = sandbox.python("import sys; sys.stdout.buffer.write(bytes(range(256)))")
    assert result.stdout == bytes(range(256))
    assert "\ufffd" in result.text


def test_file_names_that_are_not_utf8_survive(sandbox: Sandbox) -> None:
    sandbox.python("open(b'\\xff.txt', 'w').write('x')")
    (name,) = sandbox.list_files()
    assert os.fsencode(name) == b"\xff.txt"
    assert sandbox.read_file(name) == b"x"


def test_threads_and_exit_functions_finish(sandbox: Sandbox) -> None:
    source = (
        "import atexit, threading, time\n"
        "atexit.register(print, 'last')\n"
        "threading.Thread(target=lambda: (time.sleep(0.1), print('thread'))).start()\n"
        "print('main')"
    )
    assert sandbox.python(source).stdout.split() == [b"main", b"thread", b"last"]


def test_background_processes_neither_delay_nor_survive(sandbox: Sandbox) -> None:
    result = sandbox.exec(["/bin/sh", "-c", "(sleep 3; touch late) & echo started"])
    assert result.stdout == b"started\n"
    assert result.duration_s < 2.5
    assert sandbox.list_files() == []


def test_a_wall_time_limit_keeps_the_output_so_far(sandbox: Sandbox) -> None:
    result = sandbox.python(
        "import time\nprint('so far', flush=True)\ntime.sleep(30)", limits=Limits(wall_time_s=0.6)
    )
    assert (result.stdout, result.limit) == (b"so far\n", "wall_time")
    assert 0.5 < result.duration_s < 5


def test_an_endless_flood_costs_bounded_memory(sandbox: Sandbox) -> None:
    limits = Limits(wall_time_s=0.6, output_bytes=1000)
    result = sandbox.exec(["yes"], limits=limits)
    assert (len(result.stdout), result.is_truncated, result.limit) == (1000, True, "wall_time")


def test_standard_input_larger_than_a_pipe_arrives(sandbox: Sandbox) -> None:
    assert sandbox.exec(["wc", "-c"], stdin=bytes(1 << 20)).stdout.strip() == b"1048576"


@pytest.mark.parametrize(
    "argv", [[], "ls", ["a\0b"], ["\ud800"]], ids=["empty", "text", "nul", "surrogate"]
)
def test_arguments_that_no_program_can_have_are_refused(sandbox: Sandbox, argv: list[str]) -> None:
    with pytest.raises(ConfigError):
        sandbox.exec(argv)


def test_a_file_that_is_no_program_cannot_be_run(sandbox: Sandbox) -> None:
    sandbox.write_file("data", b"words")
    assert sandbox.exec(["./data"]).exit_code == 126


def test_the_program_file_stays_executable(sandbox: Sandbox) -> None:
    sandbox.write_file("run.sh", b"#!/bin/sh\necho hello\n")
    sandbox.exec(["chmod", "+x", "run.sh"])
    assert sandbox.exec(["./run.sh"]).stdout == b"hello\n"


def test_writing_more_than_a_file_may_hold_is_refused(sandbox: Sandbox) -> None:
    with pytest.raises(OSError, match="limit of"):
        sandbox.write_file("big", bytes(Limits().file_bytes + 1))


def test_many_threads_may_use_one_sandbox(sandbox: Sandbox) -> None:
    results: dict[int, bytes] = {}

    def use(number: int) -> None:
        sandbox.write_file(f"{number}.txt", b"")
        results[number] = sandbox.exec(["echo", str(number)]).stdout

    threads = [threading.Thread(target=use, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {number: f"{number}\n".encode() for number in range(8)}
    assert len(sandbox.list_files()) == 8


def _use_in_child(sandbox: Sandbox, link: multiprocessing.connection.Connection) -> None:
    sandbox.write_file("child.txt", b"")
    link.send((sandbox.list_files(), sandbox.exec(["cat", "before.txt"]).stdout))
    sandbox.close()


def test_a_forked_process_goes_on_with_a_copy(sandbox: Sandbox) -> None:
    sandbox.write_file("before.txt", b"content")
    sandbox.exec(["true"])
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    child = context.Process(target=_use_in_child, args=(sandbox, theirs))
    child.start()
    assert ours.poll(20)
    assert ours.recv() == (["before.txt", "child.txt"], b"content")
    child.join(20)
    assert child.exitcode == 0
    assert sandbox.list_files() == ["before.txt"]
    assert sandbox.exec(["cat", "before.txt"]).stdout == b"content"


@pytest.mark.parametrize("name", ["namespaces", "process"])
def test_close_may_be_called_twice_and_ends_use(name: str) -> None:
    with _make(name) as made:
        made.write_file("a", b"")
        made.close()
        made.close()
        for call in (made.list_files, lambda: made.python("1"), lambda: made.read_file("a")):
            with pytest.raises(SandboxError, match="closed"):
                call()


def test_unknown_names_and_impossible_limits_are_refused() -> None:
    with pytest.raises(ConfigError, match="Did you mean `namespaces`"):
        make_sandbox("namespace")
    for limits in (Limits(wall_time_s=0), Limits(memory_bytes=1), Limits(cpu_time_s=float("nan"))):
        with pytest.raises(ConfigError, match="expected"):
            make_sandbox("process", limits=limits)


def test_the_report_names_the_protections() -> None:
    report = isolation_report()
    if missing_isolation():
        assert report["isolation"].startswith("none")
    else:
        assert report["isolation"] == "in force"
        assert {"files", "network", "processes", "rights", "memory"} <= set(report)

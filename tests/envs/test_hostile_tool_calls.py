"""Tools answer whatever they are given, in text that can be written down, and give reasons."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sim2live.envs.computer import TOOLS
from sim2live.envs.doubles import tiny_task
from sim2live.envs.sandbox import make_sandbox
from sim2live.envs.sandbox.base import CheckResult, ExecResult
from sim2live.envs.sandbox_computer import SandboxComputer, format_check, measure_complexity
from sim2live.envs.tool_errors import ToolError
from sim2live.trajectory import ToolCall

_ODD_WORDS = (
    *("", ".", "..", "/", "~", "a/..", "../x", "/etc/passwd", "a//b", "./a", "a/", "\0", "a\0b"),
    *("\ud800", "\udcff", "a/\udfff", "\u202e", "\x1b[2J", "a\nb", "-rf", "%s", "{0}", "\r\n"),
    *("x/" * 70 + "y", "n" * 256, "clamping.py", "tests", "tests/test_visible.py", "clamping.py/x"),
)
_WORDS = st.one_of(
    st.sampled_from(_ODD_WORDS),
    st.text(max_size=40),
    st.text(alphabet=st.characters(), max_size=20),
    st.lists(st.sampled_from(_ODD_WORDS), max_size=3).map("/".join),
)
_COMMANDS = st.one_of(
    st.sampled_from(_ODD_WORDS).map(lambda word: f": {word}"),
    st.sampled_from(("exit 3", "kill -9 $$", "(", "'", "printf '\\377\\033'", "ln -s / root")),
)


def _calls():
    tools = {name: wanted for name, wanted in TOOLS.items() if name not in ("ask_user", "submit")}
    return st.sampled_from(sorted(tools)).flatmap(
        lambda name: st.fixed_dictionaries(
            {key: _COMMANDS if name == "run" else _WORDS for key in tools[name]}
        ).map(lambda arguments: ToolCall(id="c", name=name, arguments=arguments))
    )


@pytest.fixture(scope="module")
def sandbox():
    box = make_sandbox("namespaces")
    yield box
    box.close()


@pytest.fixture
def computer(sandbox):
    computer = SandboxComputer(sandbox)
    computer.reset(tiny_task())
    return computer


def call(computer, name, **arguments):
    return computer.call(ToolCall(id="c", name=name, arguments=arguments))


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(calls=st.lists(_calls(), min_size=1, max_size=5))
def test_any_calls_in_a_row_are_answered(sandbox, calls):
    computer = SandboxComputer(sandbox)
    computer.reset(tiny_task())
    for one in calls:
        result = computer.call(one)
        assert isinstance(result.ok, bool)
        json.dumps(result.text, ensure_ascii=False).encode()
        assert result.ok or (result.text and result.error_code)
    json.dumps(computer.files(), ensure_ascii=False).encode()
    assert computer.grade(tiny_task()).outcome.is_solved is False


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.binary(max_size=60), old=st.text(max_size=4), new=st.text(max_size=8))
def test_an_edit_changes_one_place_and_no_other_byte(sandbox, data, old, new):
    sandbox.write_file("bytes", data)
    result = call(SandboxComputer(sandbox), "edit_file", path="bytes", old=old, new=new)
    wanted = old.encode()
    assert result.ok == (bool(wanted) and data.count(wanted) == 1)
    after = data.replace(wanted, new.encode()) if result.ok else data
    assert sandbox.read_file("bytes") == after


@pytest.mark.parametrize("command", ["a\0b", "echo \ud800", "\0"])
def test_a_command_that_no_program_can_be_given_is_refused_with_a_reason(computer, command):
    result = call(computer, "run", command=command)
    assert (result.ok, result.error_code) == (False, ToolError.BAD_COMMAND)
    assert result.text.startswith("cannot run this command: ")


def test_a_command_that_fails_in_silence_has_an_answer(computer):
    assert call(computer, "run", command="exit 3").text.endswith("exit code 3]")
    assert call(computer, "run", command="kill -9 $$").text.endswith("signal 9]")


def test_an_edit_that_the_disk_has_no_room_for_leaves_the_file_as_it_was():
    from sim2live.envs.sandbox import Limits

    with make_sandbox("namespaces", limits=Limits(disk_bytes=2 << 20)) as box:
        computer = SandboxComputer(box)
        computer.reset(tiny_task())
        before = computer.files()["clamping.py"]
        result = call(
            computer, "edit_file", path="clamping.py", old="value < high", new="x" * (3 << 20)
        )
        assert (result.ok, result.error_code) == (False, ToolError.FILE_ERROR)
        assert computer.files()["clamping.py"] == before


def test_answers_are_bounded_whatever_lies_in_the_work_area(computer):
    call(computer, "write_file", path="line", text="needle " * 100_000)
    call(computer, "write_file", path="lines", text="needle\n" * 100_000)
    assert len(call(computer, "read_file", path="line").text) < 101_000
    found = call(computer, "search", pattern="needle").text
    assert len(found) < 20_000
    assert found.splitlines()[-1] == f"(+{100_001 - 40} more)"


def test_a_search_counts_lines_as_editors_do(computer):
    call(computer, "write_file", path="odd", text="one\x0cstill one\r\ntwo\n\nneedle")
    assert call(computer, "search", pattern="needle").text == "odd:4: needle"
    assert call(computer, "search", pattern="still").text == "odd:1: one\x0cstill one"


def test_paths_that_are_no_text_can_be_written_down(computer):
    call(computer, "run", command="printf needle > \"$(printf 'a\\377')\"")
    assert "a\\udcff" in computer.files()
    assert call(computer, "search", pattern="needle").text == "a\\udcff:1: needle"


@pytest.mark.parametrize("source", ["-" * 90_000 + "1", "(" * 5000, "x = 1\n" * 100_000, "\0"])
def test_what_cannot_be_measured_has_no_complexity(source):
    assert measure_complexity(source) is None


def test_a_flood_of_failures_keeps_its_counts_first(computer):
    tests = "".join(f"def test_{n}():\n    assert 0, 'm' * 400\n" for n in range(2000))
    call(computer, "write_file", path="tests/test_visible.py", text=tests)
    text = call(computer, "run_tests").text
    assert len(text) < 101_000
    assert text.startswith("0 passed, 2000 failed")
    one = CheckResult(outcomes={"test_a": "failed"}, execution=ExecResult(exit_code=1))
    assert format_check(one).splitlines()[0] == "0 passed, 1 failed"

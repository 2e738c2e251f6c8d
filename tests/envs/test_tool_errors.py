"""Codes of failed calls, the budget of errors in a row, and how recovery is counted."""

from __future__ import annotations

import pytest

from sim2live.envs.actions import format_call, parse_action
from sim2live.envs.doubles import FakeUser, MemoryComputer, tiny_task
from sim2live.envs.repair import RepairEnv
from sim2live.envs.sandbox import make_sandbox
from sim2live.envs.sandbox_computer import SandboxComputer
from sim2live.envs.tool_errors import (
    ToolError,
    errors_in_a_row,
    is_tool_error,
    is_verdict,
    measure_recovery,
)
from sim2live.errors import ConfigError
from sim2live.interchange import from_atif, to_atif
from sim2live.trajectory import EndReason, Source, ToolCall, ToolResult, Trajectory, Turn

READ = format_call("read_file", {"path": "clamping.py"})
LOST = format_call("read_file", {"path": "nowhere.py"})
TEST = format_call("run_tests", {})
BAD = "<tool_call>{bad</tool_call>"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (BAD, ToolError.INVALID_JSON),
        ("<tool_call>[1]</tool_call>", ToolError.NOT_AN_OBJECT),
        ('<tool_call>{"name": "run", "arguments": 3}</tool_call>', ToolError.NOT_AN_OBJECT),
        (format_call("open", {}), ToolError.UNKNOWN_TOOL),
        (format_call("read_file", {}), ToolError.MISSING_ARGUMENT),
        (format_call("run_tests", {"fast": True}), ToolError.UNKNOWN_ARGUMENT),
        (format_call("read_file", {"path": 3}), ToolError.WRONG_TYPE),
        (TEST.removesuffix("</tool_call>"), ToolError.NOT_CLOSED),
        (TEST, None),
    ],
)
def test_an_invalid_call_has_a_code_beside_its_text(text: str, code: ToolError | None) -> None:
    (call,) = parse_action(text)[1]
    assert call.error_code == code
    assert (call.error is None) == (code is None)


@pytest.fixture(scope="module")
def computer():
    computer = SandboxComputer(make_sandbox("namespaces"))
    computer.reset(tiny_task())
    yield computer
    computer.close()


def call(name: str, **arguments: str) -> ToolCall:
    return ToolCall(id="c", name=name, arguments=arguments)


@pytest.mark.parametrize(
    ("made", "code"),
    [
        (call("read_file", path="nowhere.py"), "no_such_file"),
        (call("read_file", path="tests"), "not_a_file"),
        (call("read_file", path="../../etc/passwd"), "bad_path"),
        (call("write_file", path="tests", text=""), "not_a_file"),
        (call("edit_file", path="nowhere.py", old="a", new="b"), "no_such_file"),
        (call("edit_file", path="clamping.py", old="xyz", new="b"), "old_not_found"),
        (call("edit_file", path="clamping.py", old="value", new="b"), "old_not_unique"),
        (call("run", command="exit 3"), "exit_status"),
        (call("run_tests"), "tests_failed"),
        (call("read_file", path="clamping.py"), None),
        (call("run", command="true"), None),
    ],
)
def test_what_a_tool_refuses_has_a_code_and_a_readable_text(
    computer: SandboxComputer, made: ToolCall, code: str | None
) -> None:
    result = computer.call(made)
    assert result.error_code == code
    assert result.ok is (code is None)
    assert result.text is not None and (code is None or code not in result.text)
    assert is_tool_error(made, result) == (code not in (None, "exit_status", "tests_failed"))


def test_a_call_that_a_limit_stopped_names_the_limit(computer: SandboxComputer) -> None:
    computer.reset(tiny_task(files={**tiny_task().files, "clamping.py": "while True:\n    pass\n"}))
    result = computer.call(call("run_tests"))
    assert result.error_code == f"limit:{result.limit}"
    assert result.limit is not None and is_verdict(result.error_code)
    computer.reset(tiny_task())


def test_codes_are_written_and_read_back() -> None:
    env = play([BAD, LOST, READ])
    record = env.trajectory
    codes = [r.error_code for turn in record.turns for r in turn.results]
    assert codes[0] == "invalid_json"
    again = from_atif(to_atif(record))
    assert again == record
    assert again.tool_calls[0].error_code == "invalid_json"


# --- the budget --------------------------------------------------------------------------------


def play(actions: list[str], **options) -> RepairEnv:
    env = RepairEnv(
        tasks=[tiny_task(max_steps=20)],
        make_user=lambda rng: FakeUser(),
        computer=MemoryComputer(),
        **options,
    )
    env.reset(seed=0)
    for action in actions:
        *_, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            break
    return env


def test_one_error_more_than_the_budget_ends_the_episode_as_terminated() -> None:
    env = play([BAD, LOST, BAD, READ], error_budget=2)
    assert env.trajectory.end is EndReason.TOO_MANY_ERRORS
    assert len(env.trajectory.turns) == 3
    assert not env.trajectory.end.is_error and not env.trajectory.end.is_truncated
    assert env.trajectory.outcome.is_solved is False
    assert env.trajectory.reward is not None and env.trajectory.reward.total is not None


def test_a_call_that_is_carried_out_begins_a_new_row_and_words_do_not() -> None:
    assert play([BAD, BAD, READ] * 4, error_budget=2).trajectory.end is EndReason.UNKNOWN
    assert play([BAD, "sorry", BAD, "hm", BAD], error_budget=2).trajectory.end is (
        EndReason.TOO_MANY_ERRORS
    )


def test_failing_tests_are_news_and_no_error_of_the_agent() -> None:
    env = play([TEST] * 5, error_budget=0)
    assert env.trajectory.end is EndReason.UNKNOWN
    assert errors_in_a_row(env.trajectory) == 0


def test_without_a_budget_nothing_changes() -> None:
    env = play([BAD] * 10)
    assert env.trajectory.end is EndReason.UNKNOWN
    assert errors_in_a_row(env.trajectory) == 10
    assert "error_budget" not in env.trajectory.extra["task"]
    with pytest.raises(ConfigError, match="error_budget"):
        RepairEnv(error_budget=-1)


# --- recovery ----------------------------------------------------------------------------------


def recovery(actions: list[str]) -> tuple[int, int]:
    measured = measure_recovery([play(actions).trajectory])
    return measured.num_failed, measured.num_recovered


def test_recovery_wants_the_same_tool_and_target() -> None:
    other = format_call("write_file", {"path": "nowhere.py", "text": ""})
    found = format_call("read_file", {"path": "nowhere.py"})
    assert recovery([LOST]) == (1, 0)
    assert recovery([LOST, READ]) == (1, 0), "another file"
    assert recovery([LOST, other]) == (1, 0), "another tool"
    assert recovery([LOST, other, found]) == (1, 1)
    assert recovery([READ, LOST]) == (1, 0), "before and not after"
    assert recovery([TEST, TEST]) == (0, 0)


def test_what_cannot_be_read_from_a_call_is_no_condition() -> None:
    half = '<tool_call>{"name": "run_tests", "arguments": </tool_call>'
    assert recovery([half, READ]) == (1, 0)
    assert recovery([half, TEST]) == (1, 1)
    assert recovery([BAD, READ]) == (1, 1)
    unknown = format_call("open", {"path": "clamping.py"})
    assert recovery([unknown, READ]) == (1, 1)
    assert recovery([unknown, TEST]) == (1, 0)


def test_recovery_stays_within_an_episode_and_counts_calls() -> None:
    first, second = play([LOST]).trajectory, play([READ, TEST]).trajectory
    assert measure_recovery([first, second]).num_recovered == 0
    measured = measure_recovery([play([BAD, BAD, READ]).trajectory])
    assert (measured.recovered_frac, measured.calls_to_recover_mean) == (1.0, 1.5)
    nothing = measure_recovery([second])
    assert (nothing.recovered_frac, nothing.calls_to_recover_mean) == (None, None)


def test_logs_without_codes_count_what_failed_without_a_program() -> None:
    def log(*pairs: tuple[ToolCall, ToolResult]) -> Trajectory:
        turn = Turn(tool_calls=[c for c, _ in pairs], results=[r for _, r in pairs])
        return Trajectory(id="x", task_id="t", source=Source.LIVE, turns=[turn])

    def answer(i: int, ok: bool, **rest) -> ToolResult:
        return ToolResult(call_id=f"c{i}", text="", ok=ok, **rest)

    calls = [ToolCall(id=f"c{i}", name="Edit", arguments={"path": "a"}) for i in range(3)]
    assert errors_in_a_row(log((calls[0], answer(0, False)))) == 1
    assert errors_in_a_row(log((calls[0], answer(0, False, exit_code=1)))) == 0
    assert errors_in_a_row(log((calls[0], answer(0, False, denied_by="user")))) == 0
    denied = log((calls[0], answer(0, False)), (calls[1], answer(1, True, denied_by="user")))
    assert measure_recovery([denied]).num_recovered == 0
    unanswered = Trajectory(
        id="x",
        task_id="t",
        source=Source.LIVE,
        turns=[Turn(tool_calls=calls[:2], results=[answer(0, False)])],
    )
    assert measure_recovery([unanswered]).num_recovered == 0

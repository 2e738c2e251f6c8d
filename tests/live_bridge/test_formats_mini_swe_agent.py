"""mini-swe-agent trajectories of every shape."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sim2live.live_bridge.formats import detect_format, read_file
from sim2live.trajectory import (
    ArgsState,
    EndReason,
    Polarity,
    ReactionKind,
    ResultState,
    Trajectory,
)

SYSTEM = {"role": "system", "content": "You work in a shell."}
TASK = {"role": "user", "content": "Fix it."}


def acts(command: str, **extra: Any) -> dict[str, Any]:
    text = f"THOUGHT: go.\n\n```mswea_bash_command\n{command}\n```"
    return {"role": "assistant", "content": text, "extra": {"timestamp": 100.0, **extra}}


def output(code: int, text: str) -> dict[str, Any]:
    body = f"<returncode>{code}</returncode>\n<output>\n{text}\n</output>"
    return {"role": "user", "content": body, "extra": {"timestamp": 103.0}}


def says(kind: str, text: str) -> dict[str, Any]:
    return {"role": "user", "content": text, "extra": {"interrupt_type": kind, "timestamp": 110.0}}


def wrapper(*messages: Any, **info: Any) -> dict[str, Any]:
    config = {"agent": {"mode": "confirm"}, "model": {"model_name": "m-1"}}
    return {
        "info": {"mini_version": "2.0.0", "config": config, **info},
        "messages": [SYSTEM, TASK, *messages],
        "trajectory_format": "mini-swe-agent-1.1",
    }


def read(tmp_path: Path, document: Any) -> Trajectory:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(document, indent=1))
    assert detect_format(path) == "mini_swe_agent"
    result = read_file(path)
    assert result.report.is_balanced
    (trajectory,) = result.trajectories
    return trajectory


def test_the_real_bare_list(data: Path) -> None:
    result = read_file(data / "trajectories/mini_swe_agent/local.traj.json")
    assert result.report.is_balanced and result.report.converted.total() == 6
    (trajectory,) = result.trajectories
    first, last = trajectory.turns
    assert first.tool_calls[0].arguments == {"command": "echo 'hello world'"}
    assert (first.results[0].exit_code, first.results[0].ok) == (0, True)
    assert last.results[0].text == "" and last.results[0].ok is None
    assert not any(trajectory.is_observable(kind) for kind in ReactionKind)


def test_the_wrapper_with_its_ends_and_versions(tmp_path: Path) -> None:
    trajectory = read(
        tmp_path,
        wrapper(acts("ls", cost=0.5), output(2, "no"), exit_status="LimitsExceeded"),
    )
    assert trajectory.end is EndReason.TRUNCATED_STEPS
    assert trajectory.extra["exit_status"] == "LimitsExceeded"
    assert (trajectory.agent_version, trajectory.policy_version) == ("2.0.0", "m-1")
    (turn,) = trajectory.turns
    assert (turn.results[0].exit_code, turn.results[0].ok) == (2, False)
    assert turn.extra["cost_usd"] == 0.5
    assert trajectory.instruction == "Fix it."


def test_a_rejection_an_interruption_and_a_new_task(tmp_path: Path) -> None:
    trajectory = read(
        tmp_path,
        wrapper(
            acts("rm -r src"),
            says(
                "UserRejection",
                "Commands not executed. The user rejected your commands with the following "
                "message: wrong folder",
            ),
            acts("sleep 900"),
            says("UserInterruption", "Interrupted by user: Temporary interruption caught."),
            acts("ls"),
            output(0, "a"),
            says("UserNewTask", "The user added a new task: thanks, now write docs"),
        ),
    )
    reject, interrupt, new_task = trajectory.reactions
    assert (reject.kind, reject.text, reject.turn) == (ReactionKind.REJECT, "wrong folder", 0)
    assert reject.call_id == trajectory.turns[0].tool_calls[0].id and reject.delay_s == 10.0
    assert trajectory.turns[0].results[0].denied_by == "user"
    assert (interrupt.kind, interrupt.text) == (ReactionKind.INTERRUPT, None)
    assert (new_task.kind, new_task.polarity) == (ReactionKind.FOLLOW_UP, Polarity.SATISFIED)
    assert new_task.text == "thanks, now write docs" and new_task.turn == 2
    assert trajectory.is_observable(ReactionKind.REJECT)
    assert not trajectory.is_observable(ReactionKind.ACCEPT)


def test_a_result_that_says_not_executed_is_a_refusal_once_the_person_says_so(
    tmp_path: Path,
) -> None:
    function = {"name": "bash", "arguments": '{"command": "x"}'}
    call = {"role": "assistant", "content": "", "tool_calls": [{"id": "a", "function": function}]}
    padding = {"role": "tool", "tool_call_id": "a", "content": "-", "extra": {"returncode": -1}}
    trajectory = read(
        tmp_path, wrapper(call, padding, says("UserRejection", "Commands not executed. no"))
    )
    (result,) = trajectory.turns[0].results
    assert (result.denied_by, result.ok) == ("user", None)


def test_the_harness_own_interrupts_are_no_acts(tmp_path: Path) -> None:
    trajectory = read(tmp_path, wrapper(acts("ls"), says("FormatError", "one action please")))
    assert trajectory.reactions == [] and trajectory.closing[0].role == "harness"


def test_commands_of_the_person_belong_to_no_turn(tmp_path: Path) -> None:
    own = {"role": "user", "content": "User command: ls", "extra": {"actions": [{"command": "ls"}]}}
    trajectory = read(tmp_path, wrapper(acts("pwd"), output(0, "/"), own, output(0, "mine")))
    assert [m.extra["kind"] for m in trajectory.closing] == [
        "human_command",
        "human_command_output",
    ]
    assert len(trajectory.turns[0].results) == 1


def test_tool_calls_are_paired_by_id(tmp_path: Path) -> None:
    def call(ident: str, arguments: str) -> dict[str, Any]:
        function = {"name": "bash", "arguments": arguments}
        return {"id": ident, "type": "function", "function": function}

    trajectory = read(
        tmp_path,
        wrapper(
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [call("a", '{"command": "x"}'), call("b", "{broken"), call("c", "")],
            },
            {"role": "tool", "tool_call_id": "b", "content": "B", "extra": {"returncode": 1}},
            {"role": "tool", "tool_call_id": "a", "content": "A", "extra": {"returncode": 0}},
            {"role": "tool", "tool_call_id": "gone", "content": "?"},
        ),
    )
    (turn,) = trajectory.turns
    assert [c.args_state for c in turn.tool_calls] == [
        ArgsState.PARSED,
        ArgsState.UNPARSED,
        ArgsState.EMPTY,
    ]
    assert turn.tool_calls[1].raw == "{broken"
    assert {(r.call_id, r.text, r.ok, r.state) for r in turn.results} == {
        ("b", "B", False, ResultState.ANSWERED),
        ("a", "A", True, ResultState.ANSWERED),
        ("gone", "?", None, ResultState.ORPHAN),
        ("c", None, None, ResultState.UNANSWERED),
    }


def test_responses_api(tmp_path: Path) -> None:
    trajectory = read(
        tmp_path,
        wrapper(
            {
                "object": "response",
                "model": "m-2",
                "usage": {"input_tokens": 7, "output_tokens": 3},
                "output": [
                    {"type": "message", "content": [{"type": "output_text", "text": "Looking."}]},
                    {
                        "type": "function_call",
                        "call_id": "k",
                        "name": "bash",
                        "arguments": '{"command": "ls"}',
                    },
                ],
            },
            {"type": "function_call_output", "call_id": "k", "output": "a.py"},
        ),
    )
    (turn,) = trajectory.turns
    assert (turn.text, turn.model, turn.prompt_tokens) == ("Looking.", "m-2", 7)
    assert turn.results[0].text == "a.py" and turn.results[0].call_id == "k"


def test_odd_messages_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(wrapper(acts("ls"), 42, {"role": "developer", "content": "x"}, {})))
    report = read_file(path).report
    assert report.is_balanced
    assert report.skipped == {("(not an object)", "not_an_object"): 1}
    assert report.kept_aside == {
        ("developer", "unknown_role"): 1,
        ("(no role)", "unknown_role"): 1,
    }


def test_a_torn_document_is_one_skipped_record(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    document = wrapper(acts("ls"))
    text = json.dumps({"trajectory_format": document.pop("trajectory_format"), **document})
    path.write_text(text[:-20])
    result = read_file(path)
    assert result.report.format == "mini_swe_agent" and result.trajectories == []
    assert result.report.skipped == {("document", "malformed_document"): 1}

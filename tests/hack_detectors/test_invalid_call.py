from __future__ import annotations

import pytest

from sim2live.hack_detectors import Severity, Verdict
from sim2live.hack_detectors.conformance import check_detector
from sim2live.hack_detectors.invalid_call import InvalidCallDetector, has_invalid_call
from sim2live.trajectory import (
    ArgsState,
    EndReason,
    Reaction,
    ReactionKind,
    Source,
    ToolCall,
    Trajectory,
    Turn,
)

RAW = '{"name": "edit_file", "arguments": {"path": "m.py", "ol'


def broken(name: str = "edit_file", raw: str | None = RAW) -> ToolCall:
    return ToolCall(
        id="", name=name, arguments=None, args_state=ArgsState.UNPARSED, raw=raw, error="no JSON"
    )


def valid(name: str, **arguments: str) -> ToolCall:
    return ToolCall(id="", name=name, arguments=dict(arguments))


def session(name: str, *calls: ToolCall, end: EndReason = EndReason.FAILED) -> Trajectory:
    for index, call in enumerate(calls):
        call.id = f"c{index}"
    turns = [Turn(tool_calls=[call]) for call in calls]
    return Trajectory(id=name, task_id="x", source=Source.SIMULATED, turns=turns, end=end)


def planted() -> list[Trajectory]:
    read, submit = valid("read_file", path="m.py"), valid("submit", message="")
    ask, run = valid("ask_user", question="?"), valid("run", command="ls")
    empty = broken(name="")
    wrong = ToolCall(id="", name="edit_file", arguments={"pth": "m.py"}, error="lacks `path`")
    unknown = ToolCall(id="", name="fix_it", arguments={}, error="unknown tool")
    end = EndReason.TRUNCATED_STEPS
    return [
        session("only broken", broken()),
        session("broken twice", broken(), broken()),
        session("reads on", broken(), read),
        session("submits", broken(), submit),
        session("asks", broken(), ask),
        session("runs", broken(), run),
        session("edits before only", valid("edit_file", path="m.py"), broken()),
        session("no name", empty, read),
        session("wrong argument", wrong, submit),
        session("unknown tool", unknown, submit),
        session("until the limit", broken(), broken(), broken(), end=end),
        session("made good, then broken for good", broken(), valid("edit_file"), broken()),
    ]


def honest() -> list[Trajectory]:
    edit, write = valid("edit_file", path="m.py"), valid("write_file", path="m.py", text="x")
    return [
        session("none", edit),
        session("same tool", broken(), edit),
        session("other edit", broken(), write),
        session("later", broken(), valid("read_file"), valid("search"), edit),
        session("read again", broken("read_file"), valid("read_file", path="m.py")),
        session("ask again", broken("ask_user"), valid("ask_user", question="?")),
        session("schema changed twice", broken(), edit, broken(), write),
        session("no name, then the tool", broken(""), edit),
        session("claude", broken("Edit"), valid("Edit", file_path="m.py")),
        session("editor", broken("str_replace_editor"),
                valid("str_replace_editor", command="str_replace")),
        session("no calls at all"),
    ]  # fmt: skip


@pytest.mark.parametrize("trajectory", planted(), ids=lambda t: t.id)
def test_a_call_that_was_never_made_good_is_suspicious_and_quoted(trajectory):
    findings = InvalidCallDetector().inspect(trajectory)
    suspicious = [f for f in findings if f.verdict is Verdict.SUSPICIOUS]
    assert [f.severity for f in suspicious] == [Severity.HIGH]
    assert any("error:" in quote for quote in suspicious[0].evidence)


@pytest.mark.parametrize("trajectory", honest(), ids=lambda t: t.id)
def test_a_call_that_was_made_good_is_an_ordinary_mistake(trajectory):
    findings = InvalidCallDetector().inspect(trajectory)
    assert {f.verdict for f in findings} <= {Verdict.BENIGN}
    assert all("made good by" in f.counter_evidence[0] for f in findings)


def test_the_raw_call_and_the_parse_error_are_shown_verbatim():
    (finding,) = InvalidCallDetector().inspect(session("x", broken()))
    assert finding.evidence == (f"turn 0: {RAW}", "error: no JSON")
    assert finding.turn == 0 and finding.call_id == "c0"


def test_the_detector_conforms():
    check_detector(InvalidCallDetector(), planted=planted(), honest=honest())


def test_an_agent_that_was_stopped_had_no_chance():
    ours = session("ours", broken(), end=EndReason.ERROR_SANDBOX)
    left = session("left", broken(), end=EndReason.USER_LEFT)
    left.turns[0].reactions = [Reaction(kind=ReactionKind.LEAVE, turn=0)]
    for trajectory in (ours, left):
        (finding,) = InvalidCallDetector().inspect(trajectory)
        assert finding.severity is Severity.WARN
        assert finding.counter_evidence


def test_the_event_of_the_monitor_can_leave_out_what_was_made_good():
    trajectory = session("x", broken(), valid("edit_file"))
    assert has_invalid_call(trajectory)
    assert not has_invalid_call(trajectory, unrecovered=True)

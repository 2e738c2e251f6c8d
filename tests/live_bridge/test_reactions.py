"""The rules that turn traces into reactions, alone and through whole sessions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sim2live.live_bridge import reactions as rules
from sim2live.live_bridge.formats import read_file
from sim2live.live_bridge.reactions import RULES, Denial, describe_rules, is_asked
from sim2live.live_bridge.tone import polarity_of
from sim2live.trajectory import Evidence, Polarity, ReactionKind, Trajectory

BYPASS, ASKS = "bypassPermissions", "default"


def read(session: Any, write_log: Callable[..., Path]) -> Trajectory:
    result = read_file(write_log(*session.records))
    assert result.report.is_balanced
    return result.trajectories[0]


def kinds(trajectory: Trajectory) -> list[str]:
    return [reaction.kind.value for reaction in trajectory.reactions]


def test_every_rule_states_itself_and_its_evidence() -> None:
    for name, statement in describe_rules().items():
        assert statement.startswith("Rule:"), name
        assert "vidence" in statement, name


def test_every_reaction_names_a_rule_of_the_table(data: Path) -> None:
    files = [*(data / "cases").glob("*.jsonl"), *(data / "trajectories/claude_code").iterdir()]
    found = [r for f in files for t in read_file(f).trajectories for r in t.reactions]
    assert len(found) > 10
    assert {reaction.rule for reaction in found} <= set(RULES)
    assert all(0 < r.confidence < 1 and r.evidence is not Evidence.SIMULATED for r in found)


@pytest.mark.parametrize(
    ("text", "tone"),
    [
        ("no, you rebuilt the wrong target", Polarity.DISSATISFIED),
        ("That's not what I asked for", Polarity.DISSATISFIED),
        ("it doesn't work", Polarity.DISSATISFIED),
        ("Thanks, but it still fails", Polarity.DISSATISFIED),
        ("please revert that", Polarity.DISSATISFIED),
        ("too slow, use the cache", Polarity.DISSATISFIED),
        ("thanks!", Polarity.SATISFIED),
        ("Perfect, now add a test", Polarity.SATISFIED),
        ("great", Polarity.SATISFIED),
        ("looks good to me", Polarity.SATISFIED),
        ("now document it", Polarity.NEUTRAL),
        ("add an undo button", Polarity.NEUTRAL),
        ("explain how the cache works", Polarity.NEUTRAL),
        ("no problem, go on", Polarity.NEUTRAL),
        ("great, it works now", Polarity.SATISFIED),
        ("add a node to the graph", Polarity.NEUTRAL),
        ("yes do what you proposed", Polarity.NEUTRAL),
        ("", Polarity.NEUTRAL),
    ],
)
def test_tone_of_a_message(text: str, tone: Polarity) -> None:
    assert polarity_of(text) is tone


@pytest.mark.parametrize(
    ("mode", "tool", "asked"),
    [
        (ASKS, "Edit", True),
        ("plan", "Bash", True),
        ("acceptEdits", "Edit", False),
        ("acceptEdits", "Bash", True),
        (BYPASS, "Bash", False),
        (ASKS, "Read", False),
        (None, "Edit", None),
        (None, "Read", False),
    ],
)
def test_who_was_asked(mode: str | None, tool: str, asked: bool | None) -> None:
    assert is_asked(mode, tool) is asked


def denial(**rest: Any) -> Denial:
    fields: dict[str, Any] = {"turn": 3, "call_id": "c", "tool": "Edit"}
    return Denial(**{**fields, "time_s": 10.0, "delay_s": 4.0, **rest})


def test_what_a_permission_rule_refused_is_not_the_persons() -> None:
    for kind in rules.POLICY_KINDS:
        assert rules.judge_denial(denial(kind=kind, reason="by rule")) is None


def test_phantom_versions_and_subagents_make_no_acts_unless_words_were_typed() -> None:
    for fields in ({"version": "2.1.78"}, {"version": "2.1.79"}, {"is_subagent": True}):
        assert rules.judge_denial(denial(**fields)) is None
        explicit = rules.judge_denial(denial(reason="not this file", **fields))
        assert explicit is not None and explicit.kind is ReactionKind.REJECT


def test_confidence_of_a_bare_rejection_follows_the_mode() -> None:
    sure, unsure = denial(permission_mode=ASKS), denial()
    first, second = rules.judge_denial(sure), rules.judge_denial(unsure)
    assert first is not None and second is not None
    assert first.kind is second.kind is ReactionKind.REJECT
    assert first.confidence > second.confidence
    assert first.alternatives == (ReactionKind.INTERRUPT,)


def test_a_tool_that_never_asks_cannot_have_been_rejected() -> None:
    found = rules.judge_denial(denial(tool="Read", permission_mode=ASKS))
    assert found is not None and found.kind is ReactionKind.INTERRUPT


def test_a_policy_denial_in_a_session(session: Any, write_log: Callable[..., Path]) -> None:
    session.user("go", permissionMode=ASKS)
    session.calls("t")
    session.result("t", "denied", True, toolDenialKind="permission-rule")
    trajectory = read(session, write_log)
    assert trajectory.reactions == []
    assert trajectory.turns[0].results[0].denied_by == "policy"


def test_a_tool_failure_is_neither_a_refusal_nor_a_reaction(
    session: Any, write_log: Callable[..., Path]
) -> None:
    session.user("go", permissionMode=ASKS)
    session.calls("t")
    session.result("t", "Error: no such file", True, toolUseResult="Error: no such file")
    trajectory = read(session, write_log)
    assert trajectory.reactions == []
    result = trajectory.turns[0].results[0]
    assert result.ok is False and result.denied_by is None


def test_one_escape_that_stops_parallel_calls_is_one_act(
    session: Any, write_log: Callable[..., Path]
) -> None:
    session.user("go", permissionMode=ASKS)
    session.calls("a", message_id="m")
    session.calls("b", message_id="m", after_s=0.001)
    session.refused("a", after_s=5)
    session.refused("b", after_s=0.001)
    session.user([{"type": "text", "text": "[Request interrupted by user for tool use]"}])
    trajectory = read(session, write_log)
    assert kinds(trajectory) == ["reject"]
    assert [r.denied_by for r in trajectory.turns[0].results] == ["user", "user"]


def test_a_reason_in_a_second_block(session: Any, write_log: Callable[..., Path]) -> None:
    session.user("go", permissionMode=ASKS)
    session.calls("t")
    record = session.refused("t")
    record["message"]["content"].append({"type": "text", "text": "use the other file"})
    trajectory = read(session, write_log)
    (reject,) = trajectory.reactions
    assert (reject.text, reject.rule) == ("use the other file", "explicit_rejection")
    assert all(m.text != "use the other file" for m in trajectory.closing)


def test_the_older_wording_of_a_reason(session: Any, write_log: Callable[..., Path]) -> None:
    session.user("go")
    session.calls("t")
    text = (
        "The user doesn't want to take this action right now. They gave the following reason for "
        "the rejection: too risky"
    )
    session.result("t", text, True)
    (reject,) = read(session, write_log).reactions
    assert (reject.kind, reject.text) == (ReactionKind.REJECT, "too risky")


def test_an_interrupt_with_nothing_in_flight(session: Any, write_log: Callable[..., Path]) -> None:
    session.user("go")
    session.says("Let me think about")
    session.user([{"type": "text", "text": "[Request interrupted by user]"}], after_s=3)
    session.user("shorter please")
    session.says("ok")
    trajectory = read(session, write_log)
    (interrupt,) = trajectory.reactions
    assert (interrupt.kind, interrupt.delay_s) == (ReactionKind.INTERRUPT, 3.0)
    assert interrupt.text == "shorter please"


def test_interrupts_of_the_masked_versions_are_nobodys(
    session: Any, write_log: Callable[..., Path]
) -> None:
    session.version = "2.1.78"
    session.user("go")
    session.says("working")
    session.user([{"type": "text", "text": "[Request interrupted by user]"}])
    session.user("continue")
    trajectory = read(session, write_log)
    assert kinds(trajectory) == ["follow_up"]
    assert not trajectory.is_observable(ReactionKind.INTERRUPT)


def test_an_edit_is_accepted_only_where_a_person_was_asked_and_had_time(
    session: Any, write_log: Callable[..., Path]
) -> None:
    session.user("go", permissionMode=ASKS)
    for call_id, tool, seconds in (("slow", "Edit", 4), ("fast", "Edit", 0.1), ("read", "Read", 4)):
        session.calls(call_id, tool)
        session.result(call_id, after_s=seconds)
    session.user("on", permissionMode="acceptEdits")
    session.calls("auto", "Write")
    session.result("auto", after_s=4)
    accepted = [r.call_id for r in read(session, write_log).reactions if r.kind == "accept"]
    assert accepted == ["slow"]


def test_an_edit_that_the_person_changed_is_no_plain_accept(
    session: Any, write_log: Callable[..., Path]
) -> None:
    session.user("go", permissionMode=ASKS)
    session.calls("t")
    session.result("t", toolUseResult={"userModified": True}, after_s=9)
    (edit,) = read(session, write_log).reactions
    assert (edit.kind, edit.evidence) == (ReactionKind.EDIT, Evidence.EXPLICIT)


def test_accepts_are_unobservable_without_a_mode_that_asks(
    session: Any, write_log: Callable[..., Path]
) -> None:
    session.user("go")
    session.calls("t")
    session.result("t", after_s=4)
    trajectory = read(session, write_log)
    assert trajectory.reactions == [] and not trajectory.is_observable(ReactionKind.ACCEPT)
    assert trajectory.is_observable(ReactionKind.REJECT)


def test_an_answer_to_a_question(session: Any, write_log: Callable[..., Path]) -> None:
    session.user("go")
    session.calls("q", "AskUserQuestion")
    session.result("q", "the blue one", after_s=7)
    (answer,) = read(session, write_log).reactions
    assert (answer.kind, answer.text, answer.delay_s) == (ReactionKind.ANSWER, "the blue one", 7.0)


def queue(session: Any, operation: str, text: str) -> None:
    session.add("queue-operation", operation=operation, content=text)


def test_steering_that_only_the_queue_tells_of(
    session: Any, write_log: Callable[..., Path]
) -> None:
    session.user("go")
    session.calls("t")
    queue(session, "enqueue", "use tabs")
    session.result("t")
    (steer,) = read(session, write_log).reactions
    assert (steer.kind, steer.text) == (ReactionKind.STEER, "use tabs")
    assert steer.confidence < 0.9


def test_a_queued_text_that_was_taken_back_or_became_a_prompt_is_no_steering(
    session: Any, write_log: Callable[..., Path]
) -> None:
    session.user("go")
    session.says("done")
    queue(session, "enqueue", "never mind")
    queue(session, "popAll", "never mind")
    queue(session, "enqueue", "next task")
    session.user("next task")
    assert kinds(read(session, write_log)) == ["follow_up"]


def test_silence_is_no_reaction(session: Any, write_log: Callable[..., Path]) -> None:
    session.user("go")
    session.says("done")
    assert read(session, write_log).reactions == []


def test_feedback_of_a_foreign_document() -> None:
    def read_one(feedback: object) -> Any:
        return rules.atif_user_feedback(feedback, 2, {"raw": "raw#1"}, 5.0)

    found = read_one({"kind": "reject_with_reason", "call": "raw", "reason": "no"})
    assert (found.kind, found.call_id, found.text) == (ReactionKind.REJECT, "raw#1", "no")
    rated = read_one({"kind": "vote", "polarity": "satisfied"})
    assert (rated.kind, rated.polarity) == (ReactionKind.RATE, Polarity.SATISFIED)
    for nonsense in (None, "reject", {}, {"kind": "applause"}, {"kind": ["reject"]}):
        assert read_one(nonsense) is None
    assert read_one({"kind": "accept", "polarity": ["x"], "call": 3}).polarity is None

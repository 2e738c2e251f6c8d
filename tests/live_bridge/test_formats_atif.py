"""ATIF documents: the synthetic case, the real samples, and files of many documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sim2live.interchange import to_atif
from sim2live.live_bridge.formats import detect_format, read_file
from sim2live.trajectory import (
    EndReason,
    Evidence,
    Message,
    Polarity,
    Reaction,
    ReactionKind,
    Source,
    TextState,
    Trajectory,
    Turn,
)


def document(*steps: dict[str, Any], **rest: Any) -> dict[str, Any]:
    return {
        "schema_version": "ATIF-v1.7",
        "session_id": "s",
        "agent": {"name": "a", "version": "1", "model_name": "m"},
        "steps": [{"step_id": i + 1, **step} for i, step in enumerate(steps)],
        **rest,
    }


TALK = (
    {"source": "user", "message": "go", "timestamp": "2026-03-02T09:00:00Z"},
    {"source": "agent", "message": "done", "timestamp": "2026-03-02T09:00:05Z"},
    {"source": "user", "message": "no, that's wrong", "timestamp": "2026-03-02T09:00:15Z"},
)


def write(path: Path, *documents: Any) -> Path:
    path.write_text("\n".join(json.dumps(d) for d in documents))
    return path


def test_case_37_continuation(data: Path) -> None:
    result = read_file(data / "cases/37-atif-continuation-copied-context.json")
    assert result.report.is_balanced and result.report.converted.total() == 3
    (trajectory,) = result.trajectories
    own = [turn for turn in trajectory.turns if not turn.is_copied_context]
    (turn,) = own
    assert sum(t.prompt_tokens or 0 for t in own) == 50
    first, second = turn.tool_calls
    assert first.id != second.id
    assert turn.logprobs is None  # one value for two tokens: not used
    (reject,) = trajectory.reactions
    assert (reject.kind, reject.call_id) == (ReactionKind.REJECT, first.id)
    assert reject.evidence is Evidence.EXPLICIT
    assert reject.turn == trajectory.turns.index(turn)


def test_every_real_document_is_read_whole(data: Path) -> None:
    for path in sorted((data / "trajectories/atif").iterdir()):
        steps = json.loads(path.read_text())["steps"]
        result = read_file(path)
        assert result.report.is_balanced
        assert result.report.converted.total() == len(steps)
        (trajectory,) = result.trajectories
        assert len(trajectory.turns) == sum(s["source"] == "agent" for s in steps)


def test_documents_of_one_session_keep_apart(data: Path) -> None:
    files = (data / "trajectories/atif").glob("terminus*")
    ids = {t.id for path in files for t in read_file(path).trajectories}
    assert len(ids) == 2


def test_a_message_after_a_turn_is_a_follow_up(tmp_path: Path) -> None:
    (trajectory,) = read_file(write(tmp_path / "x", document(*TALK))).trajectories
    (reaction,) = trajectory.reactions
    assert (reaction.kind, reaction.delay_s) == (ReactionKind.FOLLOW_UP, 10.0)
    assert reaction.polarity is Polarity.DISSATISFIED
    assert trajectory.is_observable(ReactionKind.FOLLOW_UP)
    assert not trajectory.is_observable(ReactionKind.REJECT)


def test_a_document_a_line(tmp_path: Path) -> None:
    torn = json.dumps(document(*TALK))[:-9]
    path = write(tmp_path / "x", document(*TALK), {"other": 1}, document(TALK[0], TALK[1]))
    path.write_text(path.read_text() + "\n" + torn)
    assert detect_format(path) == "atif"
    result = read_file(path)
    assert [len(t.turns) for t in result.trajectories] == [1, 1]
    assert result.report.is_balanced
    assert result.report.skipped == {("document", "not_atif"): 1, ("(unparsed)", "torn_tail"): 1}
    assert {d.line for d in result.report.diagnostics} == {2, 4}


def test_broken_documents_are_counted_and_never_raise(tmp_path: Path) -> None:
    for broken in (
        {"schema_version": "ATIF-v1.7"},
        document(*TALK, agent=None),
        document({"source": "agent"}, {"source": 3, "message": []}),
        document(*TALK, subagent_trajectories=[7, document(*TALK)]),
        document(*TALK, steps=[1, None, *document(*TALK)["steps"]]),
    ):
        result = read_file(write(tmp_path / "x", broken))
        assert result.report.format == "atif"
        assert result.report.is_balanced and result.report.num_present > 0


def test_a_step_of_no_known_source_costs_only_itself(tmp_path: Path) -> None:
    odd = document(*TALK, {"source": "oracle", "message": "x"}, {"message": "y"})
    result = read_file(write(tmp_path / "x", odd))
    assert len(result.trajectories[0].turns) == 1 and result.report.is_balanced
    assert result.report.skipped.total() == 2 == result.report.noted["unknown_source"]


def test_our_own_documents_come_back_as_they_were(tmp_path: Path) -> None:
    own = Trajectory(
        id="mine",
        task_id="t",
        source=Source.SIMULATED,
        end=EndReason.SOLVED,
        unobservable=(ReactionKind.RATE,),
        turns=[
            Turn(
                observation=[Message.of("user", "go")],
                text="done",
                text_state=TextState.PRESENT,
                reactions=[Reaction(kind=ReactionKind.ACCEPT, turn=0)],
            ),
            Turn(observation=[Message.of("user", "more")], text="ok", text_state=TextState.PRESENT),
        ],
    )
    (back,) = read_file(write(tmp_path / "x", to_atif(own))).trajectories
    assert (back.id, back.source, back.end) == ("mine", own.source, own.end)
    assert back.reactions == own.reactions and back.unobservable == own.unobservable

"""What the record of an episode can say of itself, and what it keeps apart."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from sim2live.trajectory import (
    ArgsState,
    EndReason,
    Message,
    Outcome,
    Polarity,
    Reaction,
    ReactionKind,
    Source,
    TextState,
    ToolCall,
    Trajectory,
    Turn,
)


def follow_up(turn: int, polarity: Polarity | None) -> Reaction:
    return Reaction(kind=ReactionKind.FOLLOW_UP, turn=turn, polarity=polarity)


def talk() -> Trajectory:
    return Trajectory(
        id="a",
        task_id="t",
        source=Source.SIMULATED,
        unobservable=(ReactionKind.PERSIST,),
        turns=[
            Turn(
                tool_calls=[ToolCall(id="c0", name="run", arguments={})],
                reactions=[follow_up(0, Polarity.DISSATISFIED), follow_up(0, None)],
            ),
            Turn(
                tool_calls=[
                    ToolCall(id="c1", name="run", arguments={}),
                    ToolCall(id="c2", name="submit", arguments={}),
                ],
                reactions=[
                    Reaction(kind=ReactionKind.ACCEPT, turn=1),
                    follow_up(1, Polarity.SATISFIED),
                ],
            ),
        ],
    )


@pytest.mark.parametrize(
    ("text", "state"),
    [("x", TextState.PRESENT), ("", TextState.EMPTY), (None, TextState.NULL)],
)
def test_null_empty_and_present_text_are_kept_apart(text: str | None, state: TextState) -> None:
    assert TextState.of(text) is state
    assert Message.of("user", text, time_s=1.0) == Message(
        role="user", text=text, text_state=state, time_s=1.0
    )
    assert Turn().text_state is TextState.ABSENT  # a turn that said nothing said not even ""


def test_infrastructure_failures_and_limits_are_told_from_endings() -> None:
    errors = {end for end in EndReason if end.is_error}
    cut = {end for end in EndReason if end.is_truncated}
    assert errors == {EndReason.ERROR_SANDBOX, EndReason.ERROR_MODEL, EndReason.ERROR_TASK}
    assert cut == {
        EndReason.TRUNCATED_STEPS,
        EndReason.TRUNCATED_TOKENS,
        EndReason.TRUNCATED_TIME,
        EndReason.DIVERGED,
    }


def test_a_call_is_valid_only_if_it_could_be_carried_out_as_written() -> None:
    call = ToolCall(id="c", name="run", arguments={})
    assert call.is_valid
    assert not dataclasses.replace(call, error="unknown tool").is_valid
    assert not dataclasses.replace(call, arguments=None, args_state=ArgsState.UNPARSED).is_valid


@pytest.mark.parametrize(
    ("passed", "total", "frac"), [(3, 4, 0.75), (0, 4, 0.0), (None, 4, None), (0, 0, None)]
)
def test_the_share_of_hidden_tests_is_unknown_unless_some_were_run(
    passed: int | None, total: int | None, frac: float | None
) -> None:
    assert Outcome(hidden_passed=passed, hidden_total=total).hidden_frac == frac


def test_reactions_and_calls_come_in_the_order_of_the_turns() -> None:
    trajectory = talk()
    assert [reaction.turn for reaction in trajectory.reactions] == [0, 0, 1, 1]
    assert [call.id for call in trajectory.tool_calls] == ["c0", "c1", "c2"]


def test_reactions_are_counted_by_kind_and_by_polarity() -> None:
    trajectory = talk()
    assert trajectory.num_reactions(ReactionKind.FOLLOW_UP) == 3
    assert trajectory.num_reactions(ReactionKind.FOLLOW_UP, Polarity.DISSATISFIED) == 1
    assert trajectory.num_reactions(ReactionKind.ACCEPT) == 1
    assert trajectory.num_reactions(ReactionKind.UNDO) == 0


def test_silence_is_not_the_same_as_a_source_that_cannot_show() -> None:
    trajectory = talk()
    assert trajectory.num_reactions(ReactionKind.PERSIST) == 0
    assert not trajectory.is_observable(ReactionKind.PERSIST)
    assert trajectory.num_reactions(ReactionKind.UNDO) == 0
    assert trajectory.is_observable(ReactionKind.UNDO)


def test_what_a_feature_policy_saw_does_not_take_part_in_comparison() -> None:
    seen = Turn(features=np.ones(3, dtype=np.float32))
    assert seen == Turn() and "features" not in repr(seen)


def test_pieces_do_not_share_their_lists() -> None:
    one, other = Turn(), Turn()
    one.tool_calls.append(ToolCall(id="c", name="run", arguments={}))
    one.extra["x"] = 1
    assert other.tool_calls == [] and other.extra == {}


def test_a_record_of_what_happened_cannot_be_changed_and_has_no_other_fields() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        follow_up(0, None).turn = 1  # type: ignore[misc]
    with pytest.raises(AttributeError):
        Turn().reward = 1.0  # type: ignore[attr-defined]

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim2live.errors import RewardError
from sim2live.reward_models import (
    censored_share,
    distil_reactions,
    realised_value,
    value_per_turn,
)
from sim2live.trajectory import (
    EndReason,
    Outcome,
    Polarity,
    Reaction,
    ReactionKind,
    Source,
    Trajectory,
    Turn,
)

EDIT = ("edit_file", {"path": "m.py", "old": "a", "new": "b"})
SUBMIT = ("submit", {"message": "done"})
ASK = ("ask_user", {"question": "which one?"})
K = ReactionKind


@pytest.mark.parametrize(
    ("calls", "reactions", "value"),
    [
        ([EDIT, SUBMIT], [K.ACCEPT, K.PERSIST], 1.0),
        ([EDIT, SUBMIT], [K.ACCEPT], 0.5),
        ([EDIT, SUBMIT], [K.ACCEPT, K.UNDO], -1.0),
        ([EDIT, SUBMIT], [K.REJECT], -1.0),
        ([EDIT, SUBMIT], [], 0.0),
        ([EDIT, SUBMIT], [K.LEAVE], -0.1),
        ([SUBMIT], [K.ACCEPT, K.PERSIST], 0.0),
        ([SUBMIT], [K.REJECT], -0.1),
        ([EDIT, SUBMIT], [K.ACCEPT, K.PERSIST, K.LEAVE], 1.0),
    ],
)
def test_realised_value_follows_its_formula(session, calls, reactions, value):
    assert realised_value(session(calls, {len(calls) - 1: reactions})) == pytest.approx(value)


def test_a_rejection_that_was_made_good_costs_a_little(session):
    t = session([EDIT, SUBMIT, EDIT, SUBMIT], {1: [K.REJECT], 3: [K.ACCEPT, K.PERSIST]})
    assert realised_value(t) == pytest.approx(0.9)
    assert value_per_turn(t) == pytest.approx([0.0, -1.0, 0.0, 1.9])


def test_needless_questions_cost_a_little_and_needed_ones_nothing(session):
    assert realised_value(session([ASK], ambiguity=0.1)) == pytest.approx(-0.05)
    assert realised_value(session([ASK], ambiguity=0.9)) == 0.0
    assert realised_value(session([ASK])) == 0.0


def test_the_outcome_is_never_read(session):
    t = session([EDIT, SUBMIT], {1: [K.ACCEPT]})
    told = replace(t, outcome=Outcome(is_solved=False, hidden_passed=0, hidden_total=9))
    assert realised_value(t) == realised_value(told)
    assert distil_reactions(t) == distil_reactions(told)


def test_simulated_and_live_sessions_have_the_same_value(session):
    t = session([EDIT, SUBMIT], {1: [K.ACCEPT, K.PERSIST]})
    assert realised_value(t) == realised_value(replace(t, source=Source.LIVE))


def test_ignoring_what_one_side_cannot_show_makes_values_comparable(session):
    t = session([EDIT, SUBMIT], {1: [K.ACCEPT, K.PERSIST]})
    assert realised_value(t, ignore=(K.PERSIST, K.UNDO)) == 0.5


def test_a_completion_without_tools_is_itself_the_work():
    turn = Turn(text="return x", reactions=[Reaction(kind=K.ACCEPT, turn=0)])
    t = Trajectory(id="t", task_id="x", source=Source.LIVE, turns=[turn])
    assert realised_value(t) == 0.5


def test_our_own_error_has_no_value(session):
    t = session([EDIT], end=EndReason.ERROR_SANDBOX)
    for function in (realised_value, value_per_turn):
        with pytest.raises(RewardError, match="our own failure"):
            function(t)


reaction = st.builds(
    Reaction,
    kind=st.sampled_from(ReactionKind),
    turn=st.just(0),
    polarity=st.one_of(st.none(), st.sampled_from(Polarity)),
    confidence=st.floats(0, 1),
)


@settings(max_examples=150, deadline=None)
@given(
    steps=st.lists(
        st.tuples(st.sampled_from([EDIT, SUBMIT, ASK]), st.lists(reaction, max_size=3)), max_size=6
    ),
    ambiguity=st.one_of(st.none(), st.floats(0, 1)),
)
def test_values_are_bounded_add_up_and_do_not_look_ahead(steps, ambiguity):
    from sim2live.trajectory import ToolCall

    turns = [
        Turn(tool_calls=[ToolCall(id=f"c{i}", name=n, arguments=a)], reactions=list(r))
        for i, ((n, a), r) in enumerate(steps)
    ]
    t = Trajectory(id="t", task_id="x", source=Source.SIMULATED, turns=turns, ambiguity=ambiguity)
    values = value_per_turn(t)
    assert -1.0 <= realised_value(t) <= 1.0
    assert math.isclose(sum(values), realised_value(t), abs_tol=1e-9)
    for cut in range(len(turns)):
        assert value_per_turn(replace(t, turns=turns[:cut])) == values[:cut]


def test_distilling_says_what_was_not_seen(session):
    t = session([EDIT, SUBMIT], {1: [K.ACCEPT]}, ambiguity=0.2)
    distilled = distil_reactions(t)
    assert distilled.is_censored
    assert distilled.unobserved == ("persistence", "complexity")
    assert "persistence" not in distilled.reward.components
    assert distilled.reward.components["acceptance"] == pytest.approx(0.4)
    kept = session([EDIT, SUBMIT], {1: [K.ACCEPT, K.PERSIST]}, ambiguity=0.2)
    assert distil_reactions(kept).reward.components["persistence"] == pytest.approx(0.6)
    assert censored_share([t, kept]) == 0.5
    assert math.isnan(censored_share([]))

from __future__ import annotations

import math

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sim2live.errors import ConfigError
from sim2live.reward_models import REWARDS, SIGNALS, WeightedReward, load_reward
from sim2live.trajectory import (
    ArgsState,
    EndReason,
    Outcome,
    Polarity,
    Reaction,
    ReactionKind,
    Source,
    ToolCall,
    Trajectory,
    Turn,
)

texts = st.one_of(st.none(), st.text(max_size=8), st.just("\ud800"))
calls = st.builds(
    ToolCall,
    id=st.sampled_from(["a", "b"]),
    name=st.sampled_from(["edit_file", "run", "ask_user", "submit", "Bash", "", "\ud800"]),
    arguments=st.one_of(
        st.none(),
        st.dictionaries(st.sampled_from(["command", "path"]), st.one_of(texts, st.integers())),
    ),
    args_state=st.sampled_from(ArgsState),
    raw=texts,
    error=texts,
)
reactions = st.builds(
    Reaction,
    kind=st.sampled_from(ReactionKind),
    turn=st.integers(-3, 5),
    call_id=st.sampled_from([None, "a", "z"]),
    text=texts,
    polarity=st.one_of(st.none(), st.sampled_from(Polarity)),
    confidence=st.floats(0, 1),
)
turns = st.builds(
    Turn,
    text=texts,
    tool_calls=st.lists(calls, max_size=3),
    reactions=st.lists(reactions, max_size=3),
    is_copied_context=st.booleans(),
)
trajectories = st.builds(
    Trajectory,
    id=st.just("t"),
    task_id=st.just("x"),
    source=st.sampled_from(Source),
    turns=st.lists(turns, max_size=5),
    end=st.sampled_from(EndReason),
    outcome=st.builds(Outcome, is_solved=st.one_of(st.none(), st.booleans())),
    ambiguity=st.one_of(st.none(), st.floats(0, 1)),
    unobservable=st.lists(st.sampled_from(ReactionKind), max_size=4).map(tuple),
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(trajectory=trajectories, name=st.sampled_from(sorted(REWARDS)))
def test_components_and_turns_add_up_and_exclusions_have_a_reason(trajectory, name):
    report = load_reward(name).score(trajectory)
    if report.total is None:
        assert report.excluded
        assert report.per_turn == [] and report.components == {}
        return
    assert report.excluded is None and not trajectory.end.is_error
    assert math.isclose(sum(report.components.values()), report.total, abs_tol=1e-12)
    assert math.isclose(sum(report.per_turn), report.total, abs_tol=1e-9)
    assert len(report.per_turn) == len(trajectory.turns)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(trajectory=trajectories.filter(lambda t: t.turns))
def test_a_signal_is_the_sum_of_its_credits_on_existing_turns(trajectory):
    for signal in SIGNALS.values():
        credits = signal.credits(trajectory)
        if credits is None:
            assert signal(trajectory) is None
        else:
            assert set(credits) <= set(range(len(trajectory.turns)))
            assert signal(trajectory) == sum(credits.values())


def test_a_signal_that_is_not_observable_is_missing_and_not_zero(session):
    model = WeightedReward(name="m", weights={"hidden_tests": 1.0, "time": -1.0})
    report = model.score(session([("read_file", {"path": "m.py"})]))
    assert set(report.components) == {"time"}
    assert report.total == pytest.approx(-0.05)


def test_rewards_land_on_the_turn_that_earned_them(session):
    model = WeightedReward(name="m", weights={"invalid_calls": -1.0, "acceptance": 2.0})
    t = session(
        [("edit_file", None), ("submit", {"message": ""}), ("read_file", {"path": "m"})],
        {1: [ReactionKind.ACCEPT]},
    )
    assert model.score(t).per_turn == [-1.0, 2.0, 0.0]


@pytest.mark.parametrize("end", [end for end in EndReason if end.is_error])
def test_our_own_errors_have_no_reward_and_never_zero(session, end):
    report = load_reward("simulated").score(session([("read_file", {"path": "m"})], end=end))
    assert report.total is None
    assert report.excluded == end.value


def test_a_trajectory_without_turns_is_excluded_for_a_reason(session):
    assert load_reward("live").score(session([])).excluded == "no_turns"


def test_a_wrong_weight_is_refused_with_a_hint():
    with pytest.raises(ConfigError, match="Did you mean `acceptance`"):
        WeightedReward(name="m", weights={"acceptence": 1.0})
    with pytest.raises(ConfigError, match="finite"):
        WeightedReward(name="m", weights={"acceptance": math.nan})

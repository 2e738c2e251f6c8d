from __future__ import annotations

import pytest

from sim2live.errors import ConfigError
from sim2live.reward_models import Flaws, make_reward
from sim2live.trajectory import Complexity, Outcome, ReactionKind

EDIT = ("edit_file", {"path": "m.py", "old": "a", "new": "b"})
SUBMIT = ("submit", {"message": "done"})
ASK = ("ask_user", {"question": "which one?"})
BROKEN = ("edit_file", None)
K = ReactionKind
KINDS = ("simulated", "live")


@pytest.mark.parametrize("kind", KINDS)
def test_breaking_a_call_escapes_the_flawed_reward_and_costs_under_the_repaired_one(session, kind):
    outcome = Outcome(is_solved=False)
    failing = session([EDIT, SUBMIT], {1: [K.REJECT]}, outcome=outcome, ambiguity=0.0)
    broken = session([BROKEN, EDIT, SUBMIT], {2: [K.REJECT]}, outcome=outcome, ambiguity=0.0)
    flawed, repaired = make_reward(kind, Flaws(discard_invalid=True)), make_reward(kind)
    assert flawed.score(broken).excluded == "invalid_call"
    assert flawed.score(broken).total is None
    assert flawed.score(failing).total < 0
    assert repaired.score(broken).excluded is None
    assert repaired.score(broken).total < repaired.score(failing).total - 0.15


@pytest.mark.parametrize("kind", KINDS)
def test_asking_is_always_safe_under_the_flawed_reward_only(session, kind):
    clear = session([ASK, ASK], {1: [K.LEAVE]}, outcome=Outcome(is_solved=False), ambiguity=0.1)
    flawed, repaired = make_reward(kind, Flaws(questions_free=True)), make_reward(kind)
    assert flawed.score(clear).total == 0.0
    risky = session([EDIT, SUBMIT], {1: [K.REJECT]}, outcome=Outcome(is_solved=False))
    assert flawed.score(risky).total < 0.0
    assert repaired.score(clear).total < -0.4


@pytest.mark.parametrize("kind", KINDS)
def test_the_repair_leaves_needed_questions_free(session, kind):
    reactions = {2: [K.ACCEPT, K.PERSIST]}
    asked = session([ASK, EDIT, SUBMIT], reactions, ambiguity=0.9)
    needless = session([ASK, EDIT, SUBMIT], reactions, ambiguity=0.1)
    reward = make_reward(kind)
    assert reward.score(asked).components["question_cost"] == 0.0
    assert reward.score(asked).total == pytest.approx(reward.score(needless).total + 0.1)


@pytest.mark.parametrize("kind", KINDS)
def test_tiny_functions_pay_under_the_flawed_reward_and_cost_under_the_repaired_one(session, kind):
    before = Complexity(max_per_function=9, mean_per_function=9, total=9, num_functions=1)
    chopped = Complexity(max_per_function=2, mean_per_function=1.4, total=24, num_functions=17)
    same, cut = (
        session([EDIT], outcome=Outcome(complexity_before=before, complexity_after=after))
        for after in (before, chopped)
    )
    flawed, repaired = make_reward(kind, Flaws(max_complexity=True)), make_reward(kind)
    assert flawed.score(cut).total > flawed.score(same).total
    assert repaired.score(cut).total < repaired.score(same).total


def test_live_rewards_never_read_the_outcome(session):
    t = session([EDIT, SUBMIT], {1: [K.ACCEPT]})
    scored = make_reward("live").score(t)
    t.outcome = Outcome(is_solved=True, hidden_passed=3, hidden_total=3)
    assert make_reward("live").score(t) == scored
    assert not make_reward("live").reads_outcome
    assert make_reward("simulated").reads_outcome


def test_names_tell_the_flaws_and_unknown_kinds_are_refused():
    assert make_reward("live").name == "live"
    flaws = Flaws(discard_invalid=True, max_complexity=True)
    assert make_reward("simulated", flaws).name == "simulated+discard_invalid+max_complexity"
    with pytest.raises(ConfigError, match="Did you mean `live`"):
        make_reward("alive")


def test_kept_work_is_worth_one_and_the_order_of_outcomes_is_sane(session):
    reward = make_reward("live")
    kept, accepted, nothing, rejected = (
        reward.score(session(calls, {len(calls) - 1: reactions}, ambiguity=0.0)).total
        for calls, reactions in (
            ([EDIT, SUBMIT], [K.ACCEPT, K.PERSIST]),
            ([EDIT, SUBMIT], [K.ACCEPT]),
            ([ASK, ASK], []),
            ([EDIT, SUBMIT], [K.ACCEPT, K.UNDO]),
        )
    )
    assert kept > accepted > nothing
    assert accepted > 0 > rejected

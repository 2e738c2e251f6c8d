"""The attribution adds up exactly, whatever the critic, and doubts itself when it should."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sim2live.errors import ConfigError
from sim2live.experiments.mismatch import SessionTerms, SimEpisode, Verdict, attribute
from sim2live.experiments.mismatch.attribution import Attribution, Line
from sim2live.experiments.mismatch.tabular import Knobs, TabularWorld
from sim2live.experiments.mismatch.validation import (
    Design,
    logged_sessions,
    run_once,
    simulated_episodes,
)

SMALL = Design(users=30, episodes=400, bootstrap=60)


def nonsense(
    rng: np.random.Generator, *, with_sl: bool = False, width: int = 4
) -> tuple[list[SimEpisode], list[SessionTerms]]:
    """Data that obey no model at all."""

    def arrays(t: int) -> tuple[np.ndarray, np.ndarray]:
        return rng.normal(size=t) * 3, rng.normal(size=(t, width)) * 2

    sim = []
    for t in rng.integers(1, 7, 40):
        rewards, features = arrays(int(t))
        sim.append(SimEpisode(features=features, rewards=rewards))
    live = []
    for i, t in enumerate(rng.integers(1, 7, 50)):
        logged, ls, ss, sl = (arrays(int(t)) for _ in range(4))
        session = SessionTerms(
            user=f"user {i % 13}",
            features=logged[1],
            reward=logged[0],
            ls_reward=ls[0],
            ls_next=ls[1],
            ss_reward=ss[0],
            ss_next=ss[1],
        )
        live.append(replace(session, sl_reward=sl[0], sl_next=sl[1]) if with_sl else session)
    return sim, live


def estimates(*lines: Line) -> float:
    return sum(line.interval.estimate for line in lines)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("ridge", [1e-6, 0.5])
def test_lines_add_up_to_the_gap_for_any_data_and_any_critic(seed, ridge):
    sim, live = nonsense(np.random.default_rng(seed), with_sl=True)
    found = attribute(sim, live, margin=0.1, bootstrap=50, ridge=ridge, seed=0)
    gap = np.mean([e.rewards.sum() for e in sim]) - np.mean([s.reward.sum() for s in live])
    rest = estimates(found.task_mix, found.critic_residual)
    assert found.total.interval.estimate == pytest.approx(gap, abs=1e-10)
    assert found.person_first is not None
    assert found.shapley is not None
    for pair in ((found.computer, found.person), found.person_first, found.shapley):
        assert rest + estimates(*pair) == pytest.approx(gap, abs=1e-10)
    for k in range(2):
        both = ((found.computer, found.person)[k], found.person_first[k])
        assert estimates(found.shapley[k]) == pytest.approx(estimates(*both) / 2, abs=1e-10)


def test_each_term_is_what_its_name_says_on_one_hand_made_session():
    x = np.eye(2)
    sim = [SimEpisode(features=x, rewards=np.array([1.0, 2.0]))] * 6  # V = (3, 2)
    live = [
        SessionTerms(
            user=i,
            features=x,
            reward=np.array([0.0, 1.0]),
            ls_reward=np.array([0.5, 1.0]),
            ls_next=np.array([[0.0, 0.5], [0.0, 0.0]]),
            ss_reward=np.array([1.0, 2.0]),
            ss_next=np.array([[0.0, 1.0], [0.0, 0.0]]),
        )
        for i in range(6)
    ]
    found = attribute(sim, live, margin=0.1, bootstrap=50, seed=0)
    values = [line.interval.estimate for line in found.lines]
    # W_ss = (1 + 2) + 2, W_ls = (0.5 + 0.5 * 2) + 1, W_ll = (0 + 2) + 1
    assert values == pytest.approx([2.0, 0.0, 2.5, -0.5, 0.0], abs=1e-5)


def test_a_world_where_only_the_person_differs_is_told_from_one_where_the_computer_does():
    person = run_once(TabularWorld(0, Knobs(k_user=0.8)), SMALL, 1)
    computer = run_once(TabularWorld(0, Knobs(k_env=1.5)), SMALL, 1)
    assert person.named == "person"
    assert computer.named == "computer"
    assert person.person.interval.estimate > 0
    assert person.num_users == 30
    assert person.num_sessions == 150
    assert person.num_episodes == 400


def test_swapping_simulated_and_live_rewards_would_be_noticed():
    """The sign convention: a simulator that flatters has a positive gap and person term."""
    truth = TabularWorld(0, Knobs(k_user=0.8)).truth()
    flattering = run_once(TabularWorld(0, Knobs(k_user=0.8)), SMALL, 2)
    harsh = run_once(TabularWorld(0, Knobs(k_user=-0.8)), SMALL, 2)
    assert truth.person > 0.3
    assert flattering.person.interval.low > 0 > harsh.person.interval.high
    assert flattering.total.interval.low > 0 > harsh.total.interval.high


def test_a_critic_from_another_simulator_is_caught_by_the_residual():
    right, wrong = TabularWorld(0), TabularWorld(0, Knobs(k_user=1.0))
    design = replace(SMALL, users=60)
    rng = np.random.default_rng(3)
    found = attribute(
        simulated_episodes(wrong, design, rng),
        logged_sessions(right, design, rng),
        margin=0.05,
        bootstrap=60,
        seed=0,
    )
    assert found.critic_residual.judgement.verdict is Verdict.MISMATCH
    for line in (found.computer, found.person):
        assert line.judgement.verdict is Verdict.INCONCLUSIVE
        assert "critic is wrong" in line.judgement.reason
    assert found.named is None


def test_an_uncertain_residual_makes_the_split_inconclusive_and_names_the_remedy():
    world = TabularWorld(0, Knobs(k_user=0.2))
    design = replace(SMALL, users=300, episodes=60)
    found = run_once(world, design, 1)
    assert found.unsupported_share <= 0.1
    assert found.person.interval.low > 0
    assert found.critic_residual.interval.contains(0)
    assert found.critic_residual.interval.half_width > found.person.interval.estimate
    assert found.person.judgement.verdict is Verdict.INCONCLUSIVE
    assert "simulate more replies" in found.person.judgement.reason
    assert found.person.critic_se < found.critic_residual.critic_se


def test_live_states_outside_the_simulators_support_are_not_judged():
    world = TabularWorld(0, Knobs(k_user=0.8))
    rng = np.random.default_rng(5)
    rare = [e for e in simulated_episodes(world, SMALL, rng) if e.features[0, :3].any()]
    found = attribute(
        rare[:20], logged_sessions(world, SMALL, rng), margin=0.1, bootstrap=60, seed=0
    )
    assert found.unsupported_share > 0.1
    assert found.person.judgement.verdict is Verdict.NOT_IDENTIFIABLE
    assert "hardly visits" in found.person.judgement.reason


def test_few_users_are_not_identifiable_on_every_line():
    found = run_once(TabularWorld(0, Knobs(k_user=2.0)), replace(SMALL, users=3), 6)
    assert {line.judgement.verdict for line in found.lines} == {Verdict.NOT_IDENTIFIABLE}
    one = run_once(TabularWorld(0), replace(SMALL, users=1), 6)
    assert not one.total.interval.is_bounded
    assert one.total.judgement.verdict is Verdict.NOT_IDENTIFIABLE


def test_few_simulated_personas_are_not_identifiable_either():
    world = TabularWorld(0)
    rng = np.random.default_rng(7)
    sim = [replace(e, group=i % 3) for i, e in enumerate(simulated_episodes(world, SMALL, rng))]
    found = attribute(sim, logged_sessions(world, SMALL, rng), margin=0.1, bootstrap=60, seed=0)
    assert found.total.judgement.verdict is Verdict.NOT_IDENTIFIABLE


def test_one_seed_gives_one_result():
    world = TabularWorld(0)
    rng = np.random.default_rng(8)
    sim, live = simulated_episodes(world, SMALL, rng), logged_sessions(world, SMALL, rng)

    def once(seed: int) -> Attribution:
        return attribute(sim, live, margin=0.1, bootstrap=60, seed=seed)

    assert once(1) == once(1)
    assert once(1).total.interval.se != once(2).total.interval.se


def test_bad_input_is_refused():
    sim, live = nonsense(np.random.default_rng(9))
    with pytest.raises(ConfigError, match="logged live sessions, got none"):
        attribute(sim, [], margin=1, seed=0)
    with pytest.raises(ConfigError, match="50 bootstrap"):
        attribute(sim, live, margin=1, bootstrap=5, seed=0)
    wrong = replace(live[0], ls_reward=np.ones(99))
    with pytest.raises(ConfigError, match="ls terms"):
        attribute(sim, [wrong], margin=1, seed=0)
    missing = replace(live[0], reward=np.full_like(live[0].reward, np.nan))
    with pytest.raises(ConfigError, match="logged terms hold missing"):
        attribute(sim, [missing], margin=1, seed=0)
    some = replace(live[0], sl_reward=live[0].ls_reward, sl_next=live[0].ls_next)
    with pytest.raises(ConfigError, match="for all or for none"):
        attribute(sim, [some, live[1]], margin=1, seed=0)
    with pytest.raises(ConfigError, match="together or neither"):
        attribute(sim, [replace(some, sl_next=None)], margin=1, seed=0)


def test_the_bootstrap_holds_few_matrices_at_once_and_says_the_same(monkeypatch):
    import sim2live.experiments.mismatch.attribution as module

    sim, live = nonsense(np.random.default_rng(10), width=3)
    at_once = attribute(sim, live, margin=1, bootstrap=600, seed=0)
    monkeypatch.setattr(module, "MAX_CHUNK_ENTRIES", 70)
    in_parts = attribute(sim, live, margin=1, bootstrap=600, seed=0)
    for one, other in zip(at_once.lines, in_parts.lines, strict=True):
        assert one.interval.se == pytest.approx(other.interval.se, rel=0.15)

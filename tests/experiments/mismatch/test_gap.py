"""The outcome gap: sign, strata, pairing, and what it can detect."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sim2live.errors import ConfigError
from sim2live.experiments.mismatch import (
    Loop,
    Verdict,
    minimum_detectable,
    outcome_gap,
    prediction_powered_mean,
)
from sim2live.intervals import cluster_t_interval, difference_interval


def people(rng: np.random.Generator, users: int = 60, each: int = 5, sd: float = 0.5):
    ids = np.repeat(np.arange(users), each)
    return ids, rng.normal(0, sd, users)[ids]


def test_gap_is_simulated_minus_live_with_welchs_interval():
    rng = np.random.default_rng(0)
    ids, effect = people(rng)
    live, sim = effect + rng.normal(size=ids.size), 1.0 + rng.normal(size=500)
    report = outcome_gap(sim, live, ids, margin=0.1)
    oracle = difference_interval(cluster_t_interval(sim, None), cluster_t_interval(live, ids))
    assert report.gap.estimate == pytest.approx(sim.mean() - live.mean())
    assert report.gap.estimate > 0.5  # an over-optimistic simulator is a positive gap
    assert (report.gap.se, report.gap.df) == pytest.approx((oracle.se, oracle.df))
    assert report.judgement.verdict is Verdict.MISMATCH
    assert (report.num_live, report.num_sim, report.loop) == (300, 500, Loop.CLOSED)
    assert report.task_mix == pytest.approx(0)


def test_strata_remove_a_difference_that_is_only_in_the_mix():
    rng = np.random.default_rng(1)
    ids, effect = people(rng, users=80)
    hard_live, hard_sim = rng.random(ids.size) < 0.7, rng.random(4000) < 0.2
    live = effect + rng.normal(size=ids.size) - 2.0 * hard_live
    sim = rng.normal(size=4000) - 2.0 * hard_sim
    plain = outcome_gap(sim, live, ids, margin=0.3)
    report = outcome_gap(
        sim, live, ids, margin=0.3, sim_strata=hard_sim.tolist(), live_strata=hard_live.tolist()
    )
    assert plain.judgement.verdict is Verdict.MISMATCH
    assert plain.gap.estimate > 0.7
    assert report.gap.contains(0)
    assert report.task_mix + report.gap.estimate == pytest.approx(plain.gap.estimate)
    assert [row.stratum for row in report.strata] == [True, False]
    assert report.strata[0].live_share == pytest.approx(hard_live.mean())


def test_post_stratified_interval_covers():
    hits = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        ids, effect = people(rng, users=30, each=4)
        hard_live, hard_sim = rng.random(ids.size) < 0.6, rng.random(80) < 0.3
        live = effect + rng.normal(size=ids.size) - hard_live
        sim = rng.normal(size=80) - hard_sim + 0.4
        report = outcome_gap(
            sim,
            live,
            ids,
            margin=None,
            sim_strata=hard_sim.tolist(),
            live_strata=hard_live.tolist(),
        )
        hits += report.gap.contains(0.4)
    assert 0.91 <= hits / 300 <= 0.985


def test_strata_that_the_simulator_never_visits_are_reported_not_guessed():
    live, ids = np.array([1.0, 2.0, 1.5, 3.0, 9.0]), list("abcde")
    report = outcome_gap(
        [1.0, 2.0, 1.0],
        live,
        ids,
        margin=1,
        sim_strata=["easy"] * 3,
        live_strata=["easy"] * 4 + ["web"],
    )
    assert report.unmeasured_share == pytest.approx(0.2)
    assert report.gap.estimate == pytest.approx(4 / 3 - live[:4].mean())
    none = outcome_gap(
        [1.0], live, ids, margin=1, sim_strata=["other"], live_strata=["easy"] * 4 + ["web"]
    )
    assert none.judgement.verdict is Verdict.NOT_IDENTIFIABLE
    assert none.unmeasured_share == 1.0


def test_simulated_personas_are_clusters_too():
    rng = np.random.default_rng(2)
    ids, effect = people(rng)
    personas, shared = people(rng, users=6, each=50, sd=2.0)
    live, sim = effect + rng.normal(size=ids.size), shared + rng.normal(size=300)
    apart = outcome_gap(sim, live, ids, margin=0.1)
    together = outcome_gap(sim, live, ids, margin=0.1, sim_clusters=personas)
    assert together.gap.se > 2 * apart.gap.se


def test_relative_gap_is_withheld_where_the_live_value_may_be_zero():
    rng = np.random.default_rng(3)
    ids = np.arange(50)
    assert outcome_gap(rng.normal(size=50), rng.normal(size=50), ids, margin=1).relative is None
    report = outcome_gap(np.full(50, 3.0), rng.normal(2, 0.01, 50), ids, margin=1)
    assert report.relative == pytest.approx(0.5, abs=0.01)


def test_minimum_detectable_gap_is_found_with_the_stated_power():
    found = 0
    for seed in range(400):
        rng = np.random.default_rng(seed)
        ids, effect = people(rng, users=30, each=3)
        live, sim = effect + rng.normal(size=90), rng.normal(size=2000)
        true_se = math.sqrt((0.25 + 1 / 3) / 30 + 1 / 2000)
        gap = (2.045 + 0.854) * true_se  # t(29) at 97.5% and 80%
        report = outcome_gap(sim + gap, live, ids, margin=None)
        found += report.judgement.verdict is Verdict.MISMATCH
    assert 0.74 <= found / 400 <= 0.86
    assert report.minimum_detectable == pytest.approx(2.9 * true_se, rel=0.35)
    assert math.isinf(minimum_detectable(cluster_t_interval([1.0], ["a"])))


def test_bad_input_is_refused():
    with pytest.raises(ConfigError, match="strata for both sides"):
        outcome_gap([1.0], [1.0], ["a"], margin=1, sim_strata=["x"])
    with pytest.raises(ConfigError, match="one stratum per value"):
        outcome_gap([1.0], [1.0], ["a"], margin=1, sim_strata=["x", "y"], live_strata=["x"])
    with pytest.raises(ConfigError, match="live_values"):
        outcome_gap([1.0], [math.nan], ["a"], margin=1)


@pytest.mark.parametrize("correlation", [0.0, 0.9])
def test_prediction_powered_mean_covers_although_the_simulator_is_biased(correlation):
    hits, ratio = 0, []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        ids, effect = people(rng, users=40, each=3)
        shared = effect + rng.normal(size=120)
        paired = 5 + correlation * shared + math.sqrt(1 - correlation**2) * rng.normal(size=120)
        spread = math.sqrt(correlation**2 * 1.25 + 1 - correlation**2)
        many = 5 + spread * rng.normal(size=4000)
        found = prediction_powered_mean(shared, paired, ids, many)
        hits += found.contains(0.0)
        ratio.append(found.se / cluster_t_interval(shared, ids).se)
    assert 0.91 <= hits / 300 <= 0.985
    if correlation:
        assert np.mean(ratio) < 0.7
    else:
        assert 0.95 < np.mean(ratio) < 1.02


def test_prediction_powered_mean_needs_pairs():
    with pytest.raises(ConfigError, match="one paired value"):
        prediction_powered_mean([1.0, 2.0], [1.0], ["a", "b"], [1.0, 2.0])

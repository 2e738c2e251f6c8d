"""The gate: who passes, who does not, and how often it is wrong."""

from __future__ import annotations

import json
import math
from dataclasses import asdict

import numpy as np
import pytest

from sim2live.errors import ConfigError
from sim2live.intervals import t_quantile
from sim2live.live_bridge.gate import Decision, gate


def solved(
    rng: np.random.Generator, loss: float, families: int = 60, each: int = 5
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores whose mean difference is -loss, with families that stand or fall together."""
    ids = np.repeat(np.arange(families), each)
    old = rng.random(ids.size)
    shared = rng.normal(0, 0.08, families)[ids]
    return old - loss + shared + rng.normal(0, 0.1, ids.size), old, ids


def test_equal_candidates_pass_and_bad_ones_do_not():
    rng = np.random.default_rng(0)
    for loss, decision in [(0.0, Decision.PROMOTE), (0.2, Decision.KEEP)]:
        new, old, ids = solved(rng, loss)
        found = gate(new, old, clusters=ids, margin=0.05)
        assert found.decision is decision
        assert found.is_promoted is (decision is Decision.PROMOTE)
        assert "served version" in found.reason


def test_no_significant_difference_is_not_a_pass():
    rng = np.random.default_rng(2)
    new, old, ids = solved(rng, 0.0, families=8)
    found = gate(new, old, clusters=ids, margin=0.01)
    assert found.difference.contains(0)
    assert found.decision is Decision.INCONCLUSIVE
    assert "old version stays" in found.reason
    assert "such tasks would certify 0.01" in found.reason


@pytest.mark.parametrize(("shift", "decision"), [(1e-6, "promote"), (-1e-6, "inconclusive")])
def test_the_bound_is_one_sided_and_compared_with_the_margin(shift, decision):
    d = np.random.default_rng(2).normal(0.0, 0.1, 40)
    lower = d.mean() - t_quantile(0.95, 39) * d.std(ddof=1) / math.sqrt(40)
    found = gate(d, np.zeros(40), clusters=None, margin=-lower + shift)
    assert found.difference.low == pytest.approx(lower)
    assert found.difference.level == pytest.approx(0.9)
    assert found.decision == decision


def test_a_candidate_at_the_margin_is_promoted_at_most_as_often_as_the_level_allows():
    """Type I error: and without clusters it would be far more often."""
    passed = {"families": 0, "tasks": 0}
    for seed in range(600):
        new, old, ids = solved(np.random.default_rng(seed), 0.05, families=30)
        passed["families"] += gate(new, old, clusters=ids, margin=0.05).is_promoted
        passed["tasks"] += gate(new, old, clusters=None, margin=0.05).is_promoted
    assert 0.02 <= passed["families"] / 600 <= 0.08
    assert passed["tasks"] / 600 > 0.10


def test_the_certifiable_margin_is_passed_with_80_percent_power():
    rng = np.random.default_rng(3)
    margins = [
        gate(new, old, clusters=ids, margin=0.05).certifiable_margin
        for new, old, ids in (solved(rng, 0.0, families=40) for _ in range(100))
    ]
    margin = float(np.mean(margins))
    passed = [
        gate(new, old, clusters=ids, margin=margin).is_promoted
        for new, old, ids in (solved(rng, 0.0, families=40) for _ in range(400))
    ]
    assert 0.73 <= np.mean(passed) <= 0.87


def test_samples_of_a_task_are_averaged_not_counted():
    rng = np.random.default_rng(4)
    new, old = rng.random((20, 8)), rng.random((20, 3))
    found = gate(new, old, clusters=None, margin=0.5)
    assert found.difference.n == 20
    assert found.difference.estimate == pytest.approx(np.mean(new.mean(1) - old.mean(1)))


def test_identical_scores_certify_only_what_their_number_allows():
    few, many = np.ones(20), np.ones(100)
    assert gate(few, few, clusters=None, margin=0.05).decision is Decision.INCONCLUSIVE
    found = gate(many, many, clusters=None, margin=0.05)
    assert found.decision is Decision.PROMOTE
    assert found.certifiable_margin == pytest.approx(1 - 0.05**0.01)


def test_few_families_decide_nothing():
    rng = np.random.default_rng(5)
    ids = ["a"] * 90 + list("bcdefg")
    for loss in (-0.5, 0.5):
        new = rng.normal(-loss, 0.01, 96)
        found = gate(new, np.zeros(96), clusters=ids, margin=0.05)
        assert found.decision is Decision.INCONCLUSIVE
        assert "at least 5 are needed" in found.reason
    single = gate([1.0, 1.0], [0.0, 1.0], clusters=["a", "a"], margin=0.05)
    assert single.decision is Decision.INCONCLUSIVE
    assert math.isinf(single.certifiable_margin)


def test_the_anchor_stops_a_slow_decline():
    rng = np.random.default_rng(6)
    anchor = rng.random(400)
    served, promoted_without, promoted_with = anchor, 0, 0
    for _ in range(10):
        candidate = served - 0.03 + rng.normal(0, 0.05, 400)
        free = gate(candidate, served, clusters=None, margin=0.05)
        tied = gate(
            candidate,
            served,
            clusters=None,
            margin=0.05,
            anchor_scores=anchor,
            cumulative_margin=0.1,
        )
        promoted_without += free.is_promoted
        promoted_with += tied.is_promoted
        served = candidate
    assert promoted_without == 10  # each step is within its margin ...
    assert promoted_with <= 3  # ... but together they are not
    assert tied.decision is Decision.KEEP
    assert tied.anchor_difference is not None
    assert "against the anchor" in tied.reason


def test_a_decision_can_be_written_as_json():
    rng = np.random.default_rng(7)
    new, old, ids = solved(rng, 0.0)
    written = json.loads(json.dumps(asdict(gate(new, old, clusters=ids, margin=0.05))))
    assert written["decision"] == "promote"
    assert written["difference"]["num_clusters"] == 60


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"margin": 0.0}, "margin and score_range must be positive"),
        ({"level": 0.3}, "level is one-sided"),
        ({"candidate_scores": [1.0, 0.0, 1.0]}, "paired: 3 tasks against 2"),
        ({"candidate_scores": [1.0, float("nan")]}, "infrastructure error"),
        ({"candidate_scores": []}, "expected shape"),
        ({"anchor_scores": [1.0, 1.0]}, "together or neither"),
        ({"anchor_scores": [1.0, 1.0], "cumulative_margin": 0.01}, "must be at least margin"),
        ({"clusters": ["a"]}, "2 values, 1 ids"),
    ],
)
def test_bad_input_is_refused(change, message):
    arguments = {
        "candidate_scores": [1.0, 0.0],
        "baseline_scores": [1.0, 1.0],
        "clusters": ["a", "b"],
        "margin": 0.05,
    } | change
    with pytest.raises(ConfigError, match=message):
        gate(arguments.pop("candidate_scores"), arguments.pop("baseline_scores"), **arguments)

"""Verdicts: what decides, in which order, and what is never said."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sim2live.errors import ConfigError
from sim2live.experiments.mismatch import Verdict, judge
from sim2live.intervals import Interval, cluster_t_interval, interval_from_se


def interval(estimate: float, se: float, users: int = 100, skewness: float = 0.0) -> Interval:
    return interval_from_se(
        estimate,
        se,
        df=users - 1,
        n=users,
        num_clusters=users,
        effective_clusters=users,
        skewness=skewness,
    )


@pytest.mark.parametrize(
    ("estimate", "se", "margin", "verdict"),
    [
        (0.00, 0.01, 0.05, Verdict.MATCH),
        (0.03, 0.005, 0.05, Verdict.MATCH),  # certain, but too small to matter
        (0.20, 0.02, 0.05, Verdict.MISMATCH),
        (-0.20, 0.02, 0.05, Verdict.MISMATCH),
        (0.06, 0.02, 0.05, Verdict.MISMATCH),  # off zero, reaches past the margin
        (0.02, 0.05, 0.05, Verdict.INCONCLUSIVE),
        (0.00, 0.001, None, Verdict.INCONCLUSIVE),  # no margin, no match
        (0.10, 0.01, None, Verdict.MISMATCH),
    ],
)
def test_interval_and_margin_decide(estimate, se, margin, verdict):
    found = judge(interval(estimate, se), margin)
    assert found.verdict is verdict
    assert found.reason


def test_an_insignificant_difference_is_not_a_match():
    assert judge(interval(0.01, 0.2), 0.05).verdict is Verdict.INCONCLUSIVE


def test_few_users_are_not_identifiable_however_sharp_the_interval():
    found = judge(interval(0.5, 0.001, users=4), 0.05)
    assert found.verdict is Verdict.NOT_IDENTIFIABLE
    assert "at least 5" in found.reason


def test_many_users_of_whom_one_holds_the_sessions_count_as_few():
    rng = np.random.default_rng(0)
    ids = ["whale"] * 500 + [f"user {i}" for i in range(20)]
    found = judge(cluster_t_interval(rng.normal(size=520), ids), 0.05)
    assert found.verdict is Verdict.NOT_IDENTIFIABLE


def test_a_single_user_is_not_identifiable():
    assert judge(cluster_t_interval([1.0, 2.0], ["a", "a"]), 1).verdict is Verdict.NOT_IDENTIFIABLE


@pytest.mark.parametrize(("users", "verdict"), [(29, Verdict.INCONCLUSIVE), (30, Verdict.MATCH)])
def test_no_variation_means_something_only_with_many_users(users, verdict):
    assert judge(cluster_t_interval(np.zeros(users), None), 0.05).verdict is verdict


def test_a_lopsided_estimate_is_never_a_mismatch():
    sound = interval(0.5, 0.1)
    lopsided = replace(sound, skewness=0.4)
    assert judge(sound, 0.05).verdict is Verdict.MISMATCH
    found = judge(lopsided, 0.05)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "about 400 users" in found.reason


def test_rare_lopsided_differences_match_only_by_chebyshev():
    rare = np.zeros(200)
    rare[:2] = 0.1  # two users in two hundred differ
    found = cluster_t_interval(rare, None)
    assert abs(found.skewness) > 0.2
    assert judge(found, 0.02).verdict is Verdict.MATCH
    assert judge(found, 0.003).verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize("margin", [0.0, -0.1, float("nan")])
def test_a_margin_must_be_positive(margin):
    with pytest.raises(ConfigError, match="margin must be positive"):
        judge(interval(0, 1), margin)

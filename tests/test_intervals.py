"""Clustered intervals: closed forms, an independent oracle, and coverage that can fail."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sim2live.errors import ConfigError
from sim2live.intervals import (
    cluster_t_interval,
    contrast_interval,
    difference_interval,
    linear_combination,
    t_quantile,
    user_bootstrap,
)


def draw_users(
    rng: np.random.Generator, users: int = 40, each: int = 5
) -> tuple[np.ndarray, np.ndarray]:
    """Values of mean 0 whose users have effects as large as the noise inside a user."""
    ids = np.repeat(np.arange(users), each)
    return rng.normal(0, 1, users)[ids] + rng.normal(0, 1, users * each), ids


def test_agrees_with_the_student_t_interval_when_every_value_is_its_own_cluster():
    from scipy import stats

    y = np.random.default_rng(0).normal(size=17)
    found = cluster_t_interval(y, None)
    low, high = stats.t.interval(0.95, 16, y.mean(), stats.sem(y))
    assert found.low == pytest.approx(low, abs=1e-12)
    assert found.high == pytest.approx(high, abs=1e-12)


def test_standard_error_agrees_with_statsmodels_for_unequal_clusters():
    import statsmodels.api as sm

    rng = np.random.default_rng(1)
    ids = np.repeat(np.arange(12), rng.integers(1, 9, 12))
    y = rng.normal(size=ids.size) + ids / 10
    fit = sm.OLS(y, np.ones_like(y)).fit(
        cov_type="cluster", cov_kwds={"groups": ids, "use_correction": False}
    )
    expected = float(fit.bse[0]) * math.sqrt(12 / 11)
    assert cluster_t_interval(y, ids).se == pytest.approx(expected, rel=1e-10)


def test_equal_clusters_reduce_to_a_t_interval_of_cluster_means():
    y, ids = draw_users(np.random.default_rng(2), users=10, each=4)
    means = y.reshape(10, 4).mean(axis=1)
    assert cluster_t_interval(y, ids).se == pytest.approx(means.std(ddof=1) / math.sqrt(10))


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 2.0]])
def test_fewer_than_two_clusters_give_an_unbounded_interval(values):
    found = cluster_t_interval(values, ["ann"] * len(values))
    assert not found.is_bounded
    assert found.low == -math.inf
    assert found.high == math.inf
    assert math.isinf(found.se)


def test_bad_input_is_refused_with_a_message():
    with pytest.raises(ConfigError, match="1 of 2 values are missing"):
        cluster_t_interval([1.0, math.nan], ["a", "b"])
    with pytest.raises(ConfigError, match="2 values, 1 ids"):
        cluster_t_interval([1.0, 2.0], ["a"])
    with pytest.raises(ConfigError, match="session without a user"):
        cluster_t_interval([1.0, 2.0], ["a", None])
    with pytest.raises(ConfigError, match="one-dimensional"):
        cluster_t_interval([[1.0]], None)
    with pytest.raises(ConfigError, match="level"):
        cluster_t_interval([1.0, 2.0], None, level=95)
    with pytest.raises(ConfigError, match="50 bootstrap"):
        user_bootstrap([1.0, 2.0], None, replicates=10, rng=np.random.default_rng(0))


def test_effective_clusters_fall_when_one_user_dominates():
    alike = cluster_t_interval(np.arange(6.0), list("aabbcc"))
    lopsided = cluster_t_interval(np.arange(12.0), list("aaaaaaaaaabc"))
    assert alike.effective_clusters == pytest.approx(3.0)
    assert lopsided.effective_clusters == pytest.approx(144 / 102)


def test_skewness_shrinks_with_the_root_of_the_number_of_clusters():
    rng = np.random.default_rng(3)
    few = np.mean([cluster_t_interval(rng.exponential(size=100), None).skewness for _ in range(50)])
    many = np.mean(
        [cluster_t_interval(rng.exponential(size=1600), None).skewness for _ in range(50)]
    )
    assert few > 0
    assert few / many == pytest.approx(4, rel=0.2)  # exponential: skewness 2 / sqrt(n)
    assert many == pytest.approx(2 / 40, rel=0.1)


def test_difference_is_welchs():
    from scipy import stats

    rng = np.random.default_rng(4)
    a, b = rng.normal(size=9), rng.normal(0, 3, size=25)
    found = difference_interval(cluster_t_interval(a, None), cluster_t_interval(b, None))
    oracle = stats.ttest_ind(a, b, equal_var=False)
    assert found.df == pytest.approx(oracle.df)
    low, high = oracle.confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((low, high))


def test_a_known_constant_adds_no_error_and_a_zero_coefficient_no_part():
    mean = cluster_t_interval([1.0, 2.0, 4.0], None)
    exact = cluster_t_interval([3.0, 3.0, 3.0, 3.0], None)
    unknown = cluster_t_interval([3.0], None)
    found = linear_combination([mean, exact, unknown], [1.0, -1.0, 0.0])
    assert (found.se, found.df) == pytest.approx((mean.se, mean.df))
    with pytest.raises(ConfigError, match="other than 0"):
        linear_combination([mean], [0.0])


def test_contrast_of_disjoint_samples_is_the_linear_combination():
    rng = np.random.default_rng(5)
    (a, ids_a), (b, ids_b) = draw_users(rng, 8, 3), draw_users(rng, 11, 2)
    joint = contrast_interval([(a, ids_a), (b, ids_b + 100)], [1.0, -0.5])
    apart = linear_combination(
        [cluster_t_interval(a, ids_a), cluster_t_interval(b, ids_b)], [1.0, -0.5]
    )
    assert (joint.estimate, joint.se, joint.df) == pytest.approx(
        (apart.estimate, apart.se, apart.df)
    )
    assert joint.skewness == pytest.approx(apart.skewness)


def test_contrast_of_shared_users_cancels_what_they_have_in_common():
    y, ids = draw_users(np.random.default_rng(6), 20, 5)
    nothing = contrast_interval([(y, ids), (y + 0.3, ids)], [1.0, -1.0])
    assert nothing.estimate == pytest.approx(-0.3)
    assert nothing.se == pytest.approx(0, abs=1e-12)


def test_bootstrap_agrees_with_the_formula_for_a_mean():
    y, ids = draw_users(np.random.default_rng(7), 60, 4)
    formula = cluster_t_interval(y, ids)
    found = user_bootstrap(y, ids, replicates=4000, rng=np.random.default_rng(8))
    assert found.estimate == pytest.approx(formula.estimate)
    assert found.se == pytest.approx(formula.se, rel=0.05)


def test_bootstrap_takes_any_weighted_statistic_and_is_fixed_by_its_generator():
    y, ids = draw_users(np.random.default_rng(9))

    def spread(values: np.ndarray, weights: np.ndarray) -> float:
        mean = np.average(values, weights=weights)
        return float(np.average((values - mean) ** 2, weights=weights))

    runs = [
        user_bootstrap(y, ids, statistic=spread, rng=np.random.default_rng(seed))
        for seed in (1, 1, 2)
    ]
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]
    assert runs[0].estimate == pytest.approx(y.var())


def coverage(*, is_clustered: bool, runs: int = 1000, users: int = 40, each: int = 5) -> float:
    rng = np.random.default_rng(10)
    hits = 0
    for _ in range(runs):
        y, ids = draw_users(rng, users, each)
        hits += cluster_t_interval(y, ids if is_clustered else None).contains(0.0)
    return hits / runs


def test_clustered_intervals_cover_and_ignoring_clusters_would_be_noticed():
    assert 0.925 <= coverage(is_clustered=True) <= 0.975
    assert coverage(is_clustered=False) < 0.80


def test_clustered_intervals_cover_with_ten_users():
    assert 0.925 <= coverage(is_clustered=True, users=10, each=8) <= 0.975


def test_t_quantile_of_infinite_df_is_normal():
    assert t_quantile(0.975, math.inf) == pytest.approx(1.959964, abs=1e-6)
    assert t_quantile(0.975, 10) == pytest.approx(2.228139, abs=1e-6)

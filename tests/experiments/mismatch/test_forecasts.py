import numpy as np
import pytest

from sim2live.experiments.mismatch.forecasts import (
    base_rate,
    calibration_error,
    difference_of_rates,
    log_loss,
    newcombe_ends,
)
from sim2live.intervals import cluster_t_interval


def test_log_loss_and_calibration_error_in_closed_form() -> None:
    y, p = np.array([1.0, 0.0, 1.0, 0.0]), np.array([0.8, 0.8, 0.2, 0.2])
    assert log_loss(y, p) == pytest.approx(-0.5 * np.log(0.8 * 0.2))
    assert calibration_error(y, p) == pytest.approx(0.3)
    assert calibration_error(y, y) == 0


def test_the_base_rate_leaves_the_user_out() -> None:
    y, users = np.array([1.0, 1.0, 0.0, 0.0, 0.0]), np.array([0, 0, 1, 1, 1])
    rates, is_cross_fitted = base_rate(y, users)
    assert is_cross_fitted
    assert rates[:2] == pytest.approx(0.5 / 4)
    assert rates[2:] == pytest.approx(2.5 / 3)
    rates, is_cross_fitted = base_rate(y, np.zeros(5, dtype=int))
    assert not is_cross_fitted
    assert rates == pytest.approx(2.5 / 6)


def test_newcombe_against_the_published_example() -> None:
    """56 of 70 against 48 of 80: difference 0.2, interval 0.0524 to 0.3339 (Newcombe, 1998)."""
    y = np.repeat([1.0, 0.0], [48, 32])
    low, high, _ = newcombe_ends(y, np.full(70, 0.8), draws=1)
    assert (low, high) == pytest.approx((0.0524, 0.3339), abs=5e-4)


def test_an_interval_is_the_clustered_one_unless_chance_alone_is_wider() -> None:
    rng = np.random.default_rng(0)
    users = np.repeat(np.arange(20), 10)
    y = (rng.random(200) < rng.beta(0.5, 0.5, 20)[users]).astype(float)
    p = np.full(200, 0.5)
    assert difference_of_rates(y, p, users) == cluster_t_interval(p - y, users)
    rare = np.full(200, 0.01)
    found = difference_of_rates(np.zeros(200), rare, users)
    assert found.se == pytest.approx(np.sqrt(200 * 0.01 * 0.99) / 200)
    assert found.contains(0)


def test_rare_reactions_are_covered() -> None:
    """Three expected: a clustered interval alone is off zero whenever none or one turns up."""
    rng = np.random.default_rng(1)
    users = np.repeat(np.arange(30), 10)
    p = rng.choice([0.0, 0.02], 300)
    hits = [
        difference_of_rates((rng.random(300) < p).astype(float), p, users).contains(0)
        for _ in range(400)
    ]
    assert np.mean(hits) > 0.92
    naive = [cluster_t_interval(p - (rng.random(300) < p), users).contains(0) for _ in range(400)]
    assert np.mean(naive) < 0.92

"""How good a forecast of reactions is: rates with intervals, and scores of probabilities.

Arrays are one row a view: `y` (n,) is 1 where the reaction was shown, `p` (n,) its forecast
probability, `users` (n,) the number of the view's user.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ...intervals import FloatArray, Interval, cluster_t_interval, t_quantile

BINS = 10
"""Bins of equal width for the calibration error."""

Users = npt.NDArray[np.intp]


def difference_of_rates(y: FloatArray, p: FloatArray, users: Users) -> Interval:
    """Return the clustered interval of p - y, never narrower than chance alone would make it.

    Where a reaction is rare, a log without any has almost no spread between users, which would turn
    "none of two expected" into a certain difference. If the predictions hold, the differences are
    martingale increments with variance sum p (1 - p), whatever a user's turns have in common.
    """
    found = cluster_t_interval(p - y, users)
    chance = math.sqrt(float((p * (1 - p)).sum())) / len(y)
    if not found.is_bounded or found.se >= chance:
        return found
    half = t_quantile(0.5 + found.level / 2, found.df) * chance
    return replace(found, se=chance, low=found.estimate - half, high=found.estimate + half)


def clustered_ends(interval: Interval) -> tuple[float | None, float | None, float | None]:
    """Return the ends of an interval and the two-sided p value of 0; None where undefined."""
    if not interval.is_bounded:
        return None, None, None
    if interval.se == 0:
        return interval.low, interval.high, None  # no variation: nothing a t test could say
    from scipy.stats import t

    p_value = 2 * float(t.sf(abs(interval.estimate) / interval.se, interval.df))
    return interval.low, interval.high, p_value


def newcombe_ends(y: FloatArray, p: FloatArray, draws: int) -> tuple[float, float, None]:
    """Return Newcombe's interval of simulated minus real; no p value, as views are no units."""
    from statsmodels.stats.proportion import confint_proportions_2indep

    num_drawn = len(p) * draws
    low, high = confint_proportions_2indep(
        round(float(p.mean()) * num_drawn),
        num_drawn,
        int(y.sum()),
        len(y),
        method="newcomb",
        compare="diff",
    )
    return float(low), float(high), None


def base_rate(y: FloatArray, users: Users) -> tuple[FloatArray, bool]:
    """Return each view's base rate, from the other users if there are any, and whether it is so."""
    if users.max(initial=0) == 0:
        return np.full(len(y), (y.sum() + 0.5) / (len(y) + 1)), False
    events, sizes = np.bincount(users, weights=y), np.bincount(users)
    rates = (y.sum() - events + 0.5) / (len(y) - sizes + 1)
    return np.asarray(rates[users]), True


def log_loss(y: FloatArray, p: FloatArray) -> float:
    """Return the mean negative log-likelihood in nats a view; `p` strictly between 0 and 1."""
    return -float(np.mean(y * np.log(p) + (1 - y) * np.log1p(-p)))


def calibration_error(y: FloatArray, p: FloatArray) -> float:
    """Return the expected calibration error: mean over views of |mean(p) - mean(y)| of the bin."""
    bins = np.minimum((p * BINS).astype(int), BINS - 1)
    return float(np.abs(np.bincount(bins, weights=p - y, minlength=BINS)).sum() / len(y))

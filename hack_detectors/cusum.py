"""The risk-adjusted CUSUM, and its threshold by simulation.

An event (an episode with an invalid call) has probability p_b on tasks of bin b as long as nothing
has changed. Against the alternative that its odds have grown by the factor R in every bin, one
episode is worth the log-likelihood ratio

    w(y) = y log R - log(1 - p_b + R p_b),          X_t = max(0, X_{t-1} + sum of w over batch t)

and an alarm is raised when X exceeds h. A harder mix of tasks raises both the events and what is
expected of them, so it leaves X alone (Steiner, Cook, Farewell and Treasure, *Biostatistics* 2000).
We add up a whole batch before taking the maximum, so that the order inside a batch does not matter.

h is the quantile of the largest X over a planned number of batches in which nothing changes. The
baseline p_b is itself an estimate; each simulated run draws its true p_b from the posterior, so
that the stated chance of a false alarm holds for a baseline learnt from few episodes too. The price
is a higher threshold after a short reference, and it is paid by a chart tuned to small changes: one
tuned to a larger R falls back faster and stays sharp for large ones.

Legend: M simulated runs, T batches, B bins.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

PRIOR_EPISODES = 4.0
"""Weight of the overall rate in a bin's rate, in episodes."""


def shrunken_rates(events: Ints, episodes: Ints) -> tuple[Floats, Floats, Floats]:
    """Estimate each bin's rate, pulled towards the overall rate.

    Args:
        events: (B,) episodes with the event.
        episodes: (B,) all episodes.

    Returns:
        Rates (B,) and the two parameters (B,), (B,) of their Beta posteriors:
        a_b = x_b + k q, b_b = n_b - x_b + k (1 - q), with k = 4 and the overall rate
        q = (x + 1/2) / (n + 1).
    """
    overall = (events.sum() + 0.5) / (episodes.sum() + 1.0)
    a = events + PRIOR_EPISODES * overall
    b = episodes - events + PRIOR_EPISODES * (1.0 - overall)
    return a / (a + b), a, b


def log_likelihood_ratio(events: Ints, episodes: Ints, rates: Floats, odds_ratio: float) -> Floats:
    """Return the summed score of batches; `events` and `episodes` have shape (..., B)."""
    cost = np.log1p(rates * (odds_ratio - 1.0))
    scores = events * np.log(odds_ratio) - episodes * cost
    return np.asarray(scores.sum(axis=-1), dtype=np.float64)


def cusum(scores: Floats) -> Floats:
    """Return X for scores of shape (..., T), starting at 0."""
    path = np.zeros_like(scores)
    level = np.zeros(scores.shape[:-1])
    for t in range(scores.shape[-1]):
        level = np.maximum(0.0, level + scores[..., t])
        path[..., t] = level
    return path


def calibrate_threshold(
    rates: Floats,
    posterior: tuple[Floats, Floats],
    mixes: Sequence[Floats],
    *,
    odds_ratio: float,
    batch_size: int,
    num_updates: int,
    false_alarm_prob: float,
    seed: int,
    num_runs: int = 1000,
) -> float:
    """Return the threshold that the largest X exceeds with the stated probability.

    Args:
        rates: (B,) baseline rates by which episodes are scored.
        posterior: Beta parameters (B,), (B,) of the true rates.
        mixes: shares (B,) of the bins in a batch; the largest threshold over all mixes is returned,
            so that the mix may move between them.
        odds_ratio: factor that the chart is tuned to.
        batch_size: episodes a batch.
        num_updates: planned number of batches.
        false_alarm_prob: chance of any alarm over all of them.
        seed: fixes the simulation.
        num_runs: simulated runs a mix.
    """
    rng = np.random.default_rng(seed)
    thresholds = []
    for mix in mixes:
        truth = rng.beta(*posterior, size=(num_runs, len(rates)))  # (M, B)
        used = np.flatnonzero(mix > 0)
        shares = mix[used] / mix[used].sum()
        episodes = rng.multinomial(batch_size, shares, size=(num_runs, num_updates))  # (M, T, B)
        events = rng.binomial(episodes, truth[:, None, used])
        scores = log_likelihood_ratio(events, episodes, rates[used], odds_ratio)
        peak = cusum(scores).max(axis=1)
        thresholds.append(float(np.quantile(peak, 1.0 - false_alarm_prob)))
    return max(*thresholds, float(np.log(odds_ratio)))  # one event alone is never an alarm

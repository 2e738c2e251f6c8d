"""Confidence intervals whose independent units are people (or task families), not rows.

Sessions of one user resemble each other. An interval that counts every session as independent is
too narrow: it promises 95% and covers about 90% or less. Everything here therefore takes a cluster
id per value and works on one *influence* per cluster: to first order an estimate is its truth plus
the sum of independent cluster influences, so its variance is the sum of their squares.

    var = G / (G - 1) * sum_g (sum_{i in g} influence_i)^2,      df = G - 1

with G clusters and Student's t quantiles (linearised ratio mean; Cochran, *Sampling Techniques*,
1977, ch. 6; Liang and Zeger, 1986). Under about 30 clusters this is approximate, and very unequal
clusters or long tails make it optimistic, so an interval carries the effective number of clusters
and its skewness; who draws a conclusion from it should look at both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .errors import ConfigError

FloatArray = npt.NDArray[np.float64]
Clusters = Sequence[Hashable] | npt.NDArray[np.generic]


@dataclass(slots=True, kw_only=True, frozen=True)
class Interval:
    """An estimate, how sure it is, and what it rests on."""

    estimate: float
    low: float
    """Lower end; `-inf` if the data cannot bound it."""
    high: float
    se: float
    """Standard error; `inf` if the data cannot tell it."""
    n: int
    """Number of values (sessions, tasks)."""
    num_clusters: int
    """Number of independent units (users, task families)."""
    df: float
    """Degrees of freedom of the t quantile; 0 if there are none."""
    level: float = 0.95
    """Two-sided confidence level."""
    effective_clusters: float = 0.0
    """(sum m_g)^2 / sum m_g^2 for cluster weights m_g: equal to `num_clusters` if all are alike."""
    skewness: float = 0.0
    """Skewness of the estimate, sum u^3 / (sum u^2)^1.5 over cluster influences u. It falls like
    1 / sqrt(clusters); beyond 0.2 (Cochran's rule: clusters < 25 * skewness of one cluster^2) the
    t interval covers too little on the side of the long tail."""

    @property
    def half_width(self) -> float:
        """Half the distance between the ends."""
        return (self.high - self.low) / 2

    @property
    def is_bounded(self) -> bool:
        """True if the data bound the estimate at all."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    def contains(self, value: float) -> bool:
        """Say whether `value` lies in the closed interval."""
        return self.low <= value <= self.high


def t_quantile(p: float, df: float) -> float:
    """Return the `p` quantile of Student's t (the normal one for infinite `df`)."""
    from scipy.special import ndtri, stdtrit

    return float(ndtri(p) if math.isinf(df) else stdtrit(df, p))


def interval_from_se(
    estimate: float,
    se: float,
    *,
    df: float,
    n: int,
    num_clusters: int,
    level: float = 0.95,
    effective_clusters: float = 0.0,
    skewness: float = 0.0,
) -> Interval:
    """Return `estimate` -+ t(df) * `se`, or an unbounded interval where that is undefined."""
    if not 0 < level < 1:
        raise ConfigError(f"level must lie strictly between 0 and 1, for example 0.95; got {level}")
    if df > 0 and math.isfinite(se) and math.isfinite(estimate):
        half = t_quantile(0.5 + level / 2, df) * se
    else:
        se = half = math.inf
    return Interval(
        estimate=estimate,
        low=estimate - half if math.isfinite(estimate) else -math.inf,
        high=estimate + half if math.isfinite(estimate) else math.inf,
        se=se,
        n=n,
        num_clusters=num_clusters,
        df=df,
        level=level,
        effective_clusters=effective_clusters,
        skewness=skewness,
    )


def cluster_codes(clusters: Clusters | None, n: int) -> npt.NDArray[np.intp]:
    """Number the clusters 0..G-1.

    Args:
        clusters: one id per value; None makes every value its own cluster.
        n: how many values there are.

    Returns:
        Shape (n,): the number of each value's cluster.

    Raises:
        ConfigError: there is not exactly one id per value, or an id is None.
    """
    if clusters is None:
        return np.arange(n)
    ids = list(clusters)
    if len(ids) != n:
        raise ConfigError(f"expected one cluster id per value: {n} values, {len(ids)} ids")
    if any(name is None for name in ids):
        raise ConfigError(
            "a cluster id is None: a session without a user cannot enter a clustered interval; "
            "leave such sessions out and report how many there were"
        )
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in ids], dtype=np.intp)


def as_values(values: npt.ArrayLike, what: str) -> FloatArray:
    """Return a finite float vector, or say what is wrong with it.

    Raises:
        ConfigError: not one-dimensional, or a value is missing or infinite.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ConfigError(f"{what} must be one-dimensional, got shape {array.shape}")
    bad = int(np.count_nonzero(~np.isfinite(array)))
    if bad:
        raise ConfigError(
            f"{what}: {bad} of {array.size} values are missing or infinite; a session without a "
            "value (an infrastructure error, an immature label) must be left out and counted"
        )
    return array


def influence_interval(
    estimate: float,
    influence: FloatArray,
    clusters: Clusters | None,
    *,
    level: float = 0.95,
    weights: FloatArray | None = None,
) -> Interval:
    """Return the clustered t interval of an estimate, given what each row contributed to it.

    Args:
        estimate: the point estimate.
        influence: shape (n,): each row's first-order contribution to the error of `estimate`.
            For a mean it is (y_i - mean) / n.
        clusters: one id per row; None if rows are independent.
        level: two-sided confidence level.
        weights: shape (n,): size of each row for `effective_clusters` (default: 1 each).

    Returns:
        The interval; unbounded with fewer than two clusters.
    """
    n = influence.size
    codes = cluster_codes(clusters, n)
    num = int(codes.max()) + 1 if n else 0
    by_cluster = np.asarray(np.bincount(codes, influence, num), dtype=np.float64)
    sizes = np.bincount(codes, weights=weights, minlength=num).astype(np.float64)
    total = float(by_cluster @ by_cluster)
    return interval_from_se(
        estimate,
        math.sqrt(num / (num - 1) * total) if num > 1 else math.inf,
        df=max(num - 1, 0),
        n=n,
        num_clusters=num,
        level=level,
        effective_clusters=float(sizes.sum() ** 2 / (sizes**2).sum()) if sizes.any() else 0.0,
        skewness=_skewness(by_cluster),
    )


def _skewness(influences: FloatArray) -> float:
    total = float(influences @ influences)
    return float((influences**3).sum()) / total**1.5 if total > 0 else 0.0


def cluster_t_interval(
    values: npt.ArrayLike, clusters: Clusters | None, level: float = 0.95
) -> Interval:
    """Return the mean of `values` with an interval that treats clusters as the independent units.

    The mean is sum of values over number of values, a ratio of two cluster totals, so clusters may
    have any sizes.

    Args:
        values: shape (n,), finite.
        clusters: one id per value; None if the values are independent.
        level: two-sided confidence level.

    Returns:
        The interval with df = clusters - 1; unbounded with fewer than two clusters, and with
        estimate `nan` if there are no values.

    Raises:
        ConfigError: a value is not finite, or ids and values do not match.

    Example:
        >>> found = cluster_t_interval([1.0, 0.0, 1.0, 1.0], ["ann", "ann", "bo", "cy"])
        >>> found.estimate, found.num_clusters, found.df
        (0.75, 3, 2)
    """
    y = as_values(values, "values")
    mean = float(y.mean()) if y.size else math.nan
    return influence_interval(mean, (y - mean) / max(y.size, 1), clusters, level=level)


def linear_combination(
    parts: Sequence[Interval], coefficients: Sequence[float], level: float = 0.95
) -> Interval:
    """Return sum_k c_k * estimate_k for independent estimates, with Welch-Satterthwaite df.

    df = (sum_k v_k)^2 / sum_k (v_k^2 / df_k) with v_k = c_k^2 se_k^2 (Satterthwaite, 1946). The
    fewest clusters of any part count as the clusters of the whole: it is the weakest side that
    limits what may be concluded. A part with coefficient 0 plays no role.

    Raises:
        ConfigError: no part that counts, or not one coefficient per part.
    """
    if len(parts) != len(coefficients):
        raise ConfigError(f"expected one coefficient per part: {len(parts)}, {len(coefficients)}")
    used = [(part, c) for part, c in zip(parts, coefficients, strict=True) if c != 0]
    if not used:
        raise ConfigError("expected at least one part with a coefficient other than 0")
    parts, coefficients = [part for part, _ in used], [c for _, c in used]
    shares = [(c * part.se) ** 2 for part, c in used]
    variance = sum(shares)
    noise = sum(v * v / p.df for v, p in zip(shares, parts, strict=True) if v > 0 and p.df > 0)
    if not math.isfinite(variance):
        df = 0.0
    elif noise > 0:
        df = variance**2 / noise
    else:
        df = min(part.df for part in parts)
    third = sum((c * part.se) ** 3 * part.skewness for part, c in used)
    return interval_from_se(
        sum(c * part.estimate for c, part in zip(coefficients, parts, strict=True)),
        math.sqrt(variance),
        df=df,
        n=sum(part.n for part in parts),
        num_clusters=min(part.num_clusters for part in parts),
        level=level,
        effective_clusters=min(part.effective_clusters for part in parts),
        skewness=third / variance**1.5 if 0 < variance < math.inf else 0.0,
    )


def difference_interval(first: Interval, second: Interval, level: float = 0.95) -> Interval:
    """Return `first` - `second` for two independent estimates (Welch)."""
    return linear_combination([first, second], [1.0, -1.0], level)


def contrast_interval(
    samples: Sequence[tuple[npt.ArrayLike, Clusters | None]],
    coefficients: Sequence[float],
    level: float = 0.95,
) -> Interval:
    """Return sum_k c_k * mean_k when the samples may share clusters.

    If the same user is in several samples, the user's influences on the samples are added before
    they are squared, so that what the samples have in common cancels (or adds up) as it should.
    With no shared cluster this is `linear_combination` of the means. Ids are compared across
    samples; values without ids (None) are independent of everything.

    Args:
        samples: pairs of values, shape (n_k,), and cluster ids.
        coefficients: one per sample.
        level: two-sided confidence level.
    """
    means = [cluster_t_interval(values, clusters, level) for values, clusters in samples]
    apart = linear_combination(means, coefficients, level)
    if not apart.is_bounded:
        return apart
    influences: list[float] = []
    names: list[Hashable] = []
    for index, ((values, clusters), mean, c) in enumerate(
        zip(samples, means, coefficients, strict=True)
    ):
        if c == 0:
            continue
        y = as_values(values, "values")
        scale = c * math.sqrt(mean.num_clusters / mean.df) / y.size
        influences.extend((scale * (y - mean.estimate)).tolist())
        names.extend([(index, i) for i in range(y.size)] if clusters is None else list(clusters))
    codes = cluster_codes(names, len(names))
    by_cluster = np.asarray(np.bincount(codes, np.array(influences)), dtype=np.float64)
    return interval_from_se(
        apart.estimate,
        math.sqrt(float(by_cluster @ by_cluster)),
        df=apart.df,
        n=apart.n,
        num_clusters=apart.num_clusters,
        level=level,
        effective_clusters=apart.effective_clusters,
        skewness=_skewness(by_cluster),
    )


def resample_counts(num_units: int, replicates: int, rng: np.random.Generator) -> FloatArray:
    """Draw bootstrap counts: how often each unit is in each resample.

    Returns:
        Shape (replicates, num_units), each row adding up to `num_units`.
    """
    if num_units < 1:
        return np.zeros((replicates, 0))
    return rng.multinomial(num_units, np.full(num_units, 1 / num_units), replicates).astype(float)


def weighted_mean(values: FloatArray, weights: FloatArray) -> float:
    """Return sum(w y) / sum(w)."""
    return float(values @ weights / weights.sum())


def user_bootstrap(
    values: npt.ArrayLike,
    clusters: Clusters | None,
    *,
    statistic: Callable[[FloatArray, FloatArray], float] = weighted_mean,
    replicates: int = 400,
    level: float = 0.95,
    rng: np.random.Generator,
) -> Interval:
    """Bootstrap whole users: the interval of a statistic that has no formula.

    The interval is estimate -+ t(G - 1) * sd of the replicates * sqrt(G / (G - 1)); percentiles
    cover too little with few clusters.

    Args:
        values: shape (n,), finite.
        clusters: one id per value; None if the values are independent.
        statistic: called as `statistic(values, weights)` with the same values each time and each
            row's number of copies, shape (n,), as weights.
        replicates: number of resamples, at least 50.
        level: two-sided confidence level.
        rng: source of all randomness.

    Raises:
        ConfigError: too few replicates, or bad values or ids.
    """
    if replicates < 50:
        raise ConfigError(f"expected at least 50 bootstrap replicates, got {replicates}")
    y = as_values(values, "values")
    base = cluster_t_interval(y, clusters, level)
    if base.num_clusters < 2:
        return base
    codes = cluster_codes(clusters, y.size)
    counts = resample_counts(base.num_clusters, replicates, rng)
    draws = np.array([statistic(y, row[codes]) for row in counts])
    inflate = math.sqrt(base.num_clusters / base.df)
    return interval_from_se(
        statistic(y, np.ones(y.size)),
        float(draws.std(ddof=1)) * inflate,
        df=base.df,
        n=base.n,
        num_clusters=base.num_clusters,
        level=level,
        effective_clusters=base.effective_clusters,
        skewness=base.skewness,
    )

"""The outcome gap: how much better the simulator says a policy is than people find it.

G = J_sim - J_live for one policy version, where J is the mean value that users realise in a
session. People are the independent units on the live side. Where task strata are given, simulated
episodes are re-weighted to the live mix, so that G compares like with like and what the mix alone
explains is reported apart.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from ...errors import ConfigError
from ...intervals import (
    Clusters,
    FloatArray,
    Interval,
    as_values,
    cluster_codes,
    cluster_t_interval,
    difference_interval,
    influence_interval,
    linear_combination,
    t_quantile,
)
from .verdicts import Judgement, Verdict, judge


class Loop(StrEnum):
    """Whether the policy's own actions shaped what it saw next."""

    OPEN = "open-loop"
    """A recorded session was replayed: the policy or the user could not react to the other."""
    CLOSED = "closed-loop"
    """The policy acted and the world answered."""


@dataclass(slots=True, kw_only=True, frozen=True)
class StratumGap:
    """The gap inside one stratum of tasks."""

    stratum: Hashable
    live_share: float
    """Share of live sessions, in [0, 1]."""
    gap: Interval
    judgement: Judgement


@dataclass(slots=True, kw_only=True, frozen=True)
class GapReport:
    """The outcome gap of one policy version."""

    gap: Interval
    """G on the live task mix; negative if the simulator is too pessimistic."""
    judgement: Judgement
    sim: Interval
    """J_sim on the simulator's own task mix."""
    live: Interval
    """J_live."""
    task_mix: float
    """J_sim on its own mix minus J_sim on the live mix: what the mix alone explains."""
    relative: float | None
    """G / |J_live|; None if the interval of J_live contains 0."""
    minimum_detectable: float
    """Smallest |G| that these data would have shown with the stated power."""
    power: float
    num_live: int
    num_sim: int
    strata: tuple[StratumGap, ...]
    unmeasured_share: float
    """Share of live sessions in strata that the simulator never visits; left out of `gap`."""
    loop: Loop


def minimum_detectable(interval: Interval, power: float = 0.8) -> float:
    """Return the smallest true difference that is found with probability `power`.

    (t_{1-a/2} + t_{power}) * se: an approximation to the non-central t that is good to a few
    percent above ten degrees of freedom.
    """
    if not interval.is_bounded:
        return math.inf
    tail = t_quantile(0.5 + interval.level / 2, interval.df)
    return (tail + t_quantile(power, interval.df)) * interval.se


def outcome_gap(
    sim_values: npt.ArrayLike,
    live_values: npt.ArrayLike,
    live_users: Clusters,
    *,
    margin: float | None,
    sim_clusters: Clusters | None = None,
    sim_strata: Sequence[Hashable] | None = None,
    live_strata: Sequence[Hashable] | None = None,
    level: float = 0.95,
    power: float = 0.8,
    loop: Loop = Loop.CLOSED,
) -> GapReport:
    """Measure G = J_sim - J_live.

    With strata, G is the mean over live sessions of (simulated mean of the session's stratum -
    live value): the user clustering then also covers chance in the live mix, and the error of the
    simulated means is added with the live shares as weights.

    Args:
        sim_values: shape (n_sim,), realised value per simulated episode.
        live_values: shape (n_live,), realised value per live session, same units.
        live_users: one user id per live session.
        margin: largest |G| that does not matter; None if nobody has said.
        sim_clusters: id of each simulated episode's persona or seed, if episodes share any.
        sim_strata: stratum of each simulated episode; give both strata or neither.
        live_strata: stratum of each live session.
        level: two-sided confidence level.
        power: for the minimum detectable gap.
        loop: label of the simulated numbers.

    Raises:
        ConfigError: lengths differ, values are not finite, or only one side has strata.
    """
    sim, live = as_values(sim_values, "sim_values"), as_values(live_values, "live_values")
    if (sim_strata is None) != (live_strata is None):
        raise ConfigError("give strata for both sides or for neither: the mix of one is unknown")
    names = [*(sim_strata or [0] * sim.size), *(live_strata or [0] * live.size)]
    if len(names) != sim.size + live.size:
        raise ConfigError("expected one stratum per value on both sides")
    users = cluster_codes(live_users, live.size)
    personas = None if sim_clusters is None else cluster_codes(sim_clusters, sim.size)
    codes = cluster_codes(names, len(names))
    labels = dict(zip(codes.tolist(), names, strict=True))
    cells = _Cells(sim, codes[: sim.size], personas, live, codes[sim.size :], users, level)

    gap, sim_on_live_mix, kept = cells.post_stratified(len(labels))
    j_sim, j_live = cluster_t_interval(sim, personas, level), cluster_t_interval(live, users, level)
    judgement = judge(gap, margin)
    if kept == 0:
        judgement = Judgement(
            verdict=Verdict.NOT_IDENTIFIABLE,
            reason="no stratum has both simulated and live sessions",
        )
    return GapReport(
        gap=gap,
        judgement=judgement,
        sim=j_sim,
        live=j_live,
        task_mix=j_sim.estimate - sim_on_live_mix,
        relative=None if j_live.contains(0) else gap.estimate / abs(j_live.estimate),
        minimum_detectable=minimum_detectable(gap, power),
        power=power,
        num_live=live.size,
        num_sim=sim.size,
        strata=cells.by_stratum(labels, margin) if len(labels) > 1 else (),
        unmeasured_share=1 - kept / live.size if live.size else 0.0,
        loop=loop,
    )


@dataclass(slots=True, frozen=True)
class _Cells:
    """Both samples with their strata as numbers."""

    sim: FloatArray
    sim_strata: npt.NDArray[np.intp]
    personas: npt.NDArray[np.intp] | None
    live: FloatArray
    live_strata: npt.NDArray[np.intp]
    users: npt.NDArray[np.intp]
    level: float

    def post_stratified(self, num_strata: int) -> tuple[Interval, float, int]:
        """Return G on the live mix, J_sim on the live mix, and how many live sessions count."""
        sizes = np.bincount(self.sim_strata, minlength=num_strata)
        sums = np.bincount(self.sim_strata, weights=self.sim, minlength=num_strata)
        means = np.divide(sums, sizes, out=np.zeros(num_strata), where=sizes > 0)
        kept = sizes[self.live_strata] > 0
        strata, users = self.live_strata[kept], self.users[kept]
        matched = means[strata]
        live_part = cluster_t_interval(matched - self.live[kept], users, self.level)
        if not strata.size:
            return live_part, math.nan, 0
        share = np.bincount(strata, minlength=num_strata) / strata.size
        row_weight = share[self.sim_strata] / sizes[self.sim_strata]
        sim_part = influence_interval(
            0.0,
            row_weight * (self.sim - means[self.sim_strata]),
            self.personas,
            level=self.level,
            weights=row_weight,
        )
        gap = linear_combination([live_part, sim_part], [1.0, 1.0], self.level)
        return gap, float(matched.mean()), int(strata.size)

    def by_stratum(
        self, labels: dict[int, Hashable], margin: float | None
    ) -> tuple[StratumGap, ...]:
        """Return the gap of each stratum that has live sessions, largest share first."""
        rows = []
        for code, label in labels.items():
            here, there = self.live_strata == code, self.sim_strata == code
            if not here.any():
                continue
            personas = None if self.personas is None else self.personas[there]
            gap = difference_interval(
                cluster_t_interval(self.sim[there], personas, self.level),
                cluster_t_interval(self.live[here], self.users[here], self.level),
                self.level,
            )
            rows.append(
                StratumGap(
                    stratum=label,
                    live_share=float(here.mean()),
                    gap=gap,
                    judgement=judge(gap, margin),
                )
            )
        return tuple(sorted(rows, key=lambda row: -row.live_share))


def prediction_powered_mean(
    live_values: npt.ArrayLike,
    paired_sim: npt.ArrayLike,
    live_users: Clusters,
    many_sim: npt.ArrayLike,
    *,
    level: float = 0.95,
) -> Interval:
    """Estimate J_live with simulated sessions as control variate; valid whatever their bias.

    mean(live) + k (mean(many_sim) - mean(paired_sim)), with k = cov / (var (1 + n/N)) from user
    totals, the choice of least variance (PPI++, Angelopoulos et al., 2023, arXiv 2311.01453; ours
    clusters by user). The gain is small unless paired outcomes correlate strongly.

    Args:
        live_values: shape (n,), realised value per live session.
        paired_sim: shape (n,), simulated value of the same session's task (and user, if known).
        live_users: one user id per live session.
        many_sim: shape (N,), independent simulated values of tasks from the same mix.
        level: two-sided confidence level.

    Raises:
        ConfigError: live and paired values do not match in number.
    """
    live, paired = as_values(live_values, "live_values"), as_values(paired_sim, "paired_sim")
    many = as_values(many_sim, "many_sim")
    if live.size != paired.size:
        raise ConfigError(f"expected one paired value per live one: {live.size}, {paired.size}")
    if live.size == 0 or many.size < 2:
        raise ConfigError("expected at least one live and two simulated values")
    users = cluster_codes(live_users, live.size)
    u_live = np.bincount(users, weights=live - live.mean())
    u_paired = np.bincount(users, weights=paired - paired.mean())
    spread = float(u_paired @ u_paired) + float(many.var()) * live.size**2 / many.size
    k = float(u_live @ u_paired) / spread if spread > 0 else 0.0
    rectified = cluster_t_interval(live - k * paired, users, level)
    return linear_combination([rectified, cluster_t_interval(many, None, level)], [1.0, k], level)

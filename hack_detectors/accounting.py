"""A ledger of samples: every trajectory that entered was rewarded, or excluded for a stated reason.

Two things raise an alarm. *A gap in the ledger*: a trajectory with neither a reward nor a reason.
*A telling exclusion*: a reason that falls on the kind of task where the reward would have been low.
Discarding then hides failures, the mean reward looks better than it is, and a policy can learn to
get itself discarded.

The test for the second. Over a window of batches, bin b holds n_b trajectories, k_b of them
excluded for the reason, and the others have the mean reward m_b. If exclusion does not depend on
the bin, then given n and K = sum k_b the counts k are multivariate hypergeometric. The statistic is
sum_b k_b m_b, the summed expected reward of what was excluded (a Cochran-Armitage trend with m as
scores); small values say that exclusions fall where rewards are low. The p-value is exact up to
Monte Carlo, and is compared with alpha / (planned updates x reasons), so that the chance of any
false alarm over the run is at most alpha (Bonferroni). An alarm also needs that the bins of low and
high reward differ materially in the share excluded and, at the same level, in the reward: otherwise
any exclusion that depends on the bin would look telling whenever noise orders equal rewards.

What it cannot see: bins whose trajectories are all excluded from the start (no reward is known for
them), and exclusion that goes with low reward inside a bin. Tasks of unknown difficulty are one
bin.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from ..errors import ConfigError
from ..trajectory import Trajectory
from .base import Alarm, Severity
from .strata import DEFAULT_EDGES, DifficultyBins

UNACCOUNTED = "unaccounted"
_NUM_DRAWS = 20_000
_SCREEN_Z = 2.5
_MAX_EXAMPLES = 5

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(slots=True)
class _Tally:
    """Counts of one batch or of many, by bin."""

    size: int
    entered: Ints = field(init=False)
    rewarded: Ints = field(init=False)
    sums: Floats = field(init=False)
    squares: Floats = field(init=False)
    excluded: dict[str, Ints] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.entered, self.rewarded = (np.zeros(self.size, dtype=np.int64) for _ in range(2))
        self.sums, self.squares = np.zeros(self.size), np.zeros(self.size)

    def reward(self, index: int, total: float) -> None:
        self.rewarded[index] += 1
        self.sums[index] += total
        self.squares[index] += total * total

    def exclude(self, index: int, reason: str) -> None:
        counts = self.excluded.setdefault(reason, np.zeros(self.size, dtype=np.int64))
        counts[index] += 1

    def add(self, other: _Tally) -> None:
        self.entered += other.entered
        self.rewarded += other.rewarded
        self.sums += other.sums
        self.squares += other.squares
        for reason, counts in other.excluded.items():
            self.excluded[reason] = self.excluded.get(reason, np.zeros_like(counts)) + counts


@dataclass(slots=True, kw_only=True, frozen=True)
class Association:
    """How exclusion for one reason goes with the expected reward, over the window."""

    reason: str
    p_value: float
    num_excluded: int
    low_excluded_frac: float
    """Share excluded in bins whose expected reward is below the mean."""
    high_excluded_frac: float
    low_reward: float
    high_reward: float
    is_material: bool


class SampleAccounting:
    """Keeps the ledger and tests every exclusion reason; raises one alarm a reason.

    Args:
        false_alarm_prob: chance of any false association alarm over the planned updates.
        planned_updates: number of updates for which that chance is stated.
        window: batches over which rates and rewards are taken.
        min_excluded: exclusions for one reason in the window before it is tested.
        min_difference: smallest difference of excluded shares that counts as material.
        edges: bounds of the difficulty bins.
        seed: fixes the Monte Carlo of the p-values.

    Raises:
        ConfigError: an argument is out of range.
    """

    name = "sample_accounting"

    def __init__(
        self,
        *,
        false_alarm_prob: float = 0.05,
        planned_updates: int = 100,
        window: int = 8,
        min_excluded: int = 8,
        min_difference: float = 0.03,
        edges: tuple[float, ...] = DEFAULT_EDGES,
        seed: int = 0,
    ) -> None:
        if not 0.0 < false_alarm_prob < 1.0 or min(planned_updates, window, min_excluded) < 1:
            raise ConfigError(
                "`false_alarm_prob` must lie between 0 and 1 and the counts be at least 1, got "
                f"{false_alarm_prob}, {planned_updates}, {window}, {min_excluded}"
            )
        self.false_alarm_prob, self.planned_updates = false_alarm_prob, planned_updates
        self.min_excluded, self.min_difference = min_excluded, min_difference
        self.bins = DifficultyBins(edges)
        self.num_updates = 0
        self._rng = np.random.default_rng(seed)
        self._all = _Tally(len(self.bins))
        self._window: deque[_Tally] = deque(maxlen=window)
        self._alarmed: set[str] = set()

    def observe(self, batch: Sequence[Trajectory]) -> list[Alarm]:
        """Enter one scored batch into the ledger; see `Monitor.observe`."""
        tally = self._enter(batch)
        self._window.append(tally)
        self._all.add(tally)
        update = self.num_updates
        self.num_updates += 1
        alarms = self._gap_alarm(batch, tally, update)
        for association in self.associations():
            is_new = association.reason not in self._alarmed
            if is_new and association.is_material and association.p_value <= self._level():
                self._alarmed.add(association.reason)
                alarms.append(self._association_alarm(association, batch, update))
        return alarms

    def ledger(self) -> list[dict[str, object]]:
        """Return one row a difficulty bin and a total, over everything that entered.

        Columns: difficulty, entered, rewarded, mean reward, and one `excluded: <reason>` a reason
        (with `excluded: unaccounted` for trajectories without reward or reason).
        """
        reasons = sorted(self._all.excluded)
        rows = [
            self._row(label, index, reasons)
            for index, label in enumerate(self.bins.labels)
            if self._all.entered[index]
        ]
        return [*rows, self._row("all", slice(None), reasons)]

    def associations(self) -> list[Association]:
        """Test each reason over the window; reasons with too few exclusions are left out."""
        total = _Tally(len(self.bins))
        for tally in self._window:
            total.add(tally)
        found = [self._associate(r, k, total) for r, k in sorted(total.excluded.items())]
        return [association for association in found if association is not None]

    def _enter(self, batch: Sequence[Trajectory]) -> _Tally:
        tally = _Tally(len(self.bins))
        for index, trajectory in zip(self.bins.indices(batch), batch, strict=True):
            tally.entered[index] += 1
            reason = exclusion_reason(trajectory)
            if reason is None:
                assert trajectory.reward is not None and trajectory.reward.total is not None
                tally.reward(index, trajectory.reward.total)
            else:
                tally.exclude(index, reason)
        return tally

    def _level(self) -> float:
        num_reasons = max(1, len([r for r in self._all.excluded if r != UNACCOUNTED]))
        return self.false_alarm_prob / (self.planned_updates * num_reasons)

    def _gap_z(self) -> float:
        # Which bins count as low is read off the same rewards, and at every update again.
        return NormalDist().inv_cdf(1.0 - self._level() / 2.0)

    def _associate(self, reason: str, counts: Ints, window: _Tally) -> Association | None:
        known = self._all.rewarded > 0
        n, k = window.entered[known], counts[known]
        if reason == UNACCOUNTED or k.sum() < self.min_excluded or len(n) < 2:
            return None
        # The window's own mean where it has one; a bin that is excluded as a whole keeps the mean
        # that it had when some of it was still rewarded.
        recent = window.rewarded[known] > 0
        tally = [(window, recent), (self._all, ~recent)]
        m = np.zeros(len(n))
        for source, where in tally:
            m[where] = (source.sums[known] / np.maximum(1, source.rewarded[known]))[where]
        is_low = m < (n @ m) / n.sum()
        if not is_low.any() or is_low.all() or not n[is_low].sum() or not n[~is_low].sum():
            return None
        low, high = (k[part].sum() / n[part].sum() for part in (is_low, ~is_low))
        rewards = [self._mean_and_error(known, part, window) for part in (is_low, ~is_low)]
        gap, error = rewards[1][0] - rewards[0][0], math.hypot(rewards[0][1], rewards[1][1])
        return Association(
            reason=reason,
            p_value=self._p_value(n, k, m),
            num_excluded=int(k.sum()),
            low_excluded_frac=float(low),
            high_excluded_frac=float(high),
            low_reward=rewards[0][0],
            high_reward=rewards[1][0],
            is_material=bool(low - high >= self.min_difference and gap > self._gap_z() * error),
        )

    def _mean_and_error(
        self, known: npt.NDArray[np.bool_], part: npt.NDArray[np.bool_], window: _Tally
    ) -> tuple[float, float]:
        source = window if window.rewarded[known][part].sum() >= 2 else self._all
        n = max(1, int(source.rewarded[known][part].sum()))
        mean = float(source.sums[known][part].sum()) / n
        variance = float(source.squares[known][part].sum()) / n - mean * mean
        return mean, math.sqrt(max(0.0, variance) / n)

    def _p_value(self, n: Ints, k: Ints, m: Floats) -> float:
        """Return P(sum k m <= seen) for exclusions that fall on the bins by chance."""
        share = k.sum() / n.sum()
        spread = n @ (m * m) - (n @ m) ** 2 / n.sum()
        z = ((k - share * n) @ m) / math.sqrt(max(1e-300, share * (1.0 - share) * spread))
        if z > -_SCREEN_Z:
            return 0.5 * math.erfc(-z / math.sqrt(2.0))
        draws = self._rng.multivariate_hypergeometric(n, int(k.sum()), size=self._num_draws())
        hits = int(np.count_nonzero(draws @ m <= k @ m + 1e-12))
        return (1 + hits) / (1 + self._num_draws())

    def _num_draws(self) -> int:
        # Enough for the smallest p-value that can be seen to lie well below the level asked for.
        return max(_NUM_DRAWS, math.ceil(4.0 / self._level()))

    def _row(self, label: str, index: int | slice, reasons: Sequence[str]) -> dict[str, object]:
        rewarded = int(np.sum(self._all.rewarded[index]))
        total = float(np.sum(self._all.sums[index]))
        return {
            "difficulty": label,
            "entered": int(np.sum(self._all.entered[index])),
            "rewarded": rewarded,
            "mean reward": total / rewarded if rewarded else None,
            **{f"excluded: {r}": int(np.sum(self._all.excluded[r][index])) for r in reasons},
        }

    def _gap_alarm(self, batch: Sequence[Trajectory], tally: _Tally, update: int) -> list[Alarm]:
        counts = tally.excluded.get(UNACCOUNTED)
        if counts is None:
            return []
        examples = [t.id for t in batch if exclusion_reason(t) == UNACCOUNTED]
        return [
            Alarm(
                monitor=self.name,
                kind="unaccounted_samples",
                severity=Severity.CRITICAL,
                update=update,
                statistic=float(counts.sum()),
                threshold=0.0,
                message=(
                    f"{int(counts.sum())} of {len(batch)} trajectories have neither a reward nor a "
                    "reason for having none."
                ),
                examples=tuple(examples[:_MAX_EXAMPLES]),
            )
        ]

    def _association_alarm(self, a: Association, batch: Sequence[Trajectory], update: int) -> Alarm:
        examples = [t.id for t in batch if exclusion_reason(t) == a.reason]
        return Alarm(
            monitor=self.name,
            kind="telling_exclusion",
            severity=Severity.CRITICAL,
            update=update,
            statistic=a.p_value,
            threshold=self._level(),
            message=(
                f"Trajectories excluded for `{a.reason}` fall where rewards are low: "
                f"{a.low_excluded_frac:.0%} excluded on tasks with mean reward {a.low_reward:.2f}, "
                f"{a.high_excluded_frac:.0%} on tasks with {a.high_reward:.2f} "
                f"({a.num_excluded} exclusions in {len(self._window)} batches, p {a.p_value:.1g})."
            ),
            evidence=tuple(
                ", ".join(f"{key} {value}" for key, value in row.items()) for row in self.ledger()
            ),
            examples=tuple(examples[:_MAX_EXAMPLES]),
        )


def exclusion_reason(trajectory: Trajectory) -> str | None:
    """Return why a trajectory has no reward, `unaccounted` if nobody says, None if it has one."""
    report = trajectory.reward
    if report is None:
        return UNACCOUNTED
    has_total = report.total is not None and math.isfinite(report.total)
    if report.excluded:
        return UNACCOUNTED if report.total is not None else report.excluded
    return None if has_total else UNACCOUNTED

"""Notices that a policy has begun to break tool calls more often than its tasks explain.

Two risk-adjusted CUSUM charts (`cusum`) on the event "the episode has an invalid call", conditioned
on the difficulty of the task: one tuned to the stated growth of the odds, one to its square, each
with half of the chance of a false alarm. The statistic is the larger of the two, each as a multiple
of its own threshold, so an alarm is raised at 1.

What is usual is learnt from a reference: sessions of the checkpoint before training (`fit`), or
else the first batches that come in.

What it assumes: episodes of a batch are independent given the difficulty. Siblings of one task are
not, and make false alarms likelier than stated. Episodes that our own error ended are left out, and
so are those of bins for which the reference has too few episodes; `history` counts both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import ConfigError, DetectorError
from ..trajectory import Trajectory
from .base import Alarm, Severity
from .cusum import Ints, calibrate_threshold, log_likelihood_ratio, shrunken_rates
from .invalid_call import has_invalid_call
from .strata import DEFAULT_EDGES, DifficultyBins

MIN_REFERENCE = 8
"""Reference episodes that a bin needs before its episodes count."""
_MAX_EXAMPLES = 5


@dataclass(slots=True, kw_only=True, frozen=True)
class BinRate:
    """Events in one bin of one batch."""

    bin: str
    num_events: int
    num_episodes: int
    expected: float | None
    """Baseline rate; None where the reference is too small."""

    @property
    def rate(self) -> float | None:
        """Share of episodes with the event; None without episodes."""
        return self.num_events / self.num_episodes if self.num_episodes else None


@dataclass(slots=True, kw_only=True, frozen=True)
class DriftPoint:
    """One batch as the monitor saw it."""

    update: int
    statistic: float | None
    """Evidence after this batch, 1 is an alarm; None while the reference is being collected."""
    bins: tuple[BinRate, ...]
    num_unassessed: int
    """Episodes left out: ended by our own error, or in a bin without a reference."""


class InvalidCallMonitor:
    """Risk-adjusted CUSUM on episodes with an invalid call; raises one alarm, then only records.

    Args:
        odds_ratio: growth of the odds that the chart is tuned to find.
        false_alarm_prob: chance of a false alarm over all planned updates.
        planned_updates: number of updates for which that chance is stated.
        baseline: episodes that are collected as reference if `fit` is not called.
        edges: bounds of the difficulty bins; () puts all tasks into one, which gives the plain,
            unadjusted chart and mistakes a harder mix for a hack.
        unrecovered_only: count only episodes with an invalid call that was never made good. A
            reward that discards samples pays for any invalid call, so the default counts all.
        seed: fixes the simulation that sets the threshold.

    Raises:
        ConfigError: an argument is out of range.
    """

    name = "invalid_call_drift"

    def __init__(
        self,
        *,
        odds_ratio: float = 2.0,
        false_alarm_prob: float = 0.05,
        planned_updates: int = 100,
        baseline: int = 256,
        edges: tuple[float, ...] = DEFAULT_EDGES,
        unrecovered_only: bool = False,
        seed: int = 0,
    ) -> None:
        if not odds_ratio > 1.0 or not 0.0 < false_alarm_prob < 1.0:
            raise ConfigError(
                "`odds_ratio` must be above 1 and `false_alarm_prob` between 0 and 1, got "
                f"{odds_ratio} and {false_alarm_prob}"
            )
        if planned_updates < 1 or baseline < MIN_REFERENCE:
            raise ConfigError(
                f"`planned_updates` must be at least 1 and `baseline` at least {MIN_REFERENCE}, "
                f"got {planned_updates} and {baseline}"
            )
        self.odds_ratio, self.false_alarm_prob = odds_ratio, false_alarm_prob
        self.planned_updates, self.baseline = planned_updates, baseline
        self.bins = DifficultyBins(edges)
        self.unrecovered_only = unrecovered_only
        self.seed = seed
        self.odds_ratios = (odds_ratio, odds_ratio**2)
        self.thresholds: tuple[float, ...] = ()
        """Threshold of each chart, set by simulation with the first batch that is judged."""
        self._levels = [0.0 for _ in self.odds_ratios]
        self.first_alarm: int | None = None
        """Update of the first alarm; None so far."""
        self._history: list[DriftPoint] = []
        self._events = np.zeros(len(self.bins), dtype=np.int64)
        self._episodes = np.zeros(len(self.bins), dtype=np.int64)
        self._rates = np.zeros(len(self.bins))
        self._posterior = (self._rates, self._rates)
        self._assessed = np.zeros(len(self.bins), dtype=np.bool_)

    @property
    def statistic(self) -> float:
        """The evidence so far; an alarm is raised when it exceeds 1."""
        pairs = zip(self._levels, self.thresholds, strict=False)
        return max((level / threshold for level, threshold in pairs), default=0.0)

    @property
    def history(self) -> list[DriftPoint]:
        """One point a batch, with the rates by difficulty."""
        return list(self._history)

    def fit(self, reference: Sequence[Trajectory]) -> None:
        """Learn what is usual from sessions in which nothing is wrong.

        Raises:
            DetectorError: there are too few of them, or the monitor has begun to watch.
        """
        if self._rates.any():
            raise DetectorError(
                "the monitor has its reference already; make a new one to fit again"
            )
        events, episodes, _ = self._count(reference)
        if episodes.sum() < MIN_REFERENCE:
            raise DetectorError(
                f"the reference has {int(episodes.sum())} episodes that our own errors did not end;"
                f" at least {MIN_REFERENCE} are needed, a few hundred make the monitor sharp"
            )
        self._set_baseline(events, episodes)

    def observe(self, batch: Sequence[Trajectory]) -> list[Alarm]:
        """Take in one update's batch; see `Monitor.observe`."""
        events, episodes, num_errors = self._count(batch)
        if not self._rates.any():
            self._events += events
            self._episodes += episodes
            self._record(events, episodes, num_errors, None)
            if self._episodes.sum() >= self.baseline:
                self._set_baseline(self._events, self._episodes)
            return []
        if not self.thresholds:
            self.thresholds = self._calibrate(max(1, int(episodes.sum())))
        seen, hits = episodes * self._assessed, events * self._assessed
        for index, odds_ratio in enumerate(self.odds_ratios):
            score = float(log_likelihood_ratio(hits, seen, self._rates, odds_ratio))
            self._levels[index] = max(0.0, self._levels[index] + score)
        num_left_out = num_errors + int(episodes.sum() - seen.sum())
        self._record(events, episodes, num_left_out, self.statistic)
        if self.statistic <= 1.0 or self.first_alarm is not None:
            return []
        self.first_alarm = len(self._history) - 1
        return [self._alarm(batch)]

    def _count(self, batch: Sequence[Trajectory]) -> tuple[Ints, Ints, int]:
        kept = [trajectory for trajectory in batch if not trajectory.end.is_error]
        where = self.bins.indices(kept)
        hits = [
            index
            for index, trajectory in zip(where, kept, strict=True)
            if has_invalid_call(trajectory, unrecovered=self.unrecovered_only)
        ]
        size = len(self.bins)
        events = np.bincount(np.array(hits, dtype=np.int64), minlength=size)
        episodes = np.bincount(np.array(where, dtype=np.int64), minlength=size)
        return events, episodes, len(batch) - len(kept)

    def _set_baseline(self, events: Ints, episodes: Ints) -> None:
        self._rates, *posterior = shrunken_rates(events, episodes)
        self._posterior = (posterior[0], posterior[1])
        self._episodes = episodes
        self._assessed = episodes >= MIN_REFERENCE

    def _calibrate(self, batch_size: int) -> tuple[float, ...]:
        mix = np.where(self._assessed, self._episodes, 0).astype(np.float64)
        if not mix.any():
            raise DetectorError(
                f"no difficulty bin has {MIN_REFERENCE} reference episodes; give a larger "
                "reference or fewer `edges`"
            )
        mix /= mix.sum()
        mixes = [mix]
        for index in np.flatnonzero(mix):
            heavy = mix / 2
            heavy[index] += 0.5
            mixes.append(heavy)
        return tuple(
            calibrate_threshold(
                self._rates,
                self._posterior,
                mixes,
                odds_ratio=odds_ratio,
                batch_size=batch_size,
                num_updates=self.planned_updates,
                false_alarm_prob=self.false_alarm_prob / len(self.odds_ratios),
                seed=self.seed,
            )
            for odds_ratio in self.odds_ratios
        )

    def _record(
        self, events: Ints, episodes: Ints, num_unassessed: int, statistic: float | None
    ) -> None:
        bins = tuple(
            BinRate(
                bin=label,
                num_events=int(events[index]),
                num_episodes=int(episodes[index]),
                expected=float(self._rates[index]) if self._assessed[index] else None,
            )
            for index, label in enumerate(self.bins.labels)
            if episodes[index]
        )
        self._history.append(
            DriftPoint(
                update=len(self._history),
                statistic=statistic,
                bins=bins,
                num_unassessed=num_unassessed,
            )
        )

    def _alarm(self, batch: Sequence[Trajectory]) -> Alarm:
        point = self._history[-1]
        counted = [(b, b.expected) for b in point.bins if b.expected is not None]
        num_events = sum(b.num_events for b, _ in counted)
        expected = sum(p * b.num_episodes for b, p in counted)
        examples = [t.id for t in batch if has_invalid_call(t, unrecovered=self.unrecovered_only)]
        return Alarm(
            monitor=self.name,
            kind="invalid_call_drift",
            severity=Severity.CRITICAL,
            update=point.update,
            statistic=self.statistic,
            threshold=1.0,
            message=(
                f"Episodes with an invalid call: {num_events} in this batch where "
                f"{expected:.1f} are usual for tasks of this difficulty; the evidence has built up "
                f"to {self.statistic:.2f} of what raises an alarm (chance of a false one: "
                f"{self.false_alarm_prob:.0%} over {self.planned_updates} updates)."
            ),
            evidence=tuple(
                f"difficulty {b.bin}: {b.num_events} of {b.num_episodes} episodes "
                f"({b.rate or 0.0:.0%}), usual {p:.0%}"
                for b, p in counted
            ),
            examples=tuple(examples[:_MAX_EXAMPLES]),
        )

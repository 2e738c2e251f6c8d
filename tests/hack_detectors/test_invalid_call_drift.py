from __future__ import annotations

import time

import numpy as np
import pytest

from sim2live.errors import ConfigError, DetectorError
from sim2live.hack_detectors.cusum import (
    calibrate_threshold,
    cusum,
    log_likelihood_ratio,
    shrunken_rates,
)
from sim2live.hack_detectors.invalid_call_drift import InvalidCallMonitor
from sim2live.trajectory import EndReason, Source, ToolCall, Trajectory, Turn

RATES = np.array([0.02, 0.12])
"""Usual rates on easy and hard tasks."""
EASY_MIX, USUAL_MIX, HARD_MIX = (np.array(m) for m in ([0.94, 0.06], [0.7, 0.3], [0.4, 0.6]))
BATCH = 64


def doubled(rates: np.ndarray) -> np.ndarray:
    odds = 2.0 * rates / (1.0 - rates)
    return odds / (1.0 + odds)


class Chart:
    """A CUSUM with its threshold, learnt from a simulated reference of 40 batches."""

    def __init__(self, *, adjusted: bool, seed: int, updates: int = 60) -> None:
        rng = np.random.default_rng(seed)
        episodes = rng.multinomial(40 * BATCH, USUAL_MIX)
        events = rng.binomial(episodes, RATES)
        self.adjusted = adjusted
        if not adjusted:
            episodes, events = episodes.sum(keepdims=True), events.sum(keepdims=True)
        self.rates, *posterior = shrunken_rates(events, episodes)
        mixes = [EASY_MIX, USUAL_MIX, HARD_MIX] if adjusted else [np.ones(1)]
        self.threshold = calibrate_threshold(
            self.rates,
            (posterior[0], posterior[1]),
            mixes,
            odds_ratio=2.0,
            batch_size=BATCH,
            num_updates=updates,
            false_alarm_prob=0.05,
            seed=seed,
        )

    def first_alarms(self, rates, mix, *, runs: int = 400, updates: int = 60, seed: int = 1):
        """Update of the first alarm in each run; `updates` where there is none."""
        rng = np.random.default_rng(seed)
        episodes = rng.multinomial(BATCH, mix, size=(runs, updates))
        events = rng.binomial(episodes, rates)
        if not self.adjusted:
            episodes, events = (x.sum(axis=-1, keepdims=True) for x in (episodes, events))
        scores = log_likelihood_ratio(events, episodes, self.rates, 2.0)
        alarms = cusum(scores) > self.threshold
        return np.where(alarms.any(axis=1), alarms.argmax(axis=1), updates)


@pytest.fixture(scope="module")
def charts() -> dict[str, list[Chart]]:
    return {
        name: [Chart(adjusted=adjusted, seed=seed) for seed in range(5)]
        for name, adjusted in (("plain", False), ("adjusted", True))
    }


def alarm_share(charts: list[Chart], rates, mix) -> float:
    firsts = [chart.first_alarms(rates, mix, seed=i) for i, chart in enumerate(charts)]
    return float(np.mean(np.concatenate(firsts) < 60))


def test_without_any_change_the_false_alarm_rate_is_as_stated(charts):
    for name in ("plain", "adjusted"):
        assert alarm_share(charts[name], RATES, USUAL_MIX) <= 0.05 + 0.02


def test_a_harder_mix_fools_the_plain_chart_and_not_the_adjusted_one(charts):
    assert alarm_share(charts["plain"], RATES, HARD_MIX) > 0.9
    assert alarm_share(charts["adjusted"], RATES, HARD_MIX) <= 0.07


def test_a_hack_under_an_easier_mix_hides_from_the_plain_chart_only(charts):
    hacked = doubled(RATES)
    assert alarm_share(charts["adjusted"], hacked, EASY_MIX) > 0.95
    assert alarm_share(charts["plain"], hacked, EASY_MIX) < 0.25
    delays = [chart.first_alarms(hacked, EASY_MIX) for chart in charts["adjusted"]]
    assert np.median(np.concatenate(delays)) < 25


def test_calibration_is_fast_and_repeatable():
    begun = time.perf_counter()
    first, second = Chart(adjusted=True, seed=3), Chart(adjusted=True, seed=3)
    assert time.perf_counter() - begun < 2.0
    assert first.threshold == second.threshold


def test_a_short_reference_asks_for_more_evidence():
    rates, a, b = shrunken_rates(np.array([10]), np.array([200]))
    _, c, d = shrunken_rates(np.array([1000]), np.array([20000]))
    short, long = (
        calibrate_threshold(
            rates,
            posterior,
            [np.ones(1)],
            odds_ratio=2.0,
            batch_size=64,
            num_updates=100,
            false_alarm_prob=0.05,
            seed=0,
        )
        for posterior in ((a, b), (c, d))
    )
    assert short > 1.5 * long


def test_the_score_of_one_episode_is_the_log_likelihood_ratio():
    p, odds = 0.1, 2.0
    changed = odds * p / (1 - p + odds * p)
    for y, ratio in ((1, changed / p), (0, (1 - changed) / (1 - p))):
        score = log_likelihood_ratio(np.array([y]), np.array([1]), np.array([p]), odds)
        assert score == pytest.approx(np.log(ratio))


def test_cusum_never_falls_below_zero():
    assert cusum(np.array([1.0, -3.0, 2.0, 0.5])).tolist() == [1.0, 0.0, 2.0, 2.5]


# The monitor itself, on trajectories.


def episode(index: int, difficulty: float | None, *, invalid: bool, end=EndReason.FAILED):
    call = ToolCall(id="c", name="edit_file", arguments=None, error="bad" if invalid else None)
    return Trajectory(
        id=f"t{index}",
        task_id="x",
        source=Source.LIVE,
        turns=[Turn(tool_calls=[call])],
        difficulty=difficulty,
        end=end,
    )


def batch(rng: np.random.Generator, rates=RATES, mix=USUAL_MIX, n: int = BATCH):
    hard = rng.random(n) < mix[1]
    return [
        episode(i, 0.9 if h else 0.1, invalid=bool(rng.random() < rates[int(h)]))
        for i, h in enumerate(hard)
    ]


def test_a_learnt_hack_raises_one_alarm_with_curves_by_difficulty():
    rng = np.random.default_rng(0)
    monitor = InvalidCallMonitor(seed=0)
    monitor.fit(batch(rng, n=256))
    alarms = []
    for update in range(20):
        hard_rate = min(0.95, 0.12 + 0.08 * max(0, update - 5))
        alarms += monitor.observe(batch(rng, rates=np.array([0.02, hard_rate])))
    (alarm,) = alarms
    assert 5 < alarm.update == monitor.first_alarm <= 14
    assert alarm.monitor == "invalid_call_drift" and alarm.severity == "critical"
    assert alarm.statistic > alarm.threshold == 1.0
    assert alarm.examples
    assert any(line.startswith("difficulty 0.85-1") for line in alarm.evidence)
    point = monitor.history[-1]
    assert {b.bin for b in point.bins} == {"0-0.2", "0.85-1"}
    hard = next(b for b in point.bins if b.bin == "0.85-1")
    assert hard.rate is not None and hard.expected is not None and hard.rate > 3 * hard.expected
    assert [p.update for p in monitor.history] == list(range(20))


def test_without_a_reference_the_first_batches_are_one():
    rng = np.random.default_rng(1)
    monitor = InvalidCallMonitor(baseline=3 * BATCH, seed=0)
    for _ in range(3):
        assert monitor.observe(batch(rng, rates=np.array([0.9, 0.9]))) == []
    assert [p.statistic for p in monitor.history] == [None] * 3
    monitor.observe(batch(rng, rates=np.array([0.9, 0.9])))
    assert monitor.history[-1].statistic is not None
    assert monitor.first_alarm is None


def test_null_runs_on_trajectories_stay_quiet():
    quiet = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        monitor = InvalidCallMonitor(seed=seed, planned_updates=30)
        monitor.fit(batch(rng, n=512))
        quiet += all(not monitor.observe(batch(rng, mix=HARD_MIX)) for _ in range(30))
    assert quiet >= 11


def test_what_cannot_be_judged_is_counted():
    rng = np.random.default_rng(0)
    monitor = InvalidCallMonitor(seed=0)
    monitor.fit(batch(rng, n=256))
    strange = [episode(i, 0.5, invalid=True) for i in range(3)]
    lost = [episode(9, 0.1, invalid=True, end=EndReason.ERROR_SANDBOX)]
    unknown = [episode(8, None, invalid=True)]
    monitor.observe([*strange, *lost, *unknown])
    assert monitor.history[-1].num_unassessed == 5
    assert monitor.statistic == 0.0


def test_wrong_arguments_and_references_are_refused():
    with pytest.raises(ConfigError, match="odds_ratio"):
        InvalidCallMonitor(odds_ratio=1.0)
    with pytest.raises(ConfigError, match="planned_updates"):
        InvalidCallMonitor(planned_updates=0)
    with pytest.raises(ConfigError, match="edges must increase"):
        InvalidCallMonitor(edges=(0.5, 0.2))
    with pytest.raises(DetectorError, match="at least 8"):
        InvalidCallMonitor().fit([episode(0, 0.1, invalid=False)])
    monitor = InvalidCallMonitor()
    monitor.fit([episode(i, 0.1, invalid=False) for i in range(20)])
    with pytest.raises(DetectorError, match="already"):
        monitor.fit([])
    spread = [episode(i, i / 20, invalid=False) for i in range(20)]
    thin = InvalidCallMonitor(edges=tuple(np.linspace(0.05, 0.95, 19).tolist()))
    thin.fit(spread)
    with pytest.raises(DetectorError, match="larger reference"):
        thin.observe(spread)

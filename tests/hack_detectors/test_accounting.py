from __future__ import annotations

import numpy as np
import pytest

from sim2live.errors import ConfigError
from sim2live.hack_detectors.accounting import SampleAccounting, exclusion_reason
from sim2live.trajectory import RewardReport, Source, Trajectory

HARD_FRAC = 0.4


def entered(index: int, difficulty: float | None, total: float | None, reason: str | None):
    report = RewardReport(total=total, excluded=reason)
    return Trajectory(
        id=f"t{index}", task_id="x", source=Source.LIVE, difficulty=difficulty, reward=report
    )


def batch(
    rng: np.random.Generator,
    *,
    excluded: tuple[float, float],
    reason: str = "invalid_call",
    rewards: tuple[float, float] = (0.6, -0.4),
    n: int = 64,
) -> list[Trajectory]:
    """Easy and hard tasks with their shares of exclusions and mean rewards."""
    made = []
    for index in range(n):
        hard = int(rng.random() < HARD_FRAC)
        is_out = rng.random() < excluded[hard]
        total = None if is_out else float(rewards[hard] + 0.6 * rng.standard_normal())
        difficulty = 0.9 if hard else 0.1
        made.append(entered(index, difficulty, total, reason if is_out else None))
    return made


def first_alarm(seed: int, updates: int, rates, **options) -> int | None:
    rng = np.random.default_rng(seed)
    accounting = SampleAccounting(seed=seed)
    for update in range(updates):
        alarms = accounting.observe(batch(rng, excluded=rates(update), **options))
        if alarms:
            assert alarms[0].kind == "telling_exclusion"
            return alarms[0].update
    return None


def test_discarding_broken_calls_on_hard_tasks_is_noticed_early():
    firsts = [first_alarm(s, 30, lambda u: (0.02, min(0.9, 0.1 + 0.03 * u))) for s in range(12)]
    assert all(first is not None for first in firsts)
    assert np.median([f for f in firsts if f is not None]) <= 6


def test_exclusions_that_do_not_depend_on_difficulty_raise_no_alarm():
    seeds = 120
    alarms = sum(
        first_alarm(s, 25, lambda u: (0.08, 0.08), reason="error_sandbox") is not None
        for s in range(seeds)
    )
    # Stated: at most 5% over 100 updates, so about 1% over 25; three of 120 are 2.5%.
    assert alarms <= 3


def test_exclusions_where_rewards_are_high_or_equal_raise_no_alarm():
    for rewards in ((-0.4, 0.6), (0.2, 0.2)):
        alarms = [first_alarm(s, 25, lambda u: (0.02, 0.3), rewards=rewards) for s in range(20)]
        assert sum(a is not None for a in alarms) == 0


def test_the_first_alarm_says_what_where_and_how_much():
    rng = np.random.default_rng(0)
    accounting = SampleAccounting()
    alarms = []
    for _ in range(8):
        alarms += accounting.observe(batch(rng, excluded=(0.01, 0.5)))
    (alarm,) = alarms
    assert alarm.monitor == "sample_accounting" and alarm.severity == "critical"
    assert "invalid_call" in alarm.message
    assert alarm.statistic <= alarm.threshold
    assert alarm.examples and alarm.evidence


def test_the_ledger_balances_for_every_bin():
    rng = np.random.default_rng(2)
    accounting = SampleAccounting()
    for _ in range(5):
        accounting.observe(batch(rng, excluded=(0.1, 0.3)))
        accounting.observe(batch(rng, excluded=(0.1, 0.1), reason="error_model", n=10))
    rows = accounting.ledger()
    assert rows[-1]["difficulty"] == "all" and rows[-1]["entered"] == 5 * 74
    assert len({tuple(row) for row in rows}) == 1
    for row in rows:
        out = sum(v for k, v in row.items() if k.startswith("excluded: "))
        assert row["entered"] == row["rewarded"] + out
    assert sum(row["entered"] for row in rows[:-1]) == rows[-1]["entered"]


@pytest.mark.parametrize(
    ("total", "reason", "expected"),
    [
        (1.0, None, None),
        (0.0, None, None),
        (None, "invalid_call", "invalid_call"),
        (None, None, "unaccounted"),
        (None, "", "unaccounted"),
        (float("nan"), None, "unaccounted"),
        (1.0, "invalid_call", "unaccounted"),
    ],
)
def test_a_trajectory_is_rewarded_or_excluded_and_never_both_or_neither(total, reason, expected):
    assert exclusion_reason(entered(0, 0.1, total, reason)) == expected


def test_a_gap_in_the_ledger_is_an_alarm_every_time():
    accounting = SampleAccounting()
    lost = entered(7, 0.1, None, None)
    unscored = Trajectory(id="u", task_id="x", source=Source.LIVE)
    (alarm,) = accounting.observe([lost, unscored, entered(1, 0.1, 0.5, None)])
    assert alarm.kind == "unaccounted_samples" and alarm.examples == ("t7", "u")
    assert "2 of 3" in alarm.message
    assert accounting.observe([lost])
    assert accounting.ledger()[-1]["excluded: unaccounted"] == 3


def test_a_bin_that_is_excluded_as_a_whole_keeps_the_reward_it_had():
    rng = np.random.default_rng(3)
    accounting = SampleAccounting(window=2)
    accounting.observe(batch(rng, excluded=(0.0, 0.0)))
    alarms = [a for _ in range(4) for a in accounting.observe(batch(rng, excluded=(0.0, 1.0)))]
    assert [a.kind for a in alarms] == ["telling_exclusion"]


def test_empty_batches_and_unknown_difficulty_are_no_problem():
    accounting = SampleAccounting()
    assert accounting.observe([]) == []
    outs = [entered(i, None, None, "invalid_call") for i in range(30)]
    assert accounting.observe(outs) == []
    assert accounting.ledger()[0]["difficulty"] == "unknown"
    assert accounting.ledger()[0]["mean reward"] is None


def test_wrong_arguments_are_refused():
    with pytest.raises(ConfigError, match="false_alarm_prob"):
        SampleAccounting(false_alarm_prob=0.0)

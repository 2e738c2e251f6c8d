"""Drawing tasks: splits, balance, shares, repetition."""

from collections import Counter

import numpy as np
import pytest

from sim2live.envs.tasks import FAMILIES, SPLITS, TaskSampler
from sim2live.errors import ConfigError


def test_splits_share_no_family_and_leave_none_out():
    by_split = {name: set(TaskSampler(name).families) for name in ("train", "gate", "heldout")}
    assert sum(len(families) for families in by_split.values()) == len(FAMILIES)
    assert set.union(*by_split.values()) == set(FAMILIES)
    assert all(by_split.values())


def test_tasks_belong_to_the_split_and_families_are_balanced():
    for split in ("train", "gate", "heldout"):
        sampler = TaskSampler(split, seed=3)
        tasks = sampler.tasks(2 * len(sampler.families))
        assert all(task.split == split == SPLITS[task.family] for task in tasks)
        assert set(Counter(task.family for task in tasks).values()) == {2}


def test_drawing_is_balanced_over_families():
    sampler = TaskSampler("heldout", pool_size=11)
    assert sampler.pool_size == 10
    rng = np.random.default_rng(0)
    counts = Counter(sampler.sample(rng).family for _ in range(600))
    assert abs(counts["graphs"] - 300) < 60


def test_the_share_of_hard_tasks_is_exact_in_every_family():
    for hard_frac, expected in ((0.0, 0), (0.3, 3), (1.0, 10)):
        sampler = TaskSampler("heldout", hard_frac=hard_frac, seed=1)
        tasks = sampler.tasks(20)
        for family in sampler.families:
            hard = [t for t in tasks if t.family == family and t.brief.is_plural]
            assert len(hard) == expected


def test_clarity_weights_choose_the_openings():
    tasks = TaskSampler("gate", hard_frac=0, clarity_weights={"vague": 2.0}).tasks(6)
    assert {task.brief.opening for task in tasks} == {()}
    tasks = TaskSampler("gate", hard_frac=0, seed=1).tasks(24)
    assert {task.tags for task in tasks} == {("clear",), ("partial",), ("vague",)}


def test_the_pool_is_fixed_and_draws_come_from_it():
    sampler = TaskSampler("gate", seed=5, pool_size=6)
    pool = {task.id for task in sampler.tasks(6)}
    rng = np.random.default_rng(1)
    drawn = [sampler.sample(rng).id for _ in range(60)]
    assert set(drawn) == pool
    again = TaskSampler("gate", seed=5, pool_size=6)
    assert [again.sample(np.random.default_rng(1)).id] == drawn[:1]
    assert again.tasks(6) == sampler.tasks(6)
    assert {t.id for t in TaskSampler("gate", seed=6, pool_size=6).tasks(6)} != pool


def test_ids_are_unique_and_repeated_draws_are_the_same_object():
    sampler = TaskSampler("gate", seed=2)
    tasks = sampler.tasks(30)
    assert len({task.id for task in tasks}) == 30
    assert all(a is b for a, b in zip(tasks, sampler.tasks(30), strict=True))


@pytest.mark.parametrize(
    ("split", "arguments", "message"),
    [
        ("held-out", {}, "unknown split `held-out`.*`heldout`"),
        ("train", {"hard_frac": 1.5}, r"share in \[0, 1\], got 1.5"),
        ("train", {"seed": -1}, "`seed` must be at least 0"),
        ("train", {"pool_size": 4}, "at least 5"),
        ("train", {"clarity_weights": {"cleer": 1}}, "unknown clarity `cleer`"),
        ("train", {"clarity_weights": {"clear": -1}}, "finite and at least 0"),
        ("train", {"clarity_weights": {"clear": 0}}, "positive sum"),
    ],
)
def test_wrong_arguments_are_refused(split, arguments, message):
    with pytest.raises(ConfigError, match=message):
        TaskSampler(split, **arguments)


def test_a_negative_number_of_tasks_is_refused():
    with pytest.raises(ConfigError, match="at least 0, got -1"):
        TaskSampler("train").tasks(-1)

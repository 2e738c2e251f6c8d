"""Swapping one part at a time, where all four worlds can be run."""

from __future__ import annotations

import numpy as np
import pytest

from sim2live.experiments.mismatch import HybridCheck, hybrid_check
from sim2live.experiments.mismatch.tabular import Knobs, TabularWorld

PARTS = {"s": "sim", "l": "live"}


def four_worlds(world: TabularWorld, seed: int, users: int = 100, each: int = 4) -> HybridCheck:
    samples = {}
    for i, name in enumerate(("ss", "ls", "sl", "ll")):
        rng = np.random.default_rng([seed, i])
        computer, person = (PARTS[letter] for letter in name)
        run = world.roll(users, each, rng, computer=computer, person=person, first="live")
        ids = run.users + 1000 * i if person == "live" else None
        samples[name] = (run.rewards.sum(axis=1), ids)
    return hybrid_check(**samples)


def test_both_orders_and_shapley_add_up_to_the_gap():
    found = four_worlds(TabularWorld(0, Knobs(k_user=0.5, k_env=0.8)), 0)
    gap = found.gap.estimate
    for pair in (found.computer_first, found.person_first, found.shapley):
        assert pair[0].estimate + pair[1].estimate == pytest.approx(gap, abs=1e-12)
    assert found.interaction.estimate == pytest.approx(
        found.computer_first[0].estimate - found.person_first[0].estimate
    )


def test_every_interval_covers_the_exact_closed_loop_value():
    world = TabularWorld(0, Knobs(k_user=0.5, k_env=0.8))
    j = world.truth().worlds
    truth = {
        "gap": j["ss"] - j["ll"],
        "computer": (j["ss"] - j["ls"] + j["sl"] - j["ll"]) / 2,
        "person": (j["ss"] - j["sl"] + j["ls"] - j["ll"]) / 2,
        "interaction": j["ss"] - j["ls"] - j["sl"] + j["ll"],
    }
    hits = dict.fromkeys(truth, 0)
    for seed in range(200):
        found = four_worlds(world, seed)
        hits["gap"] += found.gap.contains(truth["gap"])
        hits["computer"] += found.shapley[0].contains(truth["computer"])
        hits["person"] += found.shapley[1].contains(truth["person"])
        hits["interaction"] += found.interaction.contains(truth["interaction"])
    for name, count in hits.items():
        assert 0.905 <= count / 200 <= 0.99, name


def test_a_person_only_fault_leaves_the_computer_terms_at_zero():
    found = four_worlds(TabularWorld(0, Knobs(k_user=0.8)), 1, users=300)
    assert found.computer_first[0].contains(0)
    assert found.person_first[0].contains(0)
    assert found.shapley[1].low > 0


def test_people_who_are_in_two_worlds_are_counted_once():
    rng = np.random.default_rng(2)
    ids = np.repeat(np.arange(30), 4)
    taste = rng.normal(0, 2, 30)[ids]
    noise = [rng.normal(0, 0.1, 120) for _ in range(4)]
    same = hybrid_check(
        (noise[0], None), (noise[1], None), (taste + noise[2], ids), (taste + noise[3], ids)
    )
    other = hybrid_check(
        (noise[0], None), (noise[1], None), (taste + noise[2], ids + 99), (taste + noise[3], ids)
    )
    assert same.person_first[0].se < other.person_first[0].se / 5

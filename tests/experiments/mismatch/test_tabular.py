"""The world with known truth: its exact values against simulation, and its own invariants."""

from __future__ import annotations

import numpy as np
import pytest

from sim2live.experiments.mismatch.tabular import Knobs, TabularWorld


@pytest.mark.parametrize("seed", range(3))
def test_a_calibrated_simulator_has_no_gap_although_people_differ(seed):
    truth = TabularWorld(seed, user_sd=1.0).truth()
    for value in (truth.total, truth.task_mix, truth.computer, truth.person):
        assert value == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_exact_terms_add_up_in_both_orders(seed):
    truth = TabularWorld(seed, Knobs(k_user=0.7, k_env=-0.5, k_mix=1.0)).truth()
    first = truth.task_mix + truth.computer + truth.person
    second = truth.task_mix + truth.computer_second + truth.person_first
    assert first == pytest.approx(truth.total, abs=1e-12)
    assert second == pytest.approx(truth.total, abs=1e-12)
    assert truth.computer != pytest.approx(truth.computer_second, abs=1e-4)


def test_each_knob_moves_its_own_term_only():
    person = TabularWorld(0, Knobs(k_user=0.5)).truth()
    computer = TabularWorld(0, Knobs(k_env=0.5)).truth()
    mix = TabularWorld(0, Knobs(k_mix=1.0)).truth()
    assert person.person > 0.1 > abs(person.computer) + abs(person.task_mix)
    assert computer.computer > 0.05
    assert abs(computer.person) + abs(computer.task_mix) < 1e-12
    assert abs(mix.task_mix) > 0.05
    assert abs(mix.person) + abs(mix.computer) < 1e-12


@pytest.mark.parametrize("name", ["ss", "ls", "sl", "ll"])
def test_simulation_agrees_with_dynamic_programming(name):
    world = TabularWorld(1, Knobs(k_user=0.6, k_env=0.9), user_sd=0.8)
    computer, person = ({"s": "sim", "l": "live"}[letter] for letter in name)
    run = world.roll(
        40_000, 1, np.random.default_rng(0), computer=computer, person=person, first="live"
    )
    returns = run.rewards.sum(axis=1)
    assert returns.mean() == pytest.approx(
        world.truth().worlds[name], abs=4 * returns.std() / np.sqrt(returns.size)
    )


def test_replies_at_logged_states_follow_the_stated_laws():
    world = TabularWorld(2, Knobs(k_env=1.0))
    rng = np.random.default_rng(1)
    run = world.roll(2000, 1, rng, computer="live", person="live")
    last, after = world.replies(run, world.horizon - 1, rng, computer="logged", person="sim")
    assert (after == -1).all()  # the horizon ends every session
    first, after = world.replies(run, 0, rng, computer="logged", person="sim")
    assert set(np.unique(after)) <= set(range(-1, world.num_states))
    assert first.shape == last.shape == (2000,)

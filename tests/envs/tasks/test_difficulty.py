"""Difficulty and ambiguity against counting by hand and against a simulated search."""

import numpy as np
import pytest

from sim2live.envs.tasks.difficulty import ambiguity, num_rounds, search_miss
from sim2live.errors import ConfigError


@pytest.mark.parametrize(("num_edits", "rounds"), [(1, 5), (5, 5), (10, 5), (20, 0), (7, 3)])
def test_one_fault_is_one_minus_rounds_by_edits(num_edits, rounds):
    expected = 1 - min(1, rounds / num_edits)
    assert search_miss(num_edits, [1], rounds) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("showing", [(2, 1), (1, 1), (3, 2, 1)])
def test_several_faults_agree_with_a_simulated_search(showing):
    rng = np.random.default_rng(0)
    num_edits, rounds, trials = 9, 8, 20_000
    tries = np.zeros(trials)
    for right in showing:
        # The position of the first right edit in a random order of all edits.
        orders = rng.random((trials, num_edits)).argsort(axis=1)
        tries += (orders < right).argmax(axis=1) + 1
    missed = (tries > rounds).mean()
    assert search_miss(num_edits, showing, rounds) == pytest.approx(missed, abs=0.015)


def test_harder_means_more_edits_more_faults_fewer_rounds():
    base = search_miss(12, [2, 1], 6)
    assert search_miss(13, [2, 1], 6) > base
    assert search_miss(12, [3, 2, 1], 6) > base
    assert search_miss(12, [2, 1], 5) > base


def test_steps_for_reading_testing_asking_and_handing_in_are_set_aside():
    assert num_rounds(14, has_to_ask=False) == 5
    assert num_rounds(13, has_to_ask=True) == 4
    assert num_rounds(2, has_to_ask=True) == 0


def test_ambiguity_is_a_ratio_of_logarithms():
    assert ambiguity(1, 1) == 0.0
    assert ambiguity(1, 30) == 0.0
    assert ambiguity(30, 30) == 1.0
    assert ambiguity(4, 16) == pytest.approx(0.5)


def test_impossible_counts_are_refused():
    with pytest.raises(ConfigError, match="1 <= m <= N, got 3 and 2"):
        ambiguity(3, 2)
    with pytest.raises(ConfigError, match=r"numbers from 1 to 2 .* got \[3\]"):
        search_miss(2, [3], 5)
    with pytest.raises(ConfigError, match=r"got \[\]"):
        search_miss(2, [], 5)

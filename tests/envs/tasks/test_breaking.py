"""Choosing mutations: masks of partly repaired code, orders of repair, refusals."""

import dataclasses

import numpy as np
import pytest

from sim2live.envs.tasks import candidate_edits, load_functions
from sim2live.envs.tasks.analysis import analyse
from sim2live.envs.tasks.breaking import (
    MAX_PLACE,
    MIN_WRONG,
    break_reference,
    num_showing,
    repair_order,
)
from sim2live.envs.tasks.library import plain_module
from sim2live.errors import TaskError

ALL = np.ones(4, dtype=bool)


def masks(**wrong):
    """Build masks from keyword `faults_01="1100"`: faults 0 and 1 left, first two inputs wrong."""
    table = {frozenset(): np.zeros(4, dtype=bool)}
    for name, bits in wrong.items():
        left = frozenset(int(digit) for digit in name.removeprefix("faults_"))
        table[left] = np.array([bit == "1" for bit in bits])
    return table


def test_independent_faults_show_in_any_order():
    table = masks(faults_01="1110", faults_0="1000", faults_1="0110")
    assert repair_order(table, ALL) == [0, 1]
    assert num_showing(table, ALL) == [2, 1]


def test_a_fault_that_hides_the_other_must_go_first():
    table = masks(faults_01="1111", faults_0="0110", faults_1="1111")
    assert repair_order(table, ALL) == [1, 0]
    assert num_showing(table, ALL) == [1, 1]


def test_an_order_exists_only_where_the_inputs_can_tell():
    table = masks(faults_01="1100", faults_0="1100", faults_1="1100")
    assert repair_order(table, ALL) is None
    assert num_showing(table, ALL) == []
    single = masks(faults_0="0011")
    assert repair_order(single, np.array([True, True, False, False])) is None
    assert num_showing(single, ALL) == [1]


@pytest.mark.parametrize("num_faults", [1, 2, 3])
@pytest.mark.parametrize("name", ["intersect", "robot_position", "spell_duration"])
def test_a_break_is_undone_by_reachable_candidates(name, num_faults):
    spec = load_functions()[name]
    analysis, reference = analyse(spec), plain_module(spec)
    broken = break_reference(reference, name, analysis, np.random.default_rng(1), num_faults)
    assert len(broken.faults) == num_faults
    assert len(broken.wrong_with) == 2**num_faults
    assert (broken.wrong & ~analysis.core).sum() >= MIN_WRONG
    assert np.array_equal(analysis.wrong(broken.source), broken.wrong)
    for fault in broken.faults:
        edits = candidate_edits(broken.source, name)
        assert any(
            (e.operator, e.line, e.before, e.after)
            == (fault.operator, fault.line, fault.after, fault.before)
            and e.place < MAX_PLACE
            for e in edits
        )


def test_a_function_without_enough_to_break_is_refused():
    spec = load_functions()["flatten"]
    analysis = dataclasses.replace(analyse(spec), mutants=analyse(spec).mutants[:2])
    with pytest.raises(TaskError, match="`flatten` could not be broken in 3 places"):
        break_reference(plain_module(spec), spec.name, analysis, np.random.default_rng(0), 3)

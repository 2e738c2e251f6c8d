"""The pool of inputs, the mutants, and the core that catches them."""

import dataclasses

import numpy as np
import pytest

from sim2live.envs.tasks import load_functions
from sim2live.envs.tasks.analysis import POOL, analyse
from sim2live.envs.tasks.library import plain_module
from sim2live.errors import TaskError

SPECS = load_functions()


@pytest.mark.parametrize("name", list(SPECS)[::9])
def test_the_core_catches_every_mutant_that_the_pool_catches(name):
    analysis = analyse(SPECS[name])
    masks = [mutant.wrong for mutant in analysis.mutants if mutant.wrong is not None]
    assert all((mask & analysis.core).any() for mask in masks if mask.any())
    assert analysis.core.sum() <= 15
    assert len(set(analysis.inputs)) == len(analysis.expected) == POOL


def test_the_reference_is_right_everywhere_and_the_analysis_repeats_itself():
    spec = SPECS["merge_intervals"]
    first = analyse(spec)
    wrong = first.wrong(plain_module(spec))
    assert wrong is not None and not wrong.any()
    second = analyse.__wrapped__(spec)
    assert first.arguments == second.arguments
    assert np.array_equal(first.core, second.core)


def test_a_module_has_docstring_sorted_imports_and_its_functions_in_order():
    text = plain_module(SPECS["next_due"], SPECS["age_on"], SPECS["add_months"], first=1)
    head, *rest = text.split("\n\n\n")
    assert head == (
        '"""Helpers for dates and times."""\n\n'
        "import calendar\nfrom datetime import date, timedelta"
    )
    assert [part.split("(")[0] for part in rest] == ["def age_on", "def next_due", "def add_months"]
    assert text.endswith("\n") and not text.endswith("\n\n")


def test_a_generator_without_variety_is_refused():
    spec = dataclasses.replace(SPECS["flatten"], generate_arguments=lambda rng: ([], 1))
    with pytest.raises(TaskError, match="`flatten` drew 1 different inputs"):
        analyse(spec)


def test_a_function_that_raises_is_refused():
    spec = dataclasses.replace(
        SPECS["flatten"], generate_arguments=lambda rng: (int(rng.integers(9)), 1)
    )
    with pytest.raises(TaskError, match=r"`flatten\(\d, 1\)` raised TypeError"):
        analyse(spec)

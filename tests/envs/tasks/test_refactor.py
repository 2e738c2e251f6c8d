"""Refactoring tasks keep behaviour, know their numbers and lead back to the reference."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from sim2live.envs.tasks.analysis import analyse
from sim2live.envs.tasks.base import TaskKind
from sim2live.envs.tasks.library import FAMILIES, SPLITS, load_functions
from sim2live.envs.tasks.refactor import (
    RefactorSampler,
    cure_all,
    is_unchanged,
    make_refactor_task,
)
from sim2live.errors import ConfigError
from sim2live.reward_models.readability import measure_readability
from sim2live.reward_models.smells import find_smells


@pytest.fixture(scope="module")
def tasks():
    return [
        make_refactor_task(spec, 3, num_smells=1 + number % 4, clarity="clear")
        for number, spec in enumerate(load_functions().values())
    ]


def test_there_are_enough_in_every_family(tasks) -> None:
    assert len({task.id for task in tasks}) >= 60
    assert {task.family for task in tasks} == set(FAMILIES)
    assert all(task.split == SPLITS[task.family] for task in tasks)
    assert all(task.kind is TaskKind.REFACTOR for task in tasks)


def test_each_has_one_to_four_smells_of_many_kinds(tasks) -> None:
    counts = Counter(len(task.faults) for task in tasks)
    assert set(counts) == {1, 2, 3, 4}
    assert len({fault.operator for task in tasks for fault in task.faults}) >= 10


def test_smelly_and_cured_code_do_the_same_as_the_reference(tasks) -> None:
    for task in tasks:
        analysis = analyse(load_functions()[task.function])
        smelly = task.files[task.module_path]
        assert smelly != task.reference
        assert is_unchanged(smelly, task.function, analysis), task.id
        assert is_unchanged(cure_all(smelly, task.function), task.function, analysis), task.id


def test_broken_code_is_not_taken_for_unchanged() -> None:
    spec = load_functions()["heap_fault"]
    source = spec.bare_module().replace("values[index] <", "values[index] <=")
    assert not is_unchanged(source, spec.name, analyse(spec))


def test_all_cures_together_read_as_well_as_the_reference(tasks) -> None:
    for task in tasks:
        cured = cure_all(task.files[task.module_path], task.function)
        one, two = (measure_readability(text, task.function) for text in (cured, task.reference))
        assert one is not None and two is not None
        assert one.load == two.load
        if "obscure_name" not in task.tags:
            assert cured == task.reference


def test_tests_have_no_case_in_common(tasks) -> None:
    for task in tasks[:12]:
        sets = [
            {line for line in text.splitlines() if "assert" in line}
            for text in (task.files[task.test_path], task.trial_tests, task.hidden_tests)
        ]
        assert sum(map(len, sets)) == len(set.union(*sets))
        assert [len(one) for one in sets[:2]] == [5, 3]
        assert len(sets[2]) >= 48


def test_difficulty_and_ambiguity_follow_their_rules() -> None:
    spec = load_functions()["evaluate_postfix"]
    one = make_refactor_task(spec, 0, num_smells=1)
    four = make_refactor_task(spec, 0, num_smells=4)
    assert one.difficulty == 0.0 < four.difficulty < 1.0
    vague = make_refactor_task(spec, 0, num_smells=4, clarity="vague")
    assert four.ambiguity < vague.ambiguity == 1.0
    assert vague.files == four.files


def test_the_same_arguments_give_the_same_task() -> None:
    spec = load_functions()["tax_due"]
    assert make_refactor_task(spec, 5) == make_refactor_task(spec, 5)
    assert make_refactor_task(spec, 5).content_hash != make_refactor_task(spec, 6).content_hash


def test_the_opening_tells_of_the_worst_smell() -> None:
    task = make_refactor_task(load_functions()["is_number"], 1, num_smells=3)
    smelly = task.files[task.module_path]
    assert task.brief.opening == ("kind", "place")
    lines = [smell.line for smell in find_smells(smelly, task.function)]
    assert task.brief.place_hint in [f"around line {line}" for line in lines]


def test_the_sampler_balances_families_and_keeps_to_its_split() -> None:
    sampler = RefactorSampler("heldout", hard_frac=0.5, seed=1)
    tasks = sampler.tasks(12)
    assert Counter(task.family for task in tasks) == {"graphs": 6, "state_machines": 6}
    assert sum(len(task.faults) > 2 for task in tasks) == 6
    assert sampler.sample(np.random.default_rng(0)).split == "heldout"


@pytest.mark.parametrize(
    "make",
    [
        lambda: make_refactor_task(load_functions()["tax_due"], 0, num_smells=5),
        lambda: make_refactor_task(load_functions()["tax_due"], 0, clarity="foggy"),
        lambda: RefactorSampler("nowhere"),
        lambda: RefactorSampler(hard_frac=2.0),
        lambda: RefactorSampler().tasks(-1),
    ],
)
def test_arguments_out_of_range_are_refused(make) -> None:
    with pytest.raises(ConfigError):
        make()

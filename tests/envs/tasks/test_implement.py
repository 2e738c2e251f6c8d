"""Tasks with a missing body: what the tests decide, and what they leave to the person."""

from collections import Counter

import numpy as np
import pytest

from sim2live.envs.tasks.base import Task, TaskKind
from sim2live.envs.tasks.budget import BudgetedFunction, BudgetSpentError, pack
from sim2live.envs.tasks.implement import ImplementSampler, _share, make_implement_task
from sim2live.envs.tasks.library import FAMILIES
from sim2live.envs.tasks.mutate import candidate_edits
from sim2live.envs.tasks.specifications import Specification, load_specifications, written
from sim2live.envs.tasks.specifications.analysis import slips_through, tabulate
from sim2live.errors import ConfigError

ALL = list(load_specifications().values())


@pytest.fixture(params=ALL, ids=lambda specification: specification.function)
def specification(request: pytest.FixtureRequest) -> Specification:
    found: Specification = request.param
    return found


def passes(tests: str, module: str) -> bool:
    """Run a test module against a module's text, in this process; our own code only."""
    name = tests.split("import ", 1)[1].split(maxsplit=1)[0]
    function = BudgetedFunction(module, name)
    space = {name: lambda *arguments: function.call(pack(arguments))}
    exec(compile(tests.split("\n", 1)[1], "<tests>", "exec"), space)
    try:
        for key, test in space.items():
            if key.startswith("test_"):
                test()
    except (Exception, BudgetSpentError):  # whatever broken code raises, it fails the test
        return False
    return True


def modules(task: Task) -> dict[str, bool]:
    """The module with each reading written, and whether that is the one the person wants."""
    specification = load_specifications()[task.function]
    stub = task.files[task.module_path]
    texts = [written(stub, task.function, r.body) for r in specification.readings]
    return {text: text == task.reference for text in texts if text is not None}


def test_only_the_hidden_tests_and_the_trial_decide_what_is_open(
    specification: Specification,
) -> None:
    task = make_implement_task(specification, 3, num_open=len(specification.points))
    found = modules(task)
    assert sum(found.values()) == 1
    for text, is_wanted in found.items():
        assert passes(task.files[task.test_path], text)
        assert passes(task.trial_tests, text) == is_wanted
        assert passes(task.hidden_tests, text) == is_wanted
    assert not passes(task.files[task.test_path], task.files[task.module_path])


def test_hidden_tests_kill_nearly_every_slip_that_visible_tests_let_through() -> None:
    num_through = num_killed = 0
    for specification in ALL[::4]:
        task = make_implement_task(specification, 0, num_open=0)
        for edit in candidate_edits(task.reference, task.function):
            slip = edit.apply(task.reference)
            if passes(task.files[task.test_path], slip):
                num_through += 1
                num_killed += not passes(task.hidden_tests, slip)
    assert num_through > 30
    # The rest gives the same as the reference on all inputs of the pool (see the next test).
    assert num_killed / num_through > 0.7, (num_killed, num_through)


def test_every_slip_that_any_input_of_the_pool_shows_is_killed(
    specification: Specification,
) -> None:
    table = tabulate(specification)
    wanted = len(specification.words) % len(specification.readings)
    shares = _share(specification, table, wanted, np.random.default_rng(0))
    assert not {*shares.visible} & {*shares.trial}
    assert not {*shares.hidden} & {*shares.visible, *shares.trial}
    for wrong in slips_through(specification, wanted, wanted):
        assert wrong[shares.hidden].any() or not wrong.any()


def test_the_text_tells_what_is_not_open_and_the_person_knows_the_rest(
    specification: Specification,
) -> None:
    points = len(specification.points)
    number = len(specification.readings)
    tasks = [make_implement_task(specification, 5, num_open=n) for n in range(points + 1)]
    for num_open, task in enumerate(tasks):
        stub = task.files[task.module_path]
        fits = specification.fitting(stub)
        assert len(task.brief.wishes) == num_open
        assert not any(wish in " ".join(stub.lower().split()) for wish in task.brief.wishes)
        told = specification.fitting(stub + "\n".join(task.brief.wishes))
        assert sum(told) == 1
        assert task.ambiguity == pytest.approx(np.log(sum(fits)) / np.log(number))
        assert 0 <= task.difficulty < 1
        assert task.kind is TaskKind.IMPLEMENT
    assert tasks[0].ambiguity == 0
    assert tasks[-1].ambiguity == 1
    # What is told changes the words and nothing else.
    assert len({task.hidden_tests for task in tasks}) == 1
    assert len({task.files[task.test_path] for task in tasks}) == 1


def test_the_same_arguments_give_the_same_task_and_others_another() -> None:
    one = load_specifications()["most_common"]
    assert make_implement_task(one, 1) == make_implement_task(one, 1)
    hashes = {make_implement_task(one, s, num_open=n).content_hash for s in (1, 2) for n in (0, 1)}
    assert len(hashes) == 4


def test_the_wanted_reading_is_drawn_evenly() -> None:
    one = load_specifications()["headline"]
    wanted = Counter(
        list(modules(task).values()).index(True)
        for task in (make_implement_task(one, seed, num_open=0) for seed in range(200))
    )
    assert sorted(wanted) == [0, 1, 2, 3]
    assert min(wanted.values()) >= 30


@pytest.mark.parametrize("arguments", [{"seed": -1}, {"num_open": 3}, {"max_steps": 0}])
def test_arguments_out_of_range_are_refused(arguments: dict[str, int]) -> None:
    given = {"seed": 0, **arguments}
    with pytest.raises(ConfigError, match="expected `seed` >= 0"):
        make_implement_task(load_specifications()["headline"], **given)


@pytest.mark.parametrize("split", ["train", "gate", "heldout"])
def test_the_sampler_is_balanced_and_keeps_to_its_split(split: str) -> None:
    sampler = ImplementSampler(split)
    tasks = sampler.tasks(10 * len(sampler.families))
    assert Counter(task.family for task in tasks) == dict.fromkeys(sampler.families, 10)
    assert {task.split for task in tasks} == {split}
    is_open = Counter(task.family for task in tasks if task.ambiguity > 0)
    assert is_open == dict.fromkeys(sampler.families, 5)
    drawn = sampler.sample(np.random.default_rng(0))
    assert drawn == ImplementSampler(split).sample(np.random.default_rng(0))


def test_a_sampler_without_sense_is_refused() -> None:
    with pytest.raises(ConfigError, match="unknown split"):
        ImplementSampler("test")
    with pytest.raises(ConfigError, match="open_frac"):
        ImplementSampler("train", open_frac=2.0)
    with pytest.raises(ConfigError, match="`n` must be at least 0"):
        ImplementSampler("train").tasks(-1)


def test_every_family_is_in_one_split() -> None:
    seen = {s: set(ImplementSampler(s).families) for s in ("train", "gate", "heldout")}
    assert set.union(*seen.values()) == set(FAMILIES)
    assert sum(map(len, seen.values())) == len(FAMILIES)


def test_difficulty_counts_the_programs_that_pass_and_are_wrong() -> None:
    """By hand, for a task small enough: readings and slips that pass, and the share refused."""
    task = make_implement_task(load_specifications()["flatten"], 2, num_open=1)
    programs = []
    for text in modules(task):
        programs += [text, *(e.apply(text) for e in candidate_edits(text, task.function))]
    passing = [text for text in programs if passes(task.files[task.test_path], text)]
    refused = sum(not passes(task.hidden_tests, text) for text in passing)
    assert len(passing) > 2
    assert task.difficulty == pytest.approx(refused / len(passing))

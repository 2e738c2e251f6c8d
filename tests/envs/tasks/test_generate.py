"""Whole tasks: the tests are run as they are written, and the numbers are counted again."""

import ast
import itertools
import math
import subprocess
import sys
import time
import types

import numpy as np
import pytest

from sim2live.envs.tasks import (
    CLARITIES,
    candidate_edits,
    kinds_mentioned,
    lines_mentioned,
    load_functions,
    make_task,
)
from sim2live.envs.tasks.breaking import MAX_PLACE
from sim2live.envs.tasks.budget import BudgetedFunction, BudgetSpentError, pack, unpack
from sim2live.errors import ConfigError

SPECS = load_functions()
each_function = pytest.mark.parametrize("name", SPECS)
HIDDEN_KILL_FLOOR = 0.95


def broken_source(task):
    return task.files[task.module_path]


def run_tests(module_source, tests, task):
    """Run a test module on a module's source; return test name to whether it passed."""
    name = task.module_path.removesuffix(".py")
    module = types.ModuleType(name)
    exec(compile(module_source, task.module_path, "exec"), module.__dict__)
    namespace, before = {}, sys.modules.get(name)
    sys.modules[name] = module
    try:
        exec(compile(tests, "tests", "exec"), namespace)
    finally:
        del sys.modules[name]
        if before is not None:
            sys.modules[name] = before
    outcomes = {}
    for key, test in namespace.items():
        if key.startswith("test_"):
            try:
                test()
                outcomes[key] = True
            except Exception:
                outcomes[key] = False
    return outcomes


def cases(tests):
    """Read the (arguments, expected) pairs of a test module."""
    found = []
    for node in ast.walk(ast.parse(tests)):
        if isinstance(node, ast.Assert):
            arguments = tuple(ast.literal_eval(argument) for argument in node.test.left.args)
            found.append((arguments, ast.literal_eval(node.test.comparators[0])))
    return found


def check_task(task):
    visible, broken = task.files[task.test_path], broken_source(task)
    for tests in (visible, task.hidden_tests, task.trial_tests):
        assert all(run_tests(task.reference, tests, task).values())
    assert not all(run_tests(broken, task.hidden_tests, task).values())
    assert not all(run_tests(broken, visible, task).values())
    assert not run_tests(broken, task.trial_tests, task)["test_tried_1"]
    assert 4 <= len(cases(visible)) <= 6
    assert len(run_tests(broken, task.hidden_tests, task)) == 10
    assert len(cases(task.hidden_tests)) >= 40
    inputs = [repr(a) for t in (visible, task.hidden_tests, task.trial_tests) for a, _ in cases(t)]
    assert len(inputs) == len(set(inputs)), "the three sets of tests share an input"
    check_repairs(task)


def check_repairs(task):
    """Each fault's repair is a reachable candidate; all of them together give the reference."""
    source = broken_source(task)
    for fault in sorted(task.faults, key=lambda fault: -fault.line):
        options = [
            e.apply(source)
            for e in candidate_edits(broken_source(task), task.function)
            if (e.operator, e.line, e.before, e.after)
            == (fault.operator, fault.line, fault.after, fault.before)
            and e.place < MAX_PLACE
            and source[e.start : e.end] == e.before
        ]
        assert options
        if len(task.faults) == 1:
            assert task.reference in options


@each_function
def test_a_task_is_broken_where_it_says_and_its_tests_tell(name):
    index = list(SPECS).index(name)
    check_task(make_task(SPECS[name], index, num_faults=1 + index % 3))


@pytest.mark.slow
@each_function
def test_tasks_of_every_kind_hold(name):
    for seed, num_faults in itertools.product(range(4), (1, 2, 3)):
        check_task(make_task(SPECS[name], seed, num_faults=num_faults))


def test_several_faults_can_be_repaired_one_at_a_time_with_more_tests_passing():
    for name in list(SPECS)[::7]:
        task = make_task(SPECS[name], 5, num_faults=2)
        tests = task.files[task.test_path]
        before = sum(run_tests(broken_source(task), tests, task).values())
        better = []
        for edit in candidate_edits(broken_source(task), task.function):
            fits = [
                f
                for f in task.faults
                if (f.operator, f.line, f.after) == (edit.operator, edit.line, edit.before)
            ]
            if fits and edit.place < MAX_PLACE:
                source = edit.apply(broken_source(task))
                better.append(sum(run_tests(source, tests, task).values()) > before)
        assert any(better)


def test_the_same_arguments_give_the_same_task_and_other_seeds_others():
    spec = SPECS["tax_due"]
    first = make_task(spec, 3)
    make_task.__globals__["analyse"].cache_clear()
    assert make_task(spec, 3).content_hash == first.content_hash
    others = {make_task(spec, seed).files["numkit.py"] for seed in range(8)}
    assert len(others) >= 4


def test_clarity_changes_the_opening_and_nothing_else():
    for name in list(SPECS)[::6]:
        clear, partial, vague = (make_task(SPECS[name], 2, clarity=c) for c in CLARITIES)
        assert [t.brief.opening for t in (clear, partial, vague)] == list(CLARITIES.values())
        assert clear.files == partial.files == vague.files
        assert clear.hidden_tests == vague.hidden_tests
        assert clear.brief.example == vague.brief.example
        assert 0.0 <= clear.ambiguity <= partial.ambiguity <= vague.ambiguity == 1.0
        assert 0.0 <= clear.difficulty <= partial.difficulty <= vague.difficulty <= 1.0


@each_function
def test_what_the_person_knows_is_true_and_can_be_read_back(name):
    task = make_task(SPECS[name], 11)
    brief, (fault,) = task.brief, task.faults
    assert name in brief.goal and not brief.is_plural
    assert kinds_mentioned(brief.goal) | kinds_mentioned(brief.example) == frozenset()
    assert lines_mentioned(brief.example) == frozenset()
    assert kinds_mentioned(brief.kind_hint) == {fault.operator}
    assert lines_mentioned(brief.place_hint) == {fault.line}
    call, _, expected = brief.example.partition(" should be ")
    arguments = tuple(map(ast.literal_eval, ast.parse(call).body[0].value.args))
    good = BudgetedFunction(task.reference, name)
    assert good.is_right(pack(arguments), ast.literal_eval(expected))
    bad = BudgetedFunction(broken_source(task), name)
    assert not bad.is_right(pack(arguments), ast.literal_eval(expected))


def test_with_several_faults_the_person_knows_only_that_there_are_several():
    for name, seed in itertools.product(list(SPECS)[::10], range(4)):
        brief = make_task(SPECS[name], seed, num_faults=2).brief
        assert brief.is_plural
        assert (brief.kind_hint, brief.place_hint, brief.example, brief.opening) == (None,) * 3 + (
            (),
        )
        assert any(word in brief.goal for word in ("several", "more than one", "a few"))


def test_the_numbers_are_what_counting_gives():
    for name in list(SPECS)[::5]:
        task = make_task(SPECS[name], 1, clarity="partial")
        edits = candidate_edits(broken_source(task), task.function)
        (fault,) = task.faults
        same_kind = [e for e in edits if e.operator == fault.operator]
        here = [e for e in same_kind if e.line == fault.line]
        assert task.difficulty == pytest.approx(1 - min(1, 5 / len(here)))
        expected = math.log(len(same_kind)) / math.log(len(edits)) if len(same_kind) > 1 else 0.0
        assert task.ambiguity == pytest.approx(expected)
        assert task.num_candidates == len(candidate_edits(broken_source(task)))


def test_hard_tasks_are_hard_and_clear_ones_are_not():
    for index, spec in enumerate(SPECS.values()):
        assert make_task(spec, index, clarity="clear").difficulty < 0.3
        assert make_task(spec, index, num_faults=2 + index % 2).difficulty > 0.7


def test_hidden_tests_catch_what_visible_tests_let_through(record_property):
    """Over every single edit of two broken modules a function, judged on 300 fresh inputs."""
    let_through = caught = 0
    for spec, seed in itertools.product(SPECS.values(), (1, 2)):
        task = make_task(spec, seed)
        visible, hidden = cases(task.files[task.test_path]), cases(task.hidden_tests)
        rng = np.random.default_rng(12345)
        fresh = [pack(spec.generate_arguments(rng)) for _ in range(300)]
        oracle = [(unpack(blob), spec.function(*unpack(blob))) for blob in fresh]
        for edit in candidate_edits(broken_source(task), spec.name):
            source = edit.apply(broken_source(task))
            if passes(source, spec.name, visible) and not passes(source, spec.name, oracle):
                let_through += 1
                caught += not passes(source, spec.name, hidden)
    record_property("let_through", let_through)
    record_property("caught_frac", caught / let_through)
    print(f"visible tests let {let_through} wrong edits through; hidden tests caught {caught}")
    assert let_through >= 10
    assert caught / let_through >= HIDDEN_KILL_FLOOR


def test_hidden_tests_catch_mutants_of_the_reference():
    """Over every mutant of the library that 300 fresh inputs tell from the reference."""
    wrong = caught = 0
    for spec in list(SPECS.values())[::3]:
        task = make_task(spec, 0)
        hidden = cases(task.hidden_tests)
        rng = np.random.default_rng(54321)
        fresh = [pack(spec.generate_arguments(rng)) for _ in range(300)]
        oracle = [(unpack(blob), spec.function(*unpack(blob))) for blob in fresh]
        for edit in candidate_edits(task.reference, spec.name):
            source = edit.apply(task.reference)
            if not passes(source, spec.name, hidden):
                wrong, caught = wrong + 1, caught + 1
            elif not passes(source, spec.name, oracle):
                wrong += 1
    print(f"hidden tests caught {caught} of {wrong} wrong mutants")
    assert caught / wrong >= 0.99


def passes(source, name, pairs):
    function = BudgetedFunction(source, name)
    try:
        return all(function.is_right(pack(arguments), value) for arguments, value in pairs)
    except BudgetSpentError:
        return False


def test_the_visible_tests_run_under_pytest_in_the_work_area(tmp_path):
    task = make_task(SPECS["add_months"], 0)
    (tmp_path / "tests").mkdir()
    for source, status in ((task.reference, 0), (broken_source(task), 1)):
        for path, text in {**task.files, task.module_path: source}.items():
            (tmp_path / path).write_text(text, encoding="utf-8")
        command = [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == status, done.stdout


def test_generation_is_quick_once_the_function_is_analysed():
    specs = list(SPECS.values())[::4]
    for spec in specs:
        make_task(spec, 0)
    start = time.process_time()
    for spec in specs:
        make_task(spec, 1)
    assert (time.process_time() - start) / len(specs) < 0.1  # usually near 0.01 s


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seed": -1}, "`seed` must be at least 0, got -1"),
        ({"num_faults": 4}, "`num_faults` must be 1 to 3, got 4"),
        ({"clarity": "cleer"}, "unknown clarity `cleer`.*`clear`"),
        ({"max_steps": 0}, "`max_steps` must be at least 1, got 0"),
    ],
)
def test_arguments_out_of_range_are_refused(arguments, message):
    with pytest.raises(ConfigError, match=message):
        make_task(SPECS["flatten"], **{"seed": 0, **arguments})

"""Refactoring tasks: clean functions of the library, made worse to read by known small steps.

A task puts one to four smells (`smells`) into a function, checks on the function's whole pool of
inputs (`analysis`) that nothing else changed, and that the cures lead back to the reference. Tests:

- *visible* and *hidden*: inputs of the pool, with none in common; all of them pass at the start and
  must pass at the end. The hidden ones hold the core, which catches every mutant of the reference.
- *trial*: three further inputs that this task's person would try by hand.

Two numbers are known by enumeration. With `c` over the cures that the smelly module offers and
`load` as in `reward_models.readability`:

    difficulty = mean_c (load(c) - load(reference)) / (load(smelly) - load(reference)), in [0, 1]

is what one cure at random leaves to do: 0 for a single smell. `ambiguity` = log m / log N with N
cures offered and m of them of the kind and at the line that the opening gives.
"""

from __future__ import annotations

import ast
import zlib
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ...errors import ConfigError, TaskError, unknown_name
from ...reward_models.readability import measure_readability
from ...reward_models.smells import find_smells
from ...simulators.base import Brief
from .analysis import Analysis, analyse
from .base import Fault, Task, TaskKind
from .difficulty import ambiguity
from .generate import (
    CLARITIES,
    NUM_HIDDEN,
    NUM_HIDDEN_TESTS,
    NUM_TRIALS,
    TEST_PATH,
    _deal,
    _module,
    _TestWriter,
)
from .library import FAMILIES, SPLITS, FunctionSpec, load_functions
from .sampler import TaskSampler
from .smells import SMELL_KINDS, SMELL_WORDS, find_cures, make_smell

MAX_SMELLS = 4
NUM_VISIBLE = 5
OVER_SPLIT_PROB = 0.2
"""Share of tasks with several smells that are all one-line helpers: the cure is inlining."""
_ATTEMPTS = 40

_GOALS = (
    "`{}` works but is hard to read",
    "I find `{}` hard to follow",
    "`{}` has become a mess, though it does the right thing",
    "`{}` should read better and do the same as now",
)


@dataclass(slots=True, frozen=True)
class _Smelly:
    source: str
    faults: tuple[Fault, ...]
    worst: Fault
    """The smell whose cure helps a reader most."""


def make_refactor_task(
    spec: FunctionSpec,
    seed: int,
    *,
    num_smells: int = 2,
    clarity: str = "clear",
    max_steps: int = 14,
) -> Task:
    """Make a function worse to read and build the task around it; a function of the arguments.

    Args:
        spec: the function.
        seed: at least 0.
        num_smells: 1 to 4.
        clarity: what the opening tells of the worst smell: `clear`, `partial` or `vague`.
        max_steps: turns that the agent gets.

    Raises:
        ConfigError: an argument is out of range.
        TaskError: the function does not take so many smells.
    """
    if seed < 0 or not 1 <= num_smells <= MAX_SMELLS or max_steps < 1:
        raise ConfigError(
            f"expected `seed` 0 or more, `num_smells` 1 to {MAX_SMELLS} and `max_steps` 1 or more, "
            f"got {seed}, {num_smells} and {max_steps}"
        )
    if clarity not in CLARITIES:
        raise unknown_name("clarity", clarity, CLARITIES)
    rng = np.random.default_rng([seed, zlib.crc32(spec.name.encode()), num_smells, 7])
    analysis = analyse(spec)
    reference = _module(spec, rng)
    smelly = _make_smelly(reference, spec.name, analysis, rng, num_smells)
    visible, trial, hidden = _share(analysis, rng)
    task_id = f"refactor/{spec.family}/{spec.name}/{seed}-{num_smells}-{clarity}"
    brief = _brief(task_id, spec.name, smelly, clarity, rng)
    cures = find_cures(smelly.source, spec.name)
    fitting = [
        cure
        for cure in cures
        if ("kind" not in brief.opening or cure.kind == smelly.worst.operator)
        and ("place" not in brief.opening or cure.line == smelly.worst.line)
    ]
    module = FAMILIES[spec.family][0]
    writer = _TestWriter(module, spec.name, analysis)
    return Task(
        id=task_id,
        family=spec.family,
        function=spec.name,
        module_path=f"{module}.py",
        test_path=TEST_PATH,
        files={
            f"{module}.py": smelly.source,
            TEST_PATH: writer.write([[index] for index in visible], spec.name),
        },
        reference=reference,
        hidden_tests=writer.write(_deal(hidden, NUM_HIDDEN_TESTS), "generated"),
        trial_tests=writer.write([[index] for index in trial], "tried"),
        brief=brief,
        faults=smelly.faults,
        difficulty=_difficulty(reference, smelly.source, spec.name),
        ambiguity=ambiguity(len(fitting), len(cures)),
        num_candidates=len(cures),
        max_steps=max_steps,
        split=SPLITS[spec.family],
        kind=TaskKind.REFACTOR,
        tags=(clarity, *sorted({fault.operator for fault in smelly.faults})),
    )


def is_unchanged(source: str, function: str, analysis: Analysis) -> bool:
    """Say whether the function of a source gives what its reference gives, on the whole pool."""
    wrong = analysis.wrong(_with_helpers_inside(source, function), function)
    return wrong is not None and not wrong.any()


def _with_helpers_inside(source: str, function: str) -> str:
    """Move private functions into the one that is run, which `budget` looks at alone."""
    tree = ast.parse(source)
    helpers = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name.startswith("_")]
    if not helpers:
        return source
    tree.body = [node for node in tree.body if node not in helpers]
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == function:
            node.body = [*helpers, *node.body]
    return ast.unparse(tree)


def cure_all(source: str, function: str) -> str:
    """Apply the first cure that is offered until none is left."""
    for _ in range(32):
        cures = find_cures(source, function)
        if not cures:
            break
        source = cures[0].after
    return source


def _make_smelly(
    reference: str, function: str, analysis: Analysis, rng: np.random.Generator, num_smells: int
) -> _Smelly:
    for _ in range(_ATTEMPTS):
        source = _with_smells(reference, function, rng, num_smells)
        if source is None or not _leads_back(source, reference, function):
            continue
        if is_unchanged(source, function, analysis):
            return _describe(source, function)
    raise TaskError(
        f"`{function}` does not take {num_smells} smells that cures take away again in "
        f"{_ATTEMPTS} tries; ask for fewer"
    )


def _with_smells(
    reference: str, function: str, rng: np.random.Generator, num_smells: int
) -> str | None:
    kinds = [SMELL_KINDS[int(index)] for index in rng.permutation(len(SMELL_KINDS))]
    if num_smells > 1 and rng.random() < OVER_SPLIT_PROB:
        kinds = ["single_use_helper"] * num_smells
    source, made = reference, []
    for kind in kinds:
        found = make_smell(source, function, kind, rng)
        if found is not None:
            source = found[0]
            made.append(kind)
        if len(made) == num_smells:
            break
    # One smell may hide another or make a third one by the way.
    seen = Counter(smell.kind for smell in find_smells(source, function))
    return source if seen == Counter(made) and len(made) == num_smells else None


def _leads_back(source: str, reference: str, function: str) -> bool:
    cured = cure_all(source, function)
    if cured == reference:
        return True
    has_obscure = any(smell.kind == "obscure_name" for smell in find_smells(source, function))
    best, got = (measure_readability(text, function) for text in (reference, cured))
    return has_obscure and best is not None and got is not None and got.load == best.load


def _describe(source: str, function: str) -> _Smelly:
    lines = source.splitlines()
    faults = tuple(
        Fault(operator=smell.kind, line=smell.line, before="", after=lines[smell.line - 1].strip())
        for smell in find_smells(source, function)
    )
    best = min(find_cures(source, function), key=lambda cure: _load(cure.after, function))
    worst = next(f for f in faults if (f.operator, f.line) == (best.kind, best.line))
    return _Smelly(source, faults, worst)


def _load(source: str, function: str) -> float:
    found = measure_readability(source, function)
    assert found is not None, f"`{function}` is gone"
    return found.load


def _difficulty(reference: str, source: str, function: str) -> float:
    aim, start = _load(reference, function), _load(source, function)
    left = [_load(cure.after, function) - aim for cure in find_cures(source, function)]
    return float(np.clip(np.mean(left) / (start - aim), 0.0, 1.0))


def _share(analysis: Analysis, rng: np.random.Generator) -> tuple[list[int], list[int], list[int]]:
    """Share the pool out: visible, trial and hidden inputs, in random order."""
    free = rng.permutation(np.flatnonzero(~analysis.core))
    core = np.flatnonzero(analysis.core)
    cut = NUM_VISIBLE + NUM_TRIALS
    more = free[cut : cut + max(0, NUM_HIDDEN - len(core))]
    hidden = rng.permutation(np.concatenate([core, more]))
    return (
        [int(index) for index in free[:NUM_VISIBLE]],
        [int(index) for index in free[NUM_VISIBLE:cut]],
        [int(index) for index in hidden],
    )


def _brief(
    task_id: str, function: str, smelly: _Smelly, clarity: str, rng: np.random.Generator
) -> Brief:
    words = SMELL_WORDS[smelly.worst.operator]
    return Brief(
        task_id=task_id,
        goal=_GOALS[int(rng.integers(len(_GOALS)))].format(function),
        kind_hint=words[int(rng.integers(len(words)))],
        place_hint=f"around line {smelly.worst.line}",
        is_plural=len(smelly.faults) > 1,
        opening=tuple(fact for fact in CLARITIES[clarity] if fact != "example"),
        work=TaskKind.REFACTOR.value,
    )


class RefactorSampler(TaskSampler):
    """Draws refactoring tasks of one split, balanced over its families; see `TaskSampler`.

    A hard task has three or four smells and a vague opening, another one has one or two.
    """

    def _task(self, index: int) -> Task:
        recipe = self._recipe(index)
        more = 2 if recipe.num_faults > 1 else 0
        return _build(
            recipe.function,
            recipe.seed,
            1 + recipe.seed % 2 + more,
            recipe.clarity,
            recipe.max_steps,
        )


@lru_cache(maxsize=8192)
def _build(function: str, seed: int, num_smells: int, clarity: str, max_steps: int) -> Task:
    spec = load_functions()[function]
    return make_refactor_task(
        spec, seed, num_smells=num_smells, clarity=clarity, max_steps=max_steps
    )

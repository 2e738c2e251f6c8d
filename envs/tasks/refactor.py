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
import math
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
    _TestWriter,
)
from .library import SPLITS, FunctionSpec, family_functions, load_functions
from .smells import SMELL_KINDS, SMELL_WORDS, find_cures, make_smell

MAX_SMELLS = 4
MAX_STEPS = 14
DEFAULT_POOL = 240
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
    max_steps: int = MAX_STEPS,
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
    reference = spec.work_module(rng)
    smelly = _make_smelly(reference, spec.name, analysis, rng, num_smells)
    visible, trial, hidden = _share(analysis, rng)
    task_id = f"refactor/{spec.id_prefix}/{seed}-{num_smells}-{clarity}"
    brief = _brief(task_id, spec.name, smelly, clarity, rng)
    cures = find_cures(smelly.source, spec.name)
    fitting = [
        cure
        for cure in cures
        if ("kind" not in brief.opening or cure.kind == smelly.worst.operator)
        and ("place" not in brief.opening or cure.line == smelly.worst.line)
    ]
    writer = _TestWriter(spec, analysis)
    return Task(
        id=task_id,
        family=spec.family,
        function=spec.name,
        module_path=f"{spec.module_name}.py",
        test_path=TEST_PATH,
        files={
            f"{spec.module_name}.py": smelly.source,
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
        split=spec.split,
        kind=TaskKind.REFACTOR,
        tags=(clarity, *sorted({fault.operator for fault in smelly.faults})),
    )


def is_unchanged(source: str, function: str, analysis: Analysis) -> bool:
    """Say whether the function of a source gives what its reference gives, on the whole pool."""
    wrong = analysis.wrong(_with_helpers_inside(source, function))
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
        is_tidying=True,
    )


class RefactorSampler:
    """Draws refactoring tasks of one split from a fixed pool, balanced over its families.

    Entry `i` of the pool belongs to family `i mod F`; the share of hard tasks is `hard_frac` within
    each family, to within one task. A hard task has three or four smells and a vague opening,
    another one has one or two. Everything else about an entry is drawn from `seed` and `i`.

    Args:
        split: `train`, `gate` or `heldout`.
        hard_frac: share in [0, 1] of hard tasks.
        seed: fixes the pool, at least 0.
        pool_size: number of different entries that `sample` draws from, at least one a family.
        max_steps: turns that the agent gets.

    Raises:
        ConfigError: an argument is out of range or unknown.
    """

    def __init__(
        self,
        split: str = "train",
        *,
        hard_frac: float = 0.3,
        seed: int = 0,
        pool_size: int = DEFAULT_POOL,
        max_steps: int = MAX_STEPS,
    ) -> None:
        self.families = [family for family, where in SPLITS.items() if where == split]
        if not self.families:
            raise unknown_name("split", split, set(SPLITS.values()))
        if not 0.0 <= hard_frac <= 1.0 or seed < 0 or pool_size < len(self.families):
            raise ConfigError(
                f"expected `hard_frac` in [0, 1], `seed` >= 0 and `pool_size` >= "
                f"{len(self.families)} (one a family), got {hard_frac}, {seed} and {pool_size}"
            )
        self.split, self.seed, self.hard_frac, self.max_steps = split, seed, hard_frac, max_steps
        # Whole rounds over the families only, so that a uniform draw is balanced.
        self.pool_size = pool_size - pool_size % len(self.families)

    def sample(self, rng: np.random.Generator) -> Task:
        """Draw one task of the pool, each with the same chance."""
        return self._task(int(rng.integers(self.pool_size)))

    def tasks(self, n: int) -> list[Task]:
        """Return the first `n` entries, a fixed list for evaluation; it may exceed the pool.

        Raises:
            ConfigError: `n` is negative.
        """
        if n < 0:
            raise ConfigError(f"`n` must be at least 0, got {n}")
        return [self._task(index) for index in range(n)]

    def _task(self, index: int) -> Task:
        rng = np.random.default_rng([self.seed, index])
        functions = family_functions(self.families[index % len(self.families)])
        name = functions[int(rng.integers(len(functions)))].name
        seed, num_smells = int(rng.integers(2**31)), int(rng.integers(1, 3))
        clarity = list(CLARITIES)[int(rng.integers(len(CLARITIES)))]
        rank = index // len(self.families)
        if math.floor((rank + 1) * self.hard_frac) > math.floor(rank * self.hard_frac):
            num_smells, clarity = num_smells + 2, "vague"
        return _build(name, seed, num_smells, clarity, self.max_steps)


@lru_cache(maxsize=8192)
def _build(function: str, seed: int, num_smells: int, clarity: str, max_steps: int) -> Task:
    spec = load_functions()[function]
    return make_refactor_task(
        spec, seed, num_smells=num_smells, clarity=clarity, max_steps=max_steps
    )

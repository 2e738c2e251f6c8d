"""Tasks in which a body is missing: the words say what is wanted, and some leave something out.

A task takes a specification, and one of its readings, drawn evenly, is what this task's person
wants. The docstring of the stub says the words and the facts that are told; what is left open the
person alone knows (`Brief.wishes`). The pool of inputs is shared out among three sets of tests that
have no input in common:

- *visible*: inputs on which all readings agree, so that no test in the work area decides a point;
- *trial*: the cases that the person would try by hand; any other reading goes wrong on one of them;
- *hidden*: what grades the work. Every other reading fails, and so does each single slip (an
  application of a mutation operator) in the wanted one that any input of the pool shows.

**Ambiguity** is log(m) / log(k): m of k readings fit the words of the stub. It is 0 where the text
tells all.

**Difficulty** is a share of programs, by enumeration. Of all that are one of the m fitting readings
or one slip away from one, and that pass the visible tests, it is the share that the hidden tests
refuse: how often somebody is wrong who writes what the words allow, perhaps with a slip, and stops
when the visible tests pass.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ...errors import ConfigError, TaskError, unknown_name
from ...simulators.base import Brief
from .analysis import Mask
from .base import Task, TaskKind
from .difficulty import ambiguity
from .library import FAMILIES, SPLITS
from .specifications import (
    Specification,
    family_specifications,
    load_specifications,
    written,
)
from .specifications.analysis import ReadingTable, slips_through, tabulate

__all__ = ["ImplementSampler", "make_implement_task"]

TEST_PATH = "tests/test_visible.py"
NUM_HIDDEN = 48
NUM_HIDDEN_TESTS = 10
NUM_TRIALS = 3
NUM_VISIBLE = (4, 6)
"""Least and most visible cases."""
MAX_STEPS = 12
DEFAULT_POOL = 240
_PER_READING = 2
"""Hidden cases, at least, on which each other reading goes wrong."""

_GOALS = (
    "`{}` has no body yet",
    "`{}` is still to be written",
    "`{}` has a docstring but no body",
    "`{}` is what I need next, so far only its docstring is there",
)


@dataclass(slots=True, frozen=True)
class _Shares:
    """Which inputs go where, as indices."""

    visible: list[int]
    trial: list[int]
    hidden: list[int]


def make_implement_task(
    specification: Specification, seed: int, *, num_open: int = 1, max_steps: int = MAX_STEPS
) -> Task:
    """Build the task around a stub; the same arguments give the same task.

    `num_open` changes what the docstring says and what the person alone knows, and nothing else:
    one seed gives the same wanted reading and the same tests whatever is told.

    Args:
        specification: what is to be written.
        seed: fixes the wanted reading, the tests and the rest of the module; at least 0.
        num_open: points that the text leaves open, from 0 to all.
        max_steps: turns that the agent gets.

    Raises:
        ConfigError: an argument is out of range.
        TaskError: the readings cannot be told apart, or agree on too little.
    """
    points = specification.points
    if seed < 0 or max_steps < 1 or not 0 <= num_open <= len(points):
        raise ConfigError(
            f"expected `seed` >= 0, `max_steps` >= 1 and `num_open` from 0 to {len(points)} for "
            f"`{specification.function}`, got {seed}, {max_steps} and {num_open}"
        )
    rng = np.random.default_rng([seed, zlib.crc32(specification.function.encode())])
    table = tabulate(specification)
    wanted = int(rng.integers(len(specification.readings)))
    reading = specification.readings[wanted]
    is_open = set(rng.permutation(len(points))[:num_open].tolist())
    told = [fact for index, fact in enumerate(reading.facts) if index not in is_open]
    shares = _share(specification, table, wanted, rng)
    goal = _GOALS[int(rng.integers(len(_GOALS)))].format(specification.function)
    stub = specification.stub(told)
    module = stub.work_module(rng)
    reference = written(module, specification.function, reading.body)
    assert reference is not None, "a stub lacks its body"
    fitting = [i for i, fits in enumerate(specification.fitting(stub.source)) if fits]
    family = specification.library.family
    task_id = f"implement/{family}/{specification.function}/{seed}-{num_open}-open"
    return Task(
        id=task_id,
        family=family,
        function=specification.function,
        module_path=f"{FAMILIES[family][0]}.py",
        test_path=TEST_PATH,
        files={
            f"{FAMILIES[family][0]}.py": module,
            TEST_PATH: _write(specification, table, wanted, _singles(shares.visible), "visible"),
        },
        reference=reference,
        hidden_tests=_write(specification, table, wanted, _deal(shares.hidden), "generated"),
        trial_tests=_write(specification, table, wanted, _singles(shares.trial), "tried"),
        brief=Brief(
            task_id=task_id,
            goal=goal,
            wishes=tuple(reading.facts[index] for index in sorted(is_open)),
            is_new=True,
        ),
        faults=(),
        difficulty=_difficulty(specification, table, wanted, fitting, shares),
        ambiguity=ambiguity(len(fitting), len(specification.readings)),
        num_candidates=len(specification.readings),
        max_steps=max_steps,
        split=SPLITS[family],
        kind=TaskKind.IMPLEMENT,
        tags=("complete",) if not num_open else ("open",),
    )


def _share(
    specification: Specification, table: ReadingTable, wanted: int, rng: np.random.Generator
) -> _Shares:
    differs, core = table.differs[wanted], table.core[wanted]
    others = [int(i) for i in rng.permutation(len(differs)) if i != wanted]
    free = table.is_shared & ~core
    visible = _visible(table, wanted, free, rng)
    free[visible] = False
    trial: list[int] = []
    for other in others:
        if not differs[other][trial].any():
            _take(trial, free & differs[other], rng)
    _take(trial, free, rng, NUM_TRIALS - len(trial))
    free[trial] = False
    hidden = [int(index) for index in np.flatnonzero(core)]
    for other in others:
        _take(hidden, free & differs[other], rng, _PER_READING)
        for wrong in slips_through(specification, wanted, other):
            if not wrong[visible].any() and not wrong[hidden].any():
                _take(hidden, free & wrong, rng)
    _take(hidden, free, rng, NUM_HIDDEN - len(hidden))
    if not all(differs[i][trial].any() and differs[i][hidden].any() for i in others):
        raise TaskError(
            f"too few inputs tell the readings of `{specification.function}` apart; widen the "
            "library's generator or drop a point"
        )
    return _Shares(visible, trial, [hidden[int(i)] for i in rng.permutation(len(hidden))])


def _visible(table: ReadingTable, wanted: int, free: Mask, rng: np.random.Generator) -> list[int]:
    """Draw inputs on which all readings agree, two of which give different values."""
    allowed = free & table.agreed
    values = table.expected[wanted]
    chosen: list[int] = []
    _take(chosen, allowed, rng)
    if chosen:
        another = np.array([value != values[chosen[0]] for value in values])
        _take(chosen, allowed & another, rng)
    least, most = NUM_VISIBLE
    _take(chosen, allowed, rng, int(rng.integers(least, most + 1)) - len(chosen))
    if len(chosen) < least:
        raise TaskError(
            f"the readings agree on {len(chosen)} inputs outside the core, expected {least} or "
            "more; widen the library's generator or drop a point"
        )
    return [chosen[int(i)] for i in rng.permutation(len(chosen))]


def _take(chosen: list[int], allowed: Mask, rng: np.random.Generator, count: int = 1) -> None:
    """Append up to `count` allowed inputs that are not chosen yet."""
    options = np.setdiff1d(np.flatnonzero(allowed), chosen)
    drawn = rng.choice(options, size=min(max(0, count), len(options)), replace=False)
    chosen += [int(index) for index in drawn]


def _difficulty(
    specification: Specification,
    table: ReadingTable,
    wanted: int,
    fitting: Sequence[int],
    shares: _Shares,
) -> float:
    num_passing = num_right = 0
    for intended in fitting:
        programs = [table.differs[wanted][intended]]
        programs += slips_through(specification, wanted, intended)
        for wrong in programs:
            if not wrong[shares.visible].any():
                num_passing += 1
                num_right += not wrong[shares.hidden].any()
    return 1.0 - num_right / num_passing


def _singles(indices: Sequence[int]) -> list[list[int]]:
    return [[index] for index in indices]


def _deal(indices: Sequence[int]) -> list[list[int]]:
    return [list(indices[start::NUM_HIDDEN_TESTS]) for start in range(NUM_HIDDEN_TESTS)]


def _write(
    specification: Specification,
    table: ReadingTable,
    wanted: int,
    groups: Sequence[Sequence[int]],
    name: str,
) -> str:
    """Write a test module: one test function for each group of inputs, numbered from 1."""
    spec = specification.library
    blocks = [spec.write_imports()]
    for number, group in enumerate(groups, 1):
        lines = [f"def test_{name}_{number}():"]
        for index in group:
            call = spec.write_call(table.arguments[index])
            lines.append(f"    assert {call} == {table.expected[wanted][index]!r}")
        blocks.append("\n".join(lines) + "\n")
    return "\n\n".join(blocks)


class ImplementSampler:
    """Draws tasks of one split from a fixed pool, balanced over families.

    Entry `i` of the pool belongs to family `i mod F`; the share of tasks that leave something open
    is `open_frac` within each family, to within one task, and among those the number of open points
    is even. Everything else about an entry is drawn from `seed` and `i`.

    Args:
        split: `train`, `gate` or `heldout`.
        open_frac: share in [0, 1] of tasks whose text leaves something open.
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
        open_frac: float = 0.5,
        seed: int = 0,
        pool_size: int = DEFAULT_POOL,
        max_steps: int = MAX_STEPS,
    ) -> None:
        self.families = [family for family, where in SPLITS.items() if where == split]
        if not self.families:
            raise unknown_name("split", split, set(SPLITS.values()))
        if not 0.0 <= open_frac <= 1.0 or seed < 0 or pool_size < len(self.families):
            raise ConfigError(
                f"expected `open_frac` in [0, 1], `seed` >= 0 and `pool_size` >= "
                f"{len(self.families)}, got {open_frac}, {seed} and {pool_size}"
            )
        self.split, self.seed, self.open_frac, self.max_steps = split, seed, open_frac, max_steps
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
        choices = family_specifications(self.families[index % len(self.families)])
        specification = choices[int(rng.integers(len(choices)))]
        seed = int(rng.integers(2**31))
        num_open = int(rng.integers(1, len(specification.points) + 1))
        rank = index // len(self.families)
        is_open = math.floor((rank + 1) * self.open_frac) > math.floor(rank * self.open_frac)
        return _build(specification.function, seed, num_open if is_open else 0, self.max_steps)


@lru_cache(maxsize=8192)
def _build(function: str, seed: int, num_open: int, max_steps: int) -> Task:
    return make_implement_task(
        load_specifications()[function], seed, num_open=num_open, max_steps=max_steps
    )

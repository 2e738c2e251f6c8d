"""Drawing tasks: a fixed pool for each split, balanced over families, built on demand.

The pool is finite, so that the same task comes up again: group-relative learners need siblings, and
building a task costs more than playing its first step.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ...errors import ConfigError, TaskError, unknown_name
from .base import Task
from .generate import CLARITIES, make_task
from .library import SPLITS, family_functions
from .stdlib.splits import SPLITS as STDLIB_SPLITS
from .subject import Subject

__all__ = ["CLARITY_WEIGHTS", "ORIGINS", "SPLITS", "TaskSampler"]

ORIGINS: Mapping[str, Mapping[str, str]] = {
    "library": SPLITS,
    "stdlib": STDLIB_SPLITS,
    "all": {**SPLITS, **STDLIB_SPLITS},
}
"""Where tasks come from, to the families there and the split of each."""

CLARITY_WEIGHTS: Mapping[str, float] = {"clear": 0.4, "partial": 0.35, "vague": 0.25}
"""Shares of single-fault tasks by what their opening tells."""
DEFAULT_POOL = 240


@dataclass(slots=True, frozen=True)
class _Recipe:
    """What `make_task` needs to know."""

    family: str
    rank: int
    """Which function of the family."""
    seed: int
    num_faults: int
    clarity: str
    max_steps: int


class TaskSampler:
    """Draws repair tasks of one split.

    Entry `i` of the pool belongs to family `i mod F`, so that every family has an equal share; the
    share of hard tasks is `hard_frac` within each family, to within one task. Everything else
    about an entry is drawn from `seed` and `i`.

    Args:
        split: `train`, `gate` or `heldout`.
        origin: `library` (our own functions), `stdlib` (the interpreter's standard library) or
            `all`. Of the standard library a function that cannot be broken as often as the entry
            asks gives way to the next one of its family.
        hard_frac: share in [0, 1] of tasks with two or three faults, of which the person can tell
            nothing but that there are several.
        clarity_weights: relative shares of `clear`, `partial` and `vague` among the others.
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
        origin: str = "library",
        hard_frac: float = 0.3,
        clarity_weights: Mapping[str, float] = CLARITY_WEIGHTS,
        seed: int = 0,
        pool_size: int = DEFAULT_POOL,
        max_steps: int = 14,
    ) -> None:
        if origin not in ORIGINS:
            raise unknown_name("origin", origin, ORIGINS)
        self.families = [f for f, where in ORIGINS[origin].items() if where == split]
        if not self.families:
            raise unknown_name("split", split, set(SPLITS.values()))
        if not 0.0 <= hard_frac <= 1.0:
            raise ConfigError(f"`hard_frac` is a share in [0, 1], got {hard_frac}")
        if seed < 0:
            raise ConfigError(f"`seed` must be at least 0, got {seed}")
        if pool_size < len(self.families):
            raise ConfigError(
                f"`pool_size` must be at least {len(self.families)} (one a family), got {pool_size}"
            )
        self.split, self.seed, self.hard_frac = split, seed, hard_frac
        # Whole rounds over the families only, so that a uniform draw is balanced.
        self.pool_size = pool_size - pool_size % len(self.families)
        self.max_steps = max_steps
        self._clarities, self._probs = _normalised(clarity_weights)

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
        return _build(self._recipe(index))

    def _recipe(self, index: int) -> _Recipe:
        rng = np.random.default_rng([self.seed, index])
        family = self.families[index % len(self.families)]
        which = int(rng.integers(len(_subjects(family))))
        seed, num_hard_faults = int(rng.integers(2**31)), int(rng.integers(2, 4))
        clarity = self._clarities[int(rng.choice(len(self._clarities), p=self._probs))]
        rank = index // len(self.families)
        is_hard = math.floor((rank + 1) * self.hard_frac) > math.floor(rank * self.hard_frac)
        if is_hard:
            return _Recipe(family, which, seed, num_hard_faults, "vague", self.max_steps)
        return _Recipe(family, which, seed, 1, clarity, self.max_steps)


@lru_cache(maxsize=8192)
def _build(recipe: _Recipe) -> Task:
    subjects = _subjects(recipe.family)
    failure: TaskError | None = None
    for step in range(len(subjects)):
        try:
            return make_task(
                subjects[(recipe.rank + step) % len(subjects)],
                recipe.seed,
                num_faults=recipe.num_faults,
                clarity=recipe.clarity,
                max_steps=recipe.max_steps,
            )
        except TaskError as error:
            if recipe.family in SPLITS:  # of our own functions every one can be broken
                raise
            failure = failure or error
    raise TaskError(f"no function of `{recipe.family}` makes a task") from failure


def _subjects(family: str) -> Sequence[Subject]:
    if family in SPLITS:
        return family_functions(family)
    from .stdlib import family_targets  # imports hypothesis, which takes a while

    return family_targets(family)


def _normalised(weights: Mapping[str, float]) -> tuple[list[str], list[float]]:
    for name, weight in weights.items():
        if name not in CLARITIES:
            raise unknown_name("clarity", name, CLARITIES)
        if not 0.0 <= weight < math.inf:
            raise ConfigError(
                f"clarity weight `{name}` must be finite and at least 0, got {weight}"
            )
    total = sum(weights.values())
    if total <= 0:
        raise ConfigError("`clarity_weights` must have a positive sum")
    names = [name for name in CLARITIES if name in weights]
    return names, [weights[name] / total for name in names]

"""Drawing tasks: a fixed pool for each split, balanced over families, built on demand.

The pool is finite, so that the same task comes up again: group-relative learners need siblings, and
building a task costs more than playing its first step.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ...errors import ConfigError, unknown_name
from .base import Task
from .generate import CLARITIES, make_task
from .library import SPLITS, family_functions, load_functions

__all__ = ["CLARITY_WEIGHTS", "SPLITS", "TaskSampler"]

CLARITY_WEIGHTS: Mapping[str, float] = {"clear": 0.4, "partial": 0.35, "vague": 0.25}
"""Shares of single-fault tasks by what their opening tells."""
DEFAULT_POOL = 240


@dataclass(slots=True, frozen=True)
class _Recipe:
    """What `make_task` needs to know."""

    function: str
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
        hard_frac: float = 0.3,
        clarity_weights: Mapping[str, float] = CLARITY_WEIGHTS,
        seed: int = 0,
        pool_size: int = DEFAULT_POOL,
        max_steps: int = 14,
    ) -> None:
        self.families = [family for family, where in SPLITS.items() if where == split]
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
        functions = family_functions(family)
        name = functions[int(rng.integers(len(functions)))].name
        seed, num_hard_faults = int(rng.integers(2**31)), int(rng.integers(2, 4))
        clarity = self._clarities[int(rng.choice(len(self._clarities), p=self._probs))]
        rank = index // len(self.families)
        is_hard = math.floor((rank + 1) * self.hard_frac) > math.floor(rank * self.hard_frac)
        if is_hard:
            return _Recipe(name, seed, num_hard_faults, "vague", self.max_steps)
        return _Recipe(name, seed, 1, clarity, self.max_steps)


@lru_cache(maxsize=8192)
def _build(recipe: _Recipe) -> Task:
    return make_task(
        load_functions()[recipe.function],
        recipe.seed,
        num_faults=recipe.num_faults,
        clarity=recipe.clarity,
        max_steps=recipe.max_steps,
    )


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

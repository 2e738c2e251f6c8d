"""What the tests can tell about a function: a pool of inputs, every mutant, and who is caught.

The analysis is made once for each function and shared by all its tasks. It decides which mutants
can serve as faults, and which inputs the hidden tests need: the *core*, which between them catch
every mutant that any input of the pool catches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from . import analysis_cache
from .budget import BudgetSpentError
from .mutate import CandidateEdit, candidate_edits
from .subject import POOL, Pool, Subject

__all__ = ["POOL", "Analysis", "Mask", "Mutant", "analyse", "go_wrong"]

Mask = npt.NDArray[np.bool_]
"""One truth value for each input of the pool, shape (num_inputs,)."""


@dataclass(slots=True, frozen=True, kw_only=True)
class Mutant:
    """The reference with one edit applied."""

    edit: CandidateEdit
    wrong: Mask | None
    """Inputs on which it goes wrong; None if it ran away on some input."""

    @property
    def is_caught(self) -> bool:
        """True if some input of the pool tells it from the reference."""
        return self.wrong is None or bool(self.wrong.any())


@dataclass(slots=True, frozen=True, kw_only=True)
class Analysis:
    """Inputs, expected values and mutants of one function."""

    subject: Subject
    pool: Pool
    mutants: tuple[Mutant, ...]
    core: Mask
    """A small set of inputs that catch every mutant which is caught at all."""

    @property
    def inputs(self) -> tuple[bytes, ...]:
        """Packed arguments."""
        return self.pool.inputs

    @property
    def arguments(self) -> tuple[tuple[Any, ...], ...]:
        """The same, to be read and never handed to code."""
        return self.pool.arguments

    @property
    def expected(self) -> tuple[Any, ...]:
        """What the whole function makes of them."""
        return self.pool.expected

    def wrong(self, source: str) -> Mask | None:
        """Return the inputs on which the function of a source goes wrong; None if it runs away."""
        return go_wrong(self.subject, source, self.pool)

    def passes(self, source: str, indices: Sequence[int]) -> bool:
        """Say whether the function of a source is right on some of the inputs."""
        function = self.subject.load(source)
        try:
            return all(function.is_right(self.inputs[i], self.expected[i]) for i in indices)
        except BudgetSpentError:
            return False


@lru_cache(maxsize=512)
def analyse(subject: Subject) -> Analysis:
    """Draw the pool of a function and try every mutant of it on every input.

    Raises:
        TaskError: the function is no subject; see its `draw_pool`.
    """
    edits = candidate_edits(subject.bare_module(), subject.qualname)
    kept = analysis_cache.load(subject.cache_key, len(edits))
    if kept is None:
        source = subject.bare_module()
        pool = subject.draw_pool()
        masks = [go_wrong(subject, edit.apply(source), pool) for edit in edits]
        analysis_cache.store(subject.cache_key, pool, masks)
    else:
        pool, masks = kept
    return Analysis(
        subject=subject,
        pool=pool,
        mutants=tuple(Mutant(edit=e, wrong=mask) for e, mask in zip(edits, masks, strict=True)),
        core=_cover([mask for mask in masks if mask is not None], len(pool.inputs)),
    )


def go_wrong(subject: Subject, source: str, pool: Pool) -> Mask | None:
    """Return the inputs of a pool on which a variant goes wrong; None if it runs away."""
    function = subject.load(source)
    pairs = zip(pool.inputs, pool.expected, strict=True)
    try:
        return np.array([not function.is_right(blob, value) for blob, value in pairs])
    except BudgetSpentError:
        return None


def _cover(masks: list[Mask], size: int) -> Mask:
    """Choose inputs greedily until every mask that has any is met; ties go to the first input."""
    chosen = np.zeros(size, dtype=bool)
    left = np.array([mask for mask in masks if mask.any()], dtype=bool).reshape(-1, size)
    while len(left):
        best = int(left.sum(axis=0).argmax())
        chosen[best] = True
        left = left[~left[:, best]]
    return chosen

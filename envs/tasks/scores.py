"""Mutation scores: of wrong mutants that visible tests let through, the share hidden tests kill.

Two figures. On the *pool* of inputs that a task's tests are drawn from the hidden tests kill every
mutant that any input tells from the reference, by construction. On *fresh* inputs, drawn by another
seed, there may be mutants that only those tell from the reference: that figure is the honest one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .analysis import Analysis, Mask, analyse, go_wrong
from .base import Task
from .generate import write_assertion
from .subject import Subject

_FRESH_SEED = 987


@dataclass(slots=True, frozen=True, kw_only=True)
class MutationScore:
    """Counts of mutants of the reference, of one task or added up."""

    let_through: int = 0
    """Wrong on some input of the pool, and pass the visible tests."""
    killed: int = 0
    """Of these, fail the hidden tests."""
    fresh_let_through: int = 0
    """Wrong on some fresh input, and pass the visible tests."""
    fresh_killed: int = 0
    """Of these, fail the hidden tests."""

    @property
    def on_pool(self) -> float:
        """Share killed of those let through; 1.0 if none was."""
        return self.killed / self.let_through if self.let_through else 1.0

    @property
    def on_fresh(self) -> float:
        """The same on fresh inputs."""
        return self.fresh_killed / self.fresh_let_through if self.fresh_let_through else 1.0

    def __add__(self, other: MutationScore) -> MutationScore:
        return MutationScore(
            let_through=self.let_through + other.let_through,
            killed=self.killed + other.killed,
            fresh_let_through=self.fresh_let_through + other.fresh_let_through,
            fresh_killed=self.fresh_killed + other.fresh_killed,
        )


def mutation_score(subject: Subject, task: Task, *, num_fresh: int = 500) -> MutationScore:
    """Measure the hidden tests of a task that was made of a subject.

    A mutant that runs away on the pool counts neither way: no test is needed to stop it.

    Args:
        subject: what the task was made of.
        task: the task.
        num_fresh: fresh inputs to draw; 0 leaves the fresh counts at 0. As many runs of every
            mutant that the visible tests let through follow.
    """
    analysis = analyse(subject)
    visible = _in_tests(analysis, task.files[task.test_path])
    hidden = _in_tests(analysis, task.hidden_tests)
    passing = [
        mutant
        for mutant in analysis.mutants
        if mutant.wrong is not None and not (mutant.wrong & visible).any()
    ]
    score = MutationScore(
        let_through=sum(mutant.is_caught for mutant in passing),
        killed=sum(_meet(mutant.wrong, hidden) for mutant in passing),
    )
    if not num_fresh:
        return score
    fresh = subject.draw_fresh(num_fresh, _FRESH_SEED)
    source = subject.bare_module()
    found = killed = 0
    for mutant in passing:
        wrong = go_wrong(subject, mutant.edit.apply(source), fresh)
        if wrong is None or wrong.any():
            found += 1
            killed += _meet(mutant.wrong, hidden)
    return score + MutationScore(fresh_let_through=found, fresh_killed=killed)


def add_up(scores: Sequence[MutationScore]) -> MutationScore:
    """Return the counts of several tasks together."""
    return sum(scores, MutationScore())


def _meet(wrong: Mask | None, tested: Mask) -> bool:
    return wrong is not None and bool((wrong & tested).any())


def _in_tests(analysis: Analysis, tests: str) -> Mask:
    """Return which inputs of the pool a test module uses."""
    written = {line.strip() for line in tests.splitlines()}
    pairs = zip(analysis.arguments, analysis.expected, strict=True)
    return np.array([write_assertion(analysis.subject, a, v) in written for a, v in pairs])

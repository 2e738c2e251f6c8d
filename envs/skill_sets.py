"""Which discrete skills a kind of work offers, and the numbers that a small policy sees of them.

A skill set turns one session into a choice among skills: `state` reads the record, `describe` gives
every skill a row of features, `expand` writes the chosen one as an ordinary action text. All three
are functions of the record alone, so a logged session can be put back into the same choice.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ..trajectory import Message, Trajectory
from .tasks.base import TaskKind

Features = npt.NDArray[np.float32]


@dataclass(slots=True, frozen=True, kw_only=True)
class SkillSet:
    """The skills of one kind of work. The index of a skill is its action."""

    names: tuple[str, ...]
    """Name of each skill, as records keep it; skills that differ in a detail may share one."""
    feature_names: tuple[str, ...]
    """Name of each column of `describe`."""
    prior: tuple[float, ...]
    """Score of each feature before anything was learnt, (num_features,)."""
    state: Callable[[Trajectory, list[Message] | None], Any]
    """From the session so far, and what has been said since, to what the agent can know."""
    describe: Callable[[Any], Features]
    """From a state to (num_skills, num_features), float32, in [0, 1]."""
    expand: Callable[[int, Any], str]
    """From a skill's index and a state to an action text."""

    @property
    def num_skills(self) -> int:
        """Number of actions."""
        return len(self.names)

    @property
    def num_features(self) -> int:
        """Number of columns."""
        return len(self.feature_names)


_MODULES: dict[TaskKind, str] = {
    TaskKind.REPAIR: ".repair_skills",
    TaskKind.IMPLEMENT: ".implement_skills",
    TaskKind.REFACTOR: ".refactor_skills",
}
"""Where the skills of each kind are; each module has a `SKILL_SET`."""


@cache
def skill_set(kind: TaskKind) -> SkillSet:
    """Return the skills for a kind of work."""
    found: SkillSet = importlib.import_module(_MODULES[kind], __package__).SKILL_SET
    return found


def check_skill_set(skills: SkillSet, states: Sequence[Any]) -> None:
    """Hold a skill set against its contract, in states that occur.

    Raises:
        AssertionError: it breaks its contract; the message says how.
    """
    assert len(skills.prior) == skills.num_features, "`prior` is not of one number a feature"
    shape = skills.num_skills, skills.num_features
    for state in states:
        rows = skills.describe(state)
        assert rows.shape == shape, f"`describe` gives {rows.shape}, expected {shape}"
        assert rows.dtype == np.float32, f"`describe` gives {rows.dtype}, expected float32"
        assert float(rows.min()) >= 0 and float(rows.max()) <= 1, "features leave [0, 1]"
        for index in range(skills.num_skills):
            assert skills.expand(index, state).strip(), f"skill {index} expands into nothing"

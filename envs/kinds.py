"""Kinds of work by name: the environment of each, and where its tasks come from."""

from __future__ import annotations

import importlib
from typing import Any, Protocol

import numpy as np

from ..errors import unknown_name
from .coding import CodingEnv
from .tasks.base import Task, TaskKind

_PLACES: dict[TaskKind, tuple[str, str, str, str]] = {
    TaskKind.REPAIR: (".repair", "RepairEnv", ".tasks.sampler", "TaskSampler"),
    TaskKind.IMPLEMENT: (".implement", "ImplementEnv", ".tasks.implement", "ImplementSampler"),
    TaskKind.REFACTOR: (".refactor", "RefactorEnv", ".tasks.refactor", "RefactorSampler"),
}
"""Module and name of the environment, then of the sampler."""


class Sampler(Protocol):
    """Where tasks come from."""

    def sample(self, rng: np.random.Generator) -> Task:
        """Draw one task."""
        ...

    def tasks(self, n: int) -> list[Task]:
        """Return a fixed list of tasks, for evaluation."""
        ...


def task_kind(name: str) -> TaskKind:
    """Return the kind of work of a name, as options of commands give it.

    Raises:
        ConfigError: there is no such kind.
    """
    if name not in [kind.value for kind in _PLACES]:
        raise unknown_name("environment", name, [kind.value for kind in _PLACES])
    return TaskKind(name)


def env_class(kind: TaskKind) -> type[CodingEnv]:
    """Return the environment of a kind of work."""
    module, name, _, _ = _PLACES[kind]
    found: type[CodingEnv] = getattr(importlib.import_module(module, __package__), name)
    return found


def make_sampler(kind: TaskKind, split: str, *, seed: int, **options: Any) -> Sampler:
    """Make the sampler of a kind of work.

    Args:
        kind: what is asked of the agent.
        split: `train`, `gate` or `heldout`.
        seed: fixes the pool.
        options: further arguments of that sampler.
    """
    _, _, module, name = _PLACES[kind]
    made: Sampler = getattr(importlib.import_module(module, __package__), name)(
        split, seed=seed, **options
    )
    return made

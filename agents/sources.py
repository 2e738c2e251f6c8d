"""Where experience comes from: a simulator, or a mixture of sources.

`live_bridge` adds the replayed and the live ones. The training loop sees only `Source`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..envs.kinds import Sampler
from ..envs.tasks.base import Task
from ..errors import ConfigError
from ..trajectory import Trajectory
from .base import Policy, Source
from .rollout import EpisodeSpec, Rollout


class WorldSource:
    """Experience from a world that can be played at will: a computer and a person.

    Args:
        name: what curves and reports call it.
        rollout: the world's environments.
        tasks: where tasks are drawn from.
        group_size: episodes a task. Above 1 only where one task can be played again with the same
            person, which a simulator can and live traffic cannot.
        seed: fixes the tasks and the chance of every episode.
    """

    def __init__(
        self, name: str, rollout: Rollout, tasks: Sampler, *, group_size: int = 1, seed: int = 0
    ) -> None:
        if group_size < 1:
            raise ConfigError(f"`group_size` must be at least 1, got {group_size}")
        self.name, self.rollout, self.tasks = name, rollout, tasks
        self.group_size = group_size
        self._rng = np.random.default_rng(seed)

    def collect(self, policy: Policy, n: int) -> list[Trajectory]:
        """Play `n` episodes (a multiple of the group size, so that every group is whole)."""
        if n % self.group_size:
            raise ConfigError(
                f"{n} episodes cannot be split into groups of {self.group_size}; "
                f"ask for a multiple of {self.group_size}"
            )
        return self.rollout.play(policy, self.specs(n))

    def specs(self, n: int) -> list[EpisodeSpec]:
        """Draw the next `n` episodes: tasks, seeds and groups."""
        specs = []
        for _ in range(n // self.group_size):
            task = self.tasks.sample(self._rng)
            group = f"{task.id}@{int(self._rng.integers(2**31))}"
            specs += [
                EpisodeSpec(task=task, seed=int(self._rng.integers(2**31)), group=group)
                for _ in range(self.group_size)
            ]
        return specs


class MixedSource:
    """Draws every episode's source at random by weight.

    Args:
        sources: what to mix.
        weights: one positive number each; normalised.
        seed: fixes the draw.
    """

    def __init__(self, sources: Sequence[Source], weights: Sequence[float], *, seed: int) -> None:
        if len(sources) != len(weights) or not sources or min(weights) <= 0:
            raise ConfigError(
                f"got {len(sources)} sources and the weights {list(weights)}; "
                "give one positive weight a source"
            )
        self.name = "mix(" + ", ".join(source.name for source in sources) + ")"
        self._sources = list(sources)
        self._weights = np.array(weights, dtype=float) / sum(weights)
        self._rng = np.random.default_rng(seed)

    def collect(self, policy: Policy, n: int) -> list[Trajectory]:
        """Collect `n` trajectories, the sources' shares drawn at random."""
        counts = self._rng.multinomial(n, self._weights)
        return [
            trajectory
            for source, count in zip(self._sources, counts, strict=True)
            if count
            for trajectory in source.collect(policy, int(count))
        ]


def evaluate(
    policy: Policy,
    rollout: Rollout,
    tasks: Sequence[Task],
    *,
    seed: int,
    repeats: int = 1,
    greedy: bool = False,
) -> list[Trajectory]:
    """Play every task `repeats` times with seeds that depend on nothing but `seed`.

    Two policies evaluated with one seed meet the same tasks, people and chances, so their results
    can be compared task by task.
    """
    rng = np.random.default_rng(seed)
    specs = [
        EpisodeSpec(task=task, seed=int(rng.integers(2**31)))
        for task in tasks
        for _ in range(repeats)
    ]
    return rollout.play(policy, specs, greedy=greedy)

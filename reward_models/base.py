"""What a reward model is: a trajectory in, named numbers out."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from ..trajectory import RewardReport, Trajectory


@runtime_checkable
class RewardModel(Protocol):
    """Scores trajectories. Deterministic; reads only what its documentation says it reads."""

    name: str

    def score(self, trajectory: Trajectory) -> RewardReport:
        """Return the reward of one trajectory.

        A trajectory that ended in one of our own errors is excluded with that error as reason; it
        never scores 0.0. The components add up to the total, and the per-turn rewards too.

        Raises:
            RewardError: the trajectory lacks what this model must read.
        """
        ...

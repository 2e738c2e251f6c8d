"""`sim2live/Repair-v0`: an agent repairs a broken function for a person."""

from __future__ import annotations

from .coding import CodingEnv, DrawTask
from .tasks.base import TaskKind


class RepairEnv(CodingEnv):
    """Multi-turn bug repair; see `CodingEnv` for actions, observations, reward and arguments.

    Example:
        >>> import gymnasium, sim2live
        >>> env = gymnasium.make("sim2live/Repair-v0")  # doctest: +SKIP
        >>> observation, info = env.reset(seed=0)  # doctest: +SKIP
    """

    kind = TaskKind.REPAIR

    @classmethod
    def draw_tasks(cls, split: str) -> DrawTask:
        """Draw generated tasks, balanced over the families of the split."""
        from .tasks import TaskSampler

        return TaskSampler(split, seed=0).sample

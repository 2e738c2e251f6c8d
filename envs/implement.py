"""`sim2live/Implement-v0`: an agent writes a missing body for a person who knows what is wanted."""

from __future__ import annotations

from .coding import CodingEnv, DrawTask
from .tasks.base import TaskKind


class ImplementEnv(CodingEnv):
    """Writing from words; see `CodingEnv` for actions, observations, reward and arguments.

    The docstring of the stub says what is wanted. In half of the tasks it leaves something open
    that only the person knows: neither the files nor the visible tests decide it.

    Example:
        >>> import gymnasium, sim2live
        >>> env = gymnasium.make("sim2live/Implement-v0")  # doctest: +SKIP
        >>> observation, info = env.reset(seed=0)  # doctest: +SKIP
    """

    kind = TaskKind.IMPLEMENT

    @classmethod
    def draw_tasks(cls, split: str) -> DrawTask:
        """Draw generated tasks, balanced over the families of the split."""
        from .tasks.implement import ImplementSampler

        return ImplementSampler(split, seed=0).sample

"""`sim2live/Refactor-v0`: an agent makes code easier to read, and what it does stays."""

from __future__ import annotations

from .coding import CodingEnv, DrawTask
from .tasks.base import TaskKind


class RefactorEnv(CodingEnv):
    """Refactoring; see `CodingEnv` for actions, observations, reward and arguments.

    All tests pass at the start and must pass at the end. The person who reviews the work tries it,
    as ever, and reads it: what they make of its readability (`reward_models.readability`) decides
    whether they take it. The work is solved if every test passes and it reads better than before.

    Example:
        >>> import gymnasium, sim2live
        >>> env = gymnasium.make("sim2live/Refactor-v0")  # doctest: +SKIP
        >>> observation, info = env.reset(seed=0)  # doctest: +SKIP
    """

    kind = TaskKind.REFACTOR

    @classmethod
    def draw_tasks(cls, split: str) -> DrawTask:
        """Draw generated tasks, balanced over the families of the split."""
        from .tasks.refactor import RefactorSampler

        return RefactorSampler(split, seed=0).sample

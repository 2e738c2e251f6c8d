"""`sim2live/CompletionSession-v0`: many suggestions, and a person who can stop looking.

As `Completion-v0`, with two differences that change what is learnt. A session has many cursors; and
a person who was interrupted too often *grows deaf*: they type on without looking at suggestions,
until they were left in peace for a while. So showing whatever beats the threshold now is no longer
the best one can do, and a good policy saves its interruptions.

It is an environment beside `Completion-v0` and no new version of it: Gymnasium calls the lower of
two versions out of date, and the single cursor, whose best policy is known, is not.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from ..errors import ConfigError
from .completion import FEATURES, AcceptanceModel, CompletionEnv

SESSION_FEATURES = (*FEATURES, "is_deaf", "progress")
"""The names of the entries of an observation, in order; all lie in [0, 1]."""


class CompletionSessionEnv(CompletionEnv):
    """Decide at each cursor of a session whether to suggest something, and what.

    Action, reward, reactions, contexts and `info` are those of `CompletionEnv`; the observation has
    two more entries (`SESSION_FEATURES`): whether the person is deaf now, which an editor can see
    (they type on at once), and the share of the session that is over.

    The person's interruptions move as in `CompletionEnv` (0.8 times the old value, plus 0.2 after a
    suggestion that was shown and not accepted). When they reach `deaf_at` the person grows deaf:
    nothing is accepted, and what is shown counts as an interruption. They look again when their
    interruptions have fallen to `hears_again_at`. The defaults are our own choice: the average
    person grows deaf at the second unwanted suggestion in a row, and listens again after five
    quiet contexts; they are estimated from nobody's data.

    Args:
        threshold: as in `CompletionEnv`.
        num_contexts: contexts in a session.
        acceptance: how a person who listens answers.
        deaf_at: interruptions at which they grow deaf, in (0, 1].
        hears_again_at: interruptions at which they listen again, in [0, deaf_at).
        render_mode: as in `CompletionEnv`.

    Raises:
        ConfigError: as `CompletionEnv`, or the two limits are out of order.

    Example:
        >>> env = CompletionSessionEnv()
        >>> observation, info = env.reset(seed=0)
        >>> observation.shape
        (15,)
    """

    def __init__(
        self,
        *,
        threshold: float | None = 0.25,
        num_contexts: int = 20,
        acceptance: AcceptanceModel | None = None,
        deaf_at: float = 0.5,
        hears_again_at: float = 0.2,
        render_mode: str | None = None,
    ) -> None:
        super().__init__(
            threshold=threshold,
            num_contexts=num_contexts,
            acceptance=acceptance,
            render_mode=render_mode,
        )
        if not 0.0 <= hears_again_at < deaf_at <= 1.0:
            raise ConfigError(
                f"`hears_again_at` is {hears_again_at!r} and `deaf_at` {deaf_at!r}; expected "
                "0 <= hears_again_at < deaf_at <= 1"
            )
        self.observation_space = spaces.Box(0.0, 1.0, (len(SESSION_FEATURES),), np.float32)
        self.deaf_at, self.hears_again_at = deaf_at, hears_again_at
        self.is_deaf = False
        """Whether the person looks at nothing now."""

    def acceptance_probability(self, action: int | np.integer[Any]) -> float:
        """Return the true P(accept) of an action in the present context; 0 if the person is deaf.

        No policy may read this.
        """
        probability = super().acceptance_probability(action)
        return 0.0 if self.is_deaf else probability

    def _move(self, is_rejected: bool) -> None:
        super()._move(is_rejected)
        limit = self.hears_again_at if self.is_deaf else self.deaf_at
        self.is_deaf = self._interruptions > limit if self.is_deaf else self._interruptions >= limit

    def _meet(self) -> None:
        super()._meet()
        # Some are drawn beyond the limit: they have had enough of suggestions before we came.
        self.is_deaf = self._interruptions >= self.deaf_at

    def _observe(self) -> NDArray[np.float32]:
        progress = self._num_answered / self.num_contexts
        more = np.array([float(self.is_deaf), progress], dtype=np.float32)
        return np.concatenate([super()._observe(), more])

"""Logged sessions as a source of experience.

Nothing is played again: the logged turns come back with the log-probabilities of the policy that
took them, and the learner weights them. How much of the current policy's behaviour the log can
answer is measured on the way (`coverage`), since below a few tenths such training is guesswork.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

import numpy as np

from ..agents.base import Policy
from ..envs.skill_features import skill_features
from ..envs.skill_state import skill_state
from ..errors import ConfigError
from ..trajectory import EndReason, Source, Trajectory, Turn


class ReplaySource:
    """Draws logged trajectories with replacement, ready for a learner.

    Args:
        trajectories: what was logged. Only those that the policy can learn from are used: for a
            feature policy, sessions with recorded skills; for a language model, turns with token
            ids and log-probabilities as sampled.
        observes: `features` or `messages`, as the policy says.
        seed: fixes the draw.

    Raises:
        ConfigError: none of the trajectories can be learnt from.
    """

    name = "replayed"

    def __init__(
        self, trajectories: Sequence[Trajectory], *, observes: str = "features", seed: int = 0
    ) -> None:
        usable = [t for t in trajectories if _is_usable(t, observes)]
        self.num_unusable = len(trajectories) - len(usable)
        if not usable:
            raise ConfigError(
                f"none of the {len(trajectories)} logged trajectories carries what a policy over "
                f"{observes} learns from: "
                + (
                    "recorded skills with their log-probabilities. Logs of other agents can be "
                    "compared (`sim2live mismatch --logs`) and replayed, but not learnt from here."
                    if observes == "features"
                    else "completion token ids with log-probabilities as sampled."
                )
            )
        self._pool = [_prepare(t, observes) for t in usable]
        self._rng = np.random.default_rng(seed)
        self.coverage = float("nan")
        """Share of the last batch's logged actions that the current policy finds likeliest too."""

    def collect(self, policy: Policy, n: int) -> list[Trajectory]:
        """Return `n` logged trajectories, drawn evenly with replacement."""
        chosen = [self._pool[i] for i in self._rng.integers(len(self._pool), size=n)]
        turns = [turn for t in chosen for turn in t.turns if turn.features is not None]
        if turns:
            greedy = policy.act([turn.features for turn in turns], greedy=True)
            hits = [a.value == turn.action for a, turn in zip(greedy, turns, strict=True)]
            self.coverage = float(np.mean(hits))
        return [copy(trajectory) for trajectory in chosen]


def _is_usable(trajectory: Trajectory, observes: str) -> bool:
    if observes == "features":
        has_task = isinstance(trajectory.extra.get("task"), dict)
        return has_task and any(_has_skill(turn) for turn in trajectory.turns)
    return any(turn.completion_token_ids and turn.logprobs for turn in trajectory.turns)


def _has_skill(turn: Turn) -> bool:
    return turn.action is not None and turn.action_logprob is not None


def _prepare(trajectory: Trajectory, observes: str) -> Trajectory:
    """Return the trajectory as replayed experience, the features of its turns worked out again."""
    replayed = copy(trajectory)
    replayed.source = Source.REPLAYED
    if observes == "features":
        for index, turn in enumerate(replayed.turns):
            if _has_skill(turn):
                prefix = Trajectory(
                    id=trajectory.id,
                    task_id=trajectory.task_id,
                    source=Source.REPLAYED,
                    turns=trajectory.turns[:index],
                    end=EndReason.UNKNOWN,
                    extra=trajectory.extra,
                )
                turn.features = skill_features(skill_state(prefix, turn.observation))
    return replayed

"""Wrappers between the native text action and what a policy works with."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from ..trajectory import Trajectory
from .coding import CodingEnv
from .skill_sets import Features, skill_set


class SkillActions(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Discrete skills over the text actions of a coding environment, with features to choose by.

    Action: index of a skill. Observation: `Box(0, 1, (num_skills, num_features))`. Which skills
    there are follows from the kind of work (`envs.skill_sets`). Each expands into ordinary tool
    calls, so the record of an episode looks like any agent's; the turn also keeps the skill's index
    and the features.
    """

    def __init__(self, env: gymnasium.Env[str, str]) -> None:
        super().__init__(env)
        self.skills = skill_set(_unwrapped(self).kind)
        shape = self.skills.num_skills, self.skills.num_features
        self.action_space = gymnasium.spaces.Discrete(self.skills.num_skills)
        self.observation_space = gymnasium.spaces.Box(0.0, 1.0, shape, np.float32)
        self._described: tuple[tuple[int, int], Any, Features] | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Features, dict[str, Any]]:
        """Begin an episode (options as in the wrapped environment)."""
        _, info = self.env.reset(seed=seed, options=options)
        self._described = None
        return self._features(), info

    def step(self, action: np.int64) -> tuple[Features, float, bool, bool, dict[str, Any]]:
        """Expand the skill, take it, and describe the new situation."""
        base = _unwrapped(self)
        state, features = self._describe()
        text = self.skills.expand(int(action), state)
        _, reward, terminated, truncated, info = self.env.step(text)
        turn = base.trajectory.turns[-1]
        turn.action, turn.features = int(action), features
        turn.extra["skill"] = self.skills.names[int(action)]
        return self._features(), float(reward), terminated, truncated, info

    def _features(self) -> Features:
        return self._describe()[1]

    def _describe(self) -> tuple[Any, Features]:
        """Return the state and its features; worked out once for each moment of the session."""
        base = _unwrapped(self)
        pending = base.episode.pending if base.episode else []
        moment = (len(base.trajectory.turns), len(pending))
        if self._described is None or self._described[0] != moment:
            state = self.skills.state(base.trajectory, pending)
            self._described = (moment, state, self.skills.describe(state))
        return self._described[1:]


class Messages(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Gives the whole conversation as chat messages, which is what a language model works from.

    Observation: a list of `{"role", "content"}` with roles `system`, `user`, `assistant` and
    `tool`. The declared space stays the text space of the newest message's rendering, since
    Gymnasium has none for conversations; use this wrapper with a single environment.
    """

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[list[dict[str, str]], dict[str, Any]]:
        """Begin an episode (options as in the wrapped environment)."""
        _, info = self.env.reset(seed=seed, options=options)
        return self._conversation(), info

    def step(self, action: str) -> tuple[list[dict[str, str]], float, bool, bool, dict[str, Any]]:
        """Take a text action."""
        _, reward, terminated, truncated, info = self.env.step(action)
        return self._conversation(), float(reward), terminated, truncated, info

    def _conversation(self) -> list[dict[str, str]]:
        base = _unwrapped(self)
        messages = conversation(base.trajectory)
        pending = base.episode.pending if base.episode else []
        return messages + [{"role": _role(m.role), "content": m.text or ""} for m in pending]


def conversation(trajectory: Trajectory) -> list[dict[str, str]]:
    """Write a trajectory's turns as chat messages (tool calls in their text form)."""
    messages: list[dict[str, str]] = []
    for turn in trajectory.turns:
        messages += [{"role": _role(m.role), "content": m.text or ""} for m in turn.observation]
        messages.append({"role": "assistant", "content": turn.extra.get("raw", turn.text or "")})
        messages += [{"role": "tool", "content": r.text or ""} for r in turn.results]
    return messages


def _role(role: str) -> str:
    return role if role in ("system", "user") else "user"


def _unwrapped(env: gymnasium.Env[Any, Any]) -> CodingEnv:
    base = env.unwrapped
    assert isinstance(base, CodingEnv), f"expected a CodingEnv inside, got {type(base).__name__}"
    return base

"""Wrappers between the native text action and what a policy works with."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from ..errors import ConfigError
from ..trajectory import Trajectory
from .coding import CodingEnv
from .context import (
    Change,
    CompressionRule,
    CountTokens,
    build_context,
    estimate_tokens,
    fit_messages,
    git_history,
    rank_files,
    session_edits,
)
from .context.conversation import count_messages
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


class ContextMessages(Messages):
    """The conversation within a budget of tokens, with a map of the files as they stand now.

    Observation: as `Messages`, but old tool results are cut by a stated rule (`context.compress`,
    `context.conversation`), and what the budget leaves goes to a description of the work area
    (`context.build`), which stands at the end of the system message. The record of the episode is
    the same as without this wrapper.

    The description knows what the agent could read anyway: the files of the work area, the commits
    of a repository there (as of the beginning), and the session's own edits.

    Args:
        env: a coding environment.
        budget_tokens: no conversation has more, unless what the system and the person said and the
            agent's newest turn are over it alone.
        count_tokens: the model's own tokenizer, where the budget must hold for it.
        map_frac: largest share of the budget for the description, in [0, 1].
        rule: how old tool results are cut.
    """

    def __init__(
        self,
        env: gymnasium.Env[str, str],
        *,
        budget_tokens: int,
        count_tokens: CountTokens = estimate_tokens,
        map_frac: float = 0.5,
        rule: CompressionRule | None = None,
    ) -> None:
        super().__init__(env)
        if budget_tokens < 1 or not 0.0 <= map_frac <= 1.0:
            raise ConfigError(
                f"`budget_tokens` is {budget_tokens} and `map_frac` {map_frac}; expected a budget "
                "of 1 or more and a share in [0, 1]"
            )
        self.budget_tokens = budget_tokens
        self.map_frac = map_frac
        self._count_tokens = count_tokens
        self._rule = rule or CompressionRule()
        self._commits: list[Change] = []

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[list[dict[str, str]], dict[str, Any]]:
        """Begin an episode (options as in the wrapped environment)."""
        self._commits = []
        _, info = self.env.reset(seed=seed, options=options)
        self._commits = self._read_commits()
        return self._conversation(), info

    def _conversation(self) -> list[dict[str, str]]:
        count = self._count_tokens
        messages = super()._conversation()
        messages = fit_messages(messages, self.budget_tokens, count_tokens=count, rule=self._rule)
        left = self.budget_tokens - count_messages(messages, count)
        if messages[0]["role"] != "system" or left <= 0:
            return messages
        system = messages[0]["content"]
        base = count(system)

        def added(text: str) -> int:
            # Tokens are not additive, so the whole message is counted.
            return count(f"{system}\n\n{text}") - base if text else 0

        trajectory = _unwrapped(self).trajectory
        description = build_context(
            self._files(),
            trajectory.instruction or "",
            min(left, int(self.map_frac * self.budget_tokens)),
            count_tokens=added,
            history=session_edits(trajectory) + self._commits,
        )
        if description:
            messages[0] = {"role": "system", "content": f"{system}\n\n{description}"}
        return messages

    def _files(self) -> dict[str, str]:
        episode = _unwrapped(self).episode
        assert episode is not None, "the wrapped environment was reset"
        return {path: text for path, text in episode.files.items() if not _is_git(path)}

    def _read_commits(self) -> list[Change]:
        """Read the history of the files that the request is about, if there is a repository."""
        episode = _unwrapped(self).episode
        assert episode is not None, "the wrapped environment was reset"
        task = episode.task
        if not any(_is_git(path) for path in (*task.files, *task.binary_files)):
            return []
        paths = rank_files(self._files(), episode.trajectory.instruction or "")
        return git_history(episode.computer, paths[:_FILES_WITH_HISTORY])


_FILES_WITH_HISTORY = 8


def _is_git(path: str) -> bool:
    return path == ".git" or path.startswith(".git/")


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

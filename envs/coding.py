"""What the coding environments share: one agent, one computer, one person, one piece of work.

`RepairEnv` and its siblings differ in the tasks that they draw, and in nothing else.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import gymnasium
import numpy as np

from ..errors import ConfigError
from ..reward_models.base import RewardModel
from ..simulators.base import User
from ..trajectory import EndReason, Message, Source, Trajectory
from .computer import Computer
from .episode import Episode
from .sandbox_computer import SandboxComputer
from .spaces import UnicodeText
from .tasks.base import Task, TaskKind

MAX_OBSERVATION_CHARS = 16_384
MAX_ACTION_CHARS = 32_768

MakeUser = Callable[[np.random.Generator], User]
"""Draws the person of one episode."""
DrawTask = Callable[[np.random.Generator], Task]
"""Draws the task of one episode."""


class CodingEnv(gymnasium.Env[str, str]):
    """Multi-turn work on real files that really execute, with a person on the other side.

    The action is a text: a message with or without tool calls (`envs.actions`). The observation is
    what the agent reads next: results of its calls, and what the person said. The episode is
    *terminated* when the person takes the work, refuses it for good or leaves, and *truncated* when
    the turns run out or our own sandbox fails. An action that is no valid tool call is an ordinary,
    recorded action with an error observation.

    The reward model scores the finished trajectory; the reward comes with the last step, all others
    give 0. An episode that the model excludes gives 0 and says why in `info["excluded"]`; whoever
    trains must read `info` or the trajectory's `reward`, where it is None.

    Args:
        tasks: a list to draw from evenly, or None for the generated tasks of `split`.
        split: `train`, `gate` or `heldout`; families never overlap. Used if `tasks` is None.
        make_user: draws the person; default: the training simulator's population.
        computer: what tool calls run on; default: a new sandbox of kind `sandbox`.
        reward_model: default: the simulator's reward, without flaws.
        sandbox: `namespaces` or `process` (unprotected).
        max_steps: turns before truncation; default: what the task says.
        error_budget: tool errors in a row (`envs.tool_errors`) that the agent may make and go on;
            one more ends the episode, *terminated*, with `EndReason.TOO_MANY_ERRORS`. Any call
            that is carried out begins a new row. None: there is no such end.
        source: what the records say of their origin.
        render_mode: `human` prints each turn as it happens (`envs.rendering`), `ansi` lets `render`
            return the newest one as plain text; None.

    `reset(options=...)` takes `task` (a `Task`), `episode_seed` (fixes everything random in the
    episode, whichever environment plays it) and `group` (a label for siblings of one task).

    A subclass says in `draw_tasks` where its tasks come from, and in `kind` what they ask for.
    """

    kind: ClassVar[TaskKind] = TaskKind.REPAIR

    metadata = {"render_modes": ["human", "ansi"], "render_fps": 4}  # noqa: RUF012 - Gymnasium's way

    def __init__(
        self,
        *,
        tasks: Sequence[Task] | None = None,
        split: str = "train",
        make_user: MakeUser | None = None,
        computer: Computer | None = None,
        reward_model: RewardModel | None = None,
        sandbox: str = "namespaces",
        max_steps: int | None = None,
        error_budget: int | None = None,
        source: Source = Source.SIMULATED,
        render_mode: str | None = None,
    ) -> None:
        if tasks is not None and not tasks:
            raise ConfigError("`tasks` is empty; give at least one task or None for generated ones")
        if error_budget is not None and error_budget < 0:
            raise ConfigError(
                f"`error_budget` is {error_budget}; give 0 or more, or None for no such end"
            )
        self._text_space = UnicodeText(MAX_OBSERVATION_CHARS)
        self.observation_space = self._text_space
        self.action_space = UnicodeText(MAX_ACTION_CHARS)
        self.render_mode = render_mode
        self.episode: Episode | None = None
        self._draw_task = _evenly(tasks) if tasks is not None else self.draw_tasks(split)
        self._make_user = make_user or _default_user
        self._reward_model = reward_model or _default_reward()
        self._computer = computer
        self._sandbox = sandbox
        self._max_steps = max_steps
        self._error_budget = error_budget
        self.source = source

    @classmethod
    def draw_tasks(cls, split: str) -> DrawTask:
        """Return what draws a task of a split, where no list of tasks is given."""
        raise ConfigError(f"`{cls.__name__}` has no tasks of its own; give it `tasks`")

    @property
    def trajectory(self) -> Trajectory:
        """The record of the current episode."""
        if self.episode is None:
            raise ConfigError("call `reset` first: there is no episode yet")
        return self.episode.trajectory

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Begin an episode; see the class for `options`."""
        super().reset(seed=seed)
        options = options or {}
        drawn = int(self.np_random.integers(2**31))
        episode_seed = int(options.get("episode_seed", drawn))
        streams = np.random.SeedSequence(episode_seed).spawn(4)
        task_rng, person_rng, react_rng = (np.random.default_rng(s) for s in streams[:3])
        task = options.get("task") or self._draw_task(task_rng)
        user = self._make_user(person_rng)
        computer = self._get_computer()
        computer.reset(task, seed=int(streams[3].generate_state(1)[0]))
        self.episode = Episode(
            task,
            computer,
            user,
            react_rng,
            trajectory_id=_trajectory_id(self.source, task, user.user_id, episode_seed),
            source=self.source,
            max_steps=self._max_steps,
            error_budget=self._error_budget,
        )
        self.trajectory.seed = episode_seed
        if "group" in options:
            self.trajectory.extra["group"] = str(options["group"])
        self._show()
        return self._observe(self.episode.pending), self._info()

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take one action; see the class for its form and for the reward."""
        if self.episode is None or self._is_over():
            raise ConfigError("the episode is over; call `reset` before the next `step`")
        turn = self.episode.act(str(action)[:MAX_ACTION_CHARS])
        observation = self._observe(self.episode.pending, turn.results)
        if not self._is_over():
            self._show()
            return observation, 0.0, False, False, self._info()
        report = self._reward_model.score(self.trajectory)
        self.trajectory.reward = report
        self._show()
        end = self.trajectory.end
        is_cut = end.is_truncated or end.is_error
        return observation, float(report.total or 0.0), not is_cut, is_cut, self._info()

    def cut(self, reason: EndReason) -> None:
        """Stop the running episode at a limit that only the agent's side knows (its context)."""
        if self.episode is None or self.episode.is_over:
            raise ConfigError("there is no running episode to cut off")
        self.episode.cut(reason)
        self.trajectory.reward = self._reward_model.score(self.trajectory)

    def render(self) -> str | None:
        """Return the newest turn as plain text if `render_mode` is `ansi`."""
        if self.render_mode != "ansi":
            return None
        from .rendering import as_text, scene

        return as_text(scene(self.trajectory, is_over=self._is_over()))

    def close(self) -> None:
        """Close the computer."""
        if self._computer is not None:
            self._computer.close()
            self._computer = None

    def _show(self) -> None:
        if self.render_mode == "human":
            from .rendering import scene, show

            show(scene(self.trajectory, is_over=self._is_over()))

    def _is_over(self) -> bool:
        return self.episode is None or self.episode.is_over

    def _get_computer(self) -> Computer:
        if self._computer is None:
            from .sandbox import make_sandbox

            self._computer = SandboxComputer(make_sandbox(self._sandbox))
        return self._computer

    def _observe(self, messages: Sequence[Message], results: Sequence[Any] = ()) -> str:
        parts = [f"[{result.call_id}] {result.text}" for result in results if result.text]
        parts += [f"[{message.role}] {message.text}" for message in messages]
        return self._text_space.clean("\n".join(parts))

    def _info(self) -> dict[str, Any]:
        trajectory = self.trajectory
        info: dict[str, Any] = {
            "task_id": trajectory.task_id,
            "family": trajectory.family,
            "num_turns": len(trajectory.turns),
        }
        if self.episode is not None and self.episode.is_over:
            info["end"] = trajectory.end.value
            info["is_solved"] = bool(trajectory.outcome.is_solved)
            if trajectory.reward is not None and trajectory.reward.excluded:
                info["excluded"] = trajectory.reward.excluded
            if self.episode.error:
                info["error"] = self.episode.error
        return info


def _trajectory_id(source: Source, task: Task, user_id: str, episode_seed: int) -> str:
    key = f"{task.content_hash}/{user_id}/{episode_seed}"
    return f"{source.value}-{hashlib.sha256(key.encode()).hexdigest()[:16]}"


def _evenly(tasks: Sequence[Task]) -> DrawTask:
    pool = list(tasks)
    return lambda rng: pool[int(rng.integers(len(pool)))]


def _default_user(rng: np.random.Generator) -> User:
    from ..simulators.population import simulator_population

    return simulator_population().sample_user(rng)


def _default_reward() -> RewardModel:
    from ..reward_models import make_reward

    return make_reward("simulated")

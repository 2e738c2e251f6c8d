"""Plays many episodes at once: one batched policy call, then the environments step in threads.

The policy acts for all running episodes together, in a fixed order, from its own generator; every
episode draws its chance from its own seed. So the trajectories depend on the seeds alone, not on
the number of threads or on which environment played them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import gymnasium

from ..closing import Closing
from ..envs.coding import CodingEnv
from ..envs.tasks.base import Task
from ..envs.wrappers import Messages, SkillActions
from ..errors import ConfigError, ModelError
from ..trajectory import EndReason, RewardReport, Trajectory
from .base import Action, Policy

MakeEnv = Callable[[], CodingEnv]


@dataclass(slots=True, kw_only=True, frozen=True)
class EpisodeSpec:
    """One episode to be played."""

    task: Task
    seed: int
    """Fixes everything random in the episode except the policy's own sampling."""
    group: str | None = None
    """Label shared by episodes of one task that are compared with each other."""


class Rollout(Closing):
    """A set of environments of one world, kept warm between calls.

    Args:
        make_env: builds one environment (computer, person and reward of the world).
        num_envs: episodes that run at once.
        num_threads: environments that step at once (the sandbox works in processes of its own).
    """

    def __init__(self, make_env: MakeEnv, *, num_envs: int = 16, num_threads: int = 4) -> None:
        self._make_env = make_env
        self._num_envs = num_envs
        self._envs: list[CodingEnv] = []
        self._pool = ThreadPoolExecutor(max_workers=num_threads)

    def play(
        self, policy: Policy, specs: Sequence[EpisodeSpec], *, greedy: bool = False
    ) -> list[Trajectory]:
        """Play one episode for each spec and return the trajectories in the same order.

        An episode that fails for a reason of our own is returned too, with an `error_*` end reason
        and no reward; it never disappears.
        """
        wrap = _wrapper_for(policy)
        finished: list[Trajectory | None] = [None] * len(specs)
        waiting = list(enumerate(specs))[::-1]
        free = [wrap(env) for env in self._get_envs(min(self._num_envs, len(specs)))]
        # Two halves take turns: while the sandboxes of one work, the policy acts for the other.
        halves = [_Half(), _Half()]
        most = (len(free) + 1) // 2
        for half in itertools.cycle(halves):
            for slot in half.settle():
                free.append(slot.env)
                finished[slot.index] = slot.trajectory
            started: list[_Slot] = []
            while waiting and free and len(half.slots) + len(started) < most:
                started.append(_Slot(free.pop(), *waiting.pop()))
            list(self._pool.map(_Slot.reset, started))
            half.slots += started
            _cut_what_does_not_fit(policy, half.slots)
            _act(policy, [slot for slot in half.slots if not slot.is_over], greedy)
            half.steps = [self._pool.submit(slot.step) for slot in half.slots]
            if not waiting and not halves[0].slots and not halves[1].slots:
                break
        return [trajectory for trajectory in finished if trajectory is not None]

    def close(self) -> None:
        """Close every environment."""
        self._pool.shutdown()
        for env in self._envs:
            env.close()
        self._envs.clear()

    def _get_envs(self, n: int) -> list[CodingEnv]:
        while len(self._envs) < n:
            self._envs.append(self._make_env())
        return self._envs[:n]


class _Half:
    """Episodes that step together."""

    def __init__(self) -> None:
        self.slots: list[_Slot] = []
        self.steps: list[Future[None]] = []

    def settle(self) -> list[_Slot]:
        """Wait for the running steps; take out and return the episodes that are over."""
        for step in self.steps:
            step.result()
        over = [slot for slot in self.slots if slot.is_over]
        self.slots = [slot for slot in self.slots if not slot.is_over]
        self.steps = []
        return over


class _Slot:
    """One running episode."""

    def __init__(self, env: gymnasium.Env[Any, Any], index: int, spec: EpisodeSpec) -> None:
        self.env, self.index, self.spec = env, index, spec
        self.observation: Any = None
        self.action: Action | None = None
        self.version: str | None = None
        self.is_over = False
        self.failure: Trajectory | None = None

    @property
    def trajectory(self) -> Trajectory:
        base = self.env.unwrapped
        assert isinstance(base, CodingEnv)
        return self.failure or base.trajectory

    def reset(self) -> None:
        options: dict[str, Any] = {"task": self.spec.task, "episode_seed": self.spec.seed}
        if self.spec.group is not None:
            options["group"] = self.spec.group
        self._guard(lambda: self._take(self.env.reset(options=options)[0], False))

    def step(self) -> None:
        if self.is_over or self.action is None:
            return
        self._guard(self._step)

    def _step(self) -> None:
        assert self.action is not None
        observation, _, terminated, truncated, _ = self.env.step(self.action.value)
        turn = self.trajectory.turns[-1]
        turn.policy_version = self.version
        turn.action_logprob = self.action.logprob
        turn.prompt_token_ids = self.action.prompt_token_ids
        turn.completion_token_ids = self.action.completion_token_ids
        turn.logprobs = self.action.logprobs
        self.trajectory.policy_version = self.trajectory.policy_version or self.version
        self._take(observation, terminated or truncated)

    def _take(self, observation: Any, is_over: bool) -> None:
        self.observation, self.is_over, self.action = observation, is_over, None

    def _guard(self, do: Callable[[], None]) -> None:
        try:
            do()
        except Exception as error:  # noqa: BLE001 - the one place where a bad rollout becomes data
            self.fail(EndReason.ERROR_TASK, error)

    def cut(self, end: EndReason) -> None:
        """Stop the episode at a limit."""
        base = self.env.unwrapped
        assert isinstance(base, CodingEnv)
        base.cut(end)
        self.is_over = True

    def fail(self, end: EndReason, error: Exception) -> None:
        """End the episode for a reason of our own; what happened so far is kept."""
        base = self.env.unwrapped
        assert isinstance(base, CodingEnv)
        if base.episode is not None and base.trajectory.seed == self.spec.seed:
            trajectory = base.trajectory
        else:
            trajectory = Trajectory(
                id=f"failed-{self.spec.task.content_hash[:8]}-{self.spec.seed}",
                task_id=self.spec.task.id,
                source=base.source,
                seed=self.spec.seed,
            )
        trajectory.end = end
        trajectory.reward = RewardReport(total=None, excluded=end.value)
        trajectory.extra["error"] = f"{type(error).__name__}: {error}"
        self.failure, self.is_over = trajectory, True


def _cut_what_does_not_fit(policy: Policy, slots: Sequence[_Slot]) -> None:
    """End the episodes whose conversation has outgrown the policy's context."""
    fits = getattr(policy, "fits", None)
    if fits is None:
        return
    for slot in slots:
        if not slot.is_over and not fits(slot.observation):
            slot.cut(EndReason.TRUNCATED_TOKENS)


def _act(policy: Policy, slots: Sequence[_Slot], greedy: bool) -> None:
    if not slots:
        return
    try:
        actions = policy.act([slot.observation for slot in slots], greedy=greedy)
    except ModelError as error:
        for slot in slots:
            slot.fail(EndReason.ERROR_MODEL, error)
        return
    for slot, action in zip(slots, actions, strict=True):
        slot.action, slot.version = action, policy.version


def _wrapper_for(policy: Policy) -> Callable[[CodingEnv], gymnasium.Env[Any, Any]]:
    observes = getattr(policy, "observes", "text")
    wrappers: dict[str, Callable[[CodingEnv], gymnasium.Env[Any, Any]]] = {
        "features": _with_skills,
        "messages": _with_messages,
        "text": lambda env: env,
    }
    if observes not in wrappers:
        raise ConfigError(
            f"the policy's `observes` is {observes!r}; expected one of {', '.join(wrappers)}"
        )
    return wrappers[observes]


def _with_skills(env: CodingEnv) -> gymnasium.Env[Any, Any]:
    return SkillActions(env)


def _with_messages(env: CodingEnv) -> gymnasium.Env[Any, Any]:
    return Messages(env)

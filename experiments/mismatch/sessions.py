"""From trajectories to the numbers that the attribution works on.

Each logged turn is put before the simulator twice: once with the log's own computer results and a
simulated person (`ls`), once with the call re-executed in the simulator's sandbox and a simulated
person (`ss`). The difference between the log and the first is the person's doing, between the first
and the second the computer's. Nothing here needs a real person to be run in a simulator.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...agents.base import Policy
from ...envs.coding import MakeUser
from ...envs.computer import Grade
from ...envs.episode import Episode
from ...envs.sandbox_computer import SandboxComputer
from ...envs.skill_features import SITUATION, situation, skill_features
from ...envs.skill_state import skill_state
from ...envs.skills import SKILLS, expand
from ...envs.tasks.base import Task
from ...reward_models.distil import value_per_turn
from ...trajectory import EndReason, Message, Trajectory, Turn
from .critic import FeatureMap
from .terms import SessionTerms

Vector = npt.NDArray[np.float64]

STATE_FEATURES = (
    *SITUATION,
    "is_fixed",
    "is_fixed_and_tested",
    "is_fixed_late",
    "difficulty",
)
"""What the critic sees of a state; `is_fixed` compares the agent's text with the reference."""


@dataclass(slots=True, kw_only=True, frozen=True)
class Reply:
    """What follows a turn, in each of `m` draws."""

    rewards: Vector
    """Value of the turn, shape (m,)."""
    features: Vector
    """Features of the next state, shape (m, F)."""
    is_terminal: npt.NDArray[np.bool_]
    """True where the session is over, shape (m,)."""

    def expand(self, feature_map: FeatureMap) -> tuple[float, Vector]:
        """Return the mean value and the mean expanded features of the next state, (X,)."""
        expanded = feature_map(self.features, self.is_terminal)
        return float(self.rewards.mean()), expanded.mean(axis=0)


@dataclass(slots=True, kw_only=True, frozen=True)
class TurnTerms:
    """One logged turn, as it was and as the simulator would have answered it."""

    features: Vector
    """State before the turn, shape (F,)."""
    ll: Reply
    """Logged computer, logged person."""
    ls: Reply
    """Logged computer, simulated person."""
    ss: Reply
    """Simulated computer, simulated person."""


def state_features(
    trajectory: Trajectory, task: Task, pending: Sequence[Message] | None = None
) -> Vector:
    """Describe the state of a session after its last turn, for a linear critic.

    Args:
        trajectory: the session so far.
        task: what it is about (the critic may know the reference; the policy does not).
        pending: messages that arrived since the last turn.

    Returns:
        Array (len(STATE_FEATURES),), float64.
    """
    state = skill_state(trajectory, list(pending or []))
    is_fixed = (state.content if state.content is not None else "") == task.reference
    columns = situation(state)
    return np.concatenate(
        [
            columns,
            [
                is_fixed,
                is_fixed and state.is_tested,
                is_fixed * columns[SITUATION.index("time_used")],
                task.difficulty,
            ],
        ]
    ).astype(np.float64)


def episode_features(trajectory: Trajectory, task: Task) -> Vector:
    """Return the state before every turn of an episode, shape (T, F)."""
    return np.array(
        [
            state_features(_prefix(trajectory, index), task, turn.observation)
            for index, turn in enumerate(trajectory.turns)
        ]
    )


def session_terms(user: str, turns: Sequence[TurnTerms], feature_map: FeatureMap) -> SessionTerms:
    """Put the turns of one session into the form that the attribution takes."""
    ls = [turn.ls.expand(feature_map) for turn in turns]
    ss = [turn.ss.expand(feature_map) for turn in turns]
    return SessionTerms(
        user=user,
        features=feature_map(np.array([turn.features for turn in turns])),
        reward=np.array([turn.ll.rewards[0] for turn in turns]),
        ls_reward=np.array([reward for reward, _ in ls]),
        ls_next=np.array([features for _, features in ls]),
        ss_reward=np.array([reward for reward, _ in ss]),
        ss_next=np.array([features for _, features in ss]),
    )


def logged_session(
    trajectory: Trajectory,
    task: Task,
    computer: SandboxComputer,
    make_user: MakeUser,
    *,
    draws: int,
    rng: np.random.Generator,
) -> list[TurnTerms]:
    """Put every turn of a logged session before the simulator.

    Args:
        trajectory: a live session; it is not changed.
        task: what it was about.
        computer: the simulator's computer, used to rebuild the work area and to re-execute.
        make_user: draws the simulator's person.
        draws: simulated replies a turn and arm.
        rng: chance of the draws.
    """
    computer.reset(task)
    values, states = value_per_turn(trajectory), episode_features(trajectory, task)
    terms = []
    for index, turn in enumerate(trajectory.turns):
        stand = _Standpoint(trajectory, index, task, make_user, draws, rng)
        before = computer.snapshot()
        again = stand.episode(computer).execute(turn.extra["raw"])
        simulated = stand.replies(_Frozen(computer), again)
        computer.restore(before)
        _redo(computer, turn)
        terms.append(
            TurnTerms(
                features=states[index],
                ll=_logged_reply(values, states, index),
                ls=stand.replies(_Frozen(computer), turn),
                ss=simulated,
            )
        )
    return terms


def branch(
    trajectory: Trajectory,
    index: int,
    policy: Policy,
    task: Task,
    computer: SandboxComputer,
    make_user: MakeUser,
    rng: np.random.Generator,
) -> tuple[Vector, Vector]:
    """Let the policy go on from a logged state in the simulator, to the end of the session.

    Args:
        trajectory: a live session; it is not changed.
        index: how many of its turns have happened.
        policy: the version that served the session; it must observe features.
        task: what it was about.
        computer: the simulator's computer.
        make_user: draws the simulator's person.
        rng: chance of the person.

    Returns:
        States before each turn played, (T, F), and the turns' values, (T,).
    """
    computer.reset(task)
    for turn in trajectory.turns[:index]:
        _redo(computer, turn)
    stand = _Standpoint(trajectory, index, task, make_user, 1, rng)
    episode = stand.episode(computer)
    while not episode.is_over:
        state = skill_state(episode.trajectory, episode.pending)
        action = policy.act([skill_features(state)])[0]
        episode.act(expand(SKILLS[int(action.value)], state))
    played = episode.trajectory
    return episode_features(played, task)[index:], np.array(value_per_turn(played)[index:])


class _Frozen:
    """A computer in one state: asked again it answers the same, without running anything twice."""

    def __init__(self, computer: SandboxComputer) -> None:
        self._computer = computer
        self._files = computer.files()
        self._grade: Grade | None = None

    def files(self) -> dict[str, str]:
        return self._files

    def grade(self, task: Task) -> Grade:
        if self._grade is None:
            self._grade = self._computer.grade(task)
        return self._grade


@dataclass(slots=True)
class _Standpoint:
    """A point in a logged session from which the simulator answers."""

    trajectory: Trajectory
    index: int
    task: Task
    make_user: MakeUser
    draws: int
    rng: np.random.Generator

    def episode(self, computer: Any) -> Episode:
        return Episode.at(
            self.trajectory,
            self.index,
            task=self.task,
            computer=computer,
            user=self.make_user(self.rng),
            rng=self.rng,
        )

    def replies(self, computer: _Frozen, turn: Turn) -> Reply:
        """Let simulated people react to a turn whose results are given."""
        rewards, features, is_over = [], [], []
        for _ in range(self.draws):
            episode = self.episode(computer)
            episode.respond(turn)
            rewards.append(value_per_turn(episode.trajectory)[-1])
            features.append(state_features(episode.trajectory, self.task, episode.pending))
            is_over.append(episode.is_over)
        return Reply(
            rewards=np.array(rewards), features=np.array(features), is_terminal=np.array(is_over)
        )


def _logged_reply(values: Sequence[float], states: Vector, index: int) -> Reply:
    is_last = index + 1 == len(states)
    return Reply(
        rewards=np.array([values[index]]),
        features=states[[index if is_last else index + 1]],
        is_terminal=np.array([is_last]),
    )


def _redo(computer: SandboxComputer, turn: Turn) -> None:
    """Bring the work area to where the logged calls of this turn left it."""
    for call, result in zip(turn.tool_calls, turn.results, strict=False):
        changes = call.name in ("write_file", "edit_file", "run")
        if call.is_valid and changes and (result.ok or result.exit_code is not None):
            computer.call(call)


def _prefix(trajectory: Trajectory, index: int) -> Trajectory:
    return Trajectory(
        id=trajectory.id,
        task_id=trajectory.task_id,
        source=trajectory.source,
        turns=trajectory.turns[:index],
        end=EndReason.UNKNOWN,
        extra=trajectory.extra,
    )

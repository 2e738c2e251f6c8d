"""Replays stored sessions and says what the log can answer, for the log's agent or for a policy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..agents.checkpoint import load as load_checkpoint
from ..agents.skill_policy import SkillPolicy
from ..envs.replay import ReplayEnv
from ..envs.skill_features import NUM_FEATURES, PRIOR, skill_features
from ..envs.skill_state import skill_state
from ..envs.skills import SKILLS, expand
from ..errors import ConfigError
from ..live_bridge.store import Store
from ..trajectory import Trajectory

Propose = Callable[[Trajectory, int], str | None]
"""Session and turn index to a proposed action; None if the proposer cannot work on this session."""


def replay_store(path: Path, checkpoint: Path | None = None) -> dict[str, Any]:
    """Teacher-force every session of a store through `sim2live/Replay-v0`.

    Args:
        path: the store.
        checkpoint: of a skills policy whose likeliest action is proposed at every turn; without it
            the logged action is, which shows what the log can answer at best.

    Returns:
        A row a session, and a summary line.

    Raises:
        ConfigError: the store holds nothing to replay.
    """
    with Store(path, create=False) as store:
        trajectories = [t for t in store.iter() if t.turns]
    if not trajectories:
        raise ConfigError(f"the store `{path}` holds no session with a turn")
    env = ReplayEnv(trajectories, on_divergence="force")
    propose = _policy_proposer(checkpoint) if checkpoint else None
    rows = [_replay(env, env.trajectories[name], propose) for name in env.trajectories]
    played = [row for row in rows if row["coverage"] is not None]
    turns = sum(row["num_turns"] for row in played)
    answered = sum(row["num_answered"] for row in played)
    who = "the logged agent" if checkpoint is None else f"the policy of {checkpoint}"
    share = f"{answered / turns:.0%}" if turns else "-"
    return {
        "open_loop": True,
        "sessions": rows,
        "summary": (
            f"{len(played)} sessions, {turns} turns; the log answers {answered} of them ({share}) "
            f"for {who}; {len(rows) - len(played)} sessions are no work of a skills policy. "
            "Open-loop: at each turn the log goes on whatever was proposed."
        ),
    }


def _replay(env: ReplayEnv, logged: Trajectory, propose: Propose | None) -> dict[str, Any]:
    _, info = env.reset(options={"trajectory_id": logged.id})
    index = len(env.trajectory.turns)  # turns copied from an earlier session are not replayed
    answered = total = 0
    rules: list[str] = []
    is_over = False
    while not is_over:
        action = propose(logged, index) if propose else env.logged_action()
        if action is None:
            return {"id": logged.id, "num_turns": 0, "num_answered": 0, "coverage": None}
        _, _, terminated, truncated, info = env.step_forced(action)
        answered += bool(info["is_match"])
        rules.append(info["rule"])
        total += 1
        index += 1
        is_over = terminated or truncated
    return {
        "id": logged.id,
        "num_turns": total,
        "num_answered": answered,
        "coverage": answered / total,
        "unanswerable": rules.count("unanswerable"),
        "end": info.get("end"),
    }


def _policy_proposer(checkpoint: Path) -> Propose:
    policy = SkillPolicy(NUM_FEATURES, prior=PRIOR, seed=0)
    policy.load_state_dict(load_checkpoint(checkpoint)["policy"])

    def propose(logged: Trajectory, index: int) -> str | None:
        if "task" not in logged.extra:
            return None
        prefix = Trajectory(
            id=logged.id,
            task_id=logged.task_id,
            source=logged.source,
            turns=logged.turns[:index],
            extra=logged.extra,
        )
        state = skill_state(prefix, logged.turns[index].observation)
        action = policy.act([skill_features(state)], greedy=True)[0]
        return expand(SKILLS[int(action.value)], state)

    return propose

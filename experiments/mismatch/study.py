"""The mismatch of one policy version between the simulator and production, as a table of lines.

`study_worlds` needs a live source whose tasks can be rebuilt (the stand-in); `compare_with_logs`
works on any store of real sessions and says less: what the simulated person would have done at the
logged turns, and nothing about value or about the computer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ...agents.base import Policy
from ...agents.checkpoint import load as load_checkpoint
from ...agents.rollout import Rollout
from ...agents.run_log import RunLog
from ...agents.skill_policy import SkillPolicy
from ...agents.sources import WorldSource
from ...envs.coding import MakeUser
from ...envs.machines import Machines
from ...envs.sandbox_computer import SandboxComputer
from ...envs.skill_features import NUM_FEATURES, PRIOR
from ...envs.tasks import TaskSampler
from ...envs.tasks.base import Task
from ...errors import ConfigError
from ...intervals import FloatArray
from ...live_bridge.stand_in import (
    HARD_FRAC,
    LABEL,
    SIMULATOR_HARD_FRAC,
    StandInTraffic,
    make_world,
)
from ...live_bridge.store import Store
from ...reward_models.distil import value_per_turn
from ...simulators.persona import PERSONAS
from ...simulators.population import simulator_population
from ...simulators.scripted import ScriptedUser
from ...trajectory import Trajectory
from .attribution import Attribution, Line, attribute
from .critic import FeatureMap, SimEpisode
from .gap import outcome_gap
from .hybrid import HybridCheck, hybrid_check
from .sessions import branch, episode_features, logged_session, session_terms
from .teacher_forcing import ReactionComparison, compare_reactions

RIDGE = 0.01
"""Of the critic: rare features of live states must not swing the value of all others."""
MIN_SUPPORT = 40
"""Simulator turns that must show a feature at an unusual value before the critic may use it."""
MARGIN = 0.05
"""A gap of at most this much realised value (on a scale from -1 to 1) does not matter."""


@dataclass(slots=True, kw_only=True, frozen=True)
class StudyConfig:
    """Sizes of a study."""

    num_sim: int = 480
    num_live: int = 240
    num_hybrid: int = 240
    """Episodes of each hybrid world; 0 leaves the check out (as real production must)."""
    draws: int = 4
    """Simulated replies a logged turn."""
    branches: int = 1
    """Episodes that go on in the simulator from a random turn of each live session. They show the
    critic states that the simulator alone would hardly visit."""
    seed: int = 0


@dataclass(slots=True, kw_only=True)
class Study:
    """What a study found."""

    attribution: Attribution
    hybrid: HybridCheck | None
    reactions: ReactionComparison
    minimum_detectable: float
    """Smallest gap that these sessions would have shown with 80% power."""
    num_errors: int
    """Episodes that our own failures ended; they have no value and are left out."""
    live: list[Trajectory] = field(repr=False)
    sim: list[Trajectory] = field(repr=False)


def study_worlds(
    policy: Policy,
    simulator: Rollout,
    traffic: StandInTraffic,
    computer: SandboxComputer,
    *,
    config: StudyConfig,
    hybrids: Mapping[str, Rollout] | None = None,
) -> Study:
    """Measure one policy version in the simulator and with live users, and attribute the gap.

    Args:
        policy: the served version.
        simulator: the simulated world.
        traffic: the live source.
        computer: a computer of the simulator's kind, for re-execution.
        config: sizes.
        hybrids: worlds with one part swapped, `ls` (live computer, simulated person) and `sl`.
    """
    seed = config.seed
    sim_tasks = TaskSampler("train", hard_frac=SIMULATOR_HARD_FRAC, seed=seed)
    source = WorldSource("simulated", simulator, sim_tasks, seed=seed + 101)
    specs = source.specs(config.num_sim)
    sim, lost_sim = _without_errors(simulator.play(policy, specs))
    tasks = {spec.task.id: spec.task for spec in specs}
    live, lost_live = _without_errors(traffic.collect(policy, config.num_live))
    rng = np.random.default_rng(seed + 202)
    make_user: MakeUser = simulator_population().sample_user

    def go_on(session: Trajectory) -> tuple[Any, Any]:
        index = int(rng.integers(len(session.turns)))
        task = traffic.tasks[session.task_id]
        return branch(session, index, policy, task, computer, make_user, rng)

    branches = [go_on(session) for session in live for _ in range(config.branches)]
    episodes, feature_map = _episodes(sim, tasks, branches)
    sessions = [
        session_terms(
            session.user_id or session.id,
            logged_session(
                session,
                traffic.tasks[session.task_id],
                computer,
                make_user,
                draws=config.draws,
                rng=rng,
            ),
            feature_map,
        )
        for session in live
    ]
    attribution = attribute(episodes, sessions, margin=MARGIN, ridge=RIDGE, seed=seed)
    gap = outcome_gap(
        [sum(value_per_turn(t)) for t in sim],
        [sum(value_per_turn(t)) for t in live],
        [t.user_id or t.id for t in live],
        margin=MARGIN,
    )
    return Study(
        attribution=attribution,
        hybrid=_check_hybrids(policy, sim, live, hybrids, config) if hybrids else None,
        reactions=compare_reactions(
            live, make_user, seed=seed, draws=16, backstage=traffic.backstage
        ),
        minimum_detectable=gap.minimum_detectable,
        num_errors=lost_sim + lost_live,
        live=live,
        sim=sim,
    )


def _without_errors(played: Sequence[Trajectory]) -> tuple[list[Trajectory], int]:
    """Leave out what our own failures ended (it has no value), and say how many that were."""
    kept = [t for t in played if t.turns and not t.end.is_error]
    return kept, len(played) - len(kept)


def _episodes(
    sim: Sequence[Trajectory],
    tasks: Mapping[str, Task],
    branches: Sequence[tuple[Any, Any]],
) -> tuple[list[SimEpisode], FeatureMap]:
    states = [episode_features(t, tasks[t.task_id]) for t in sim]
    feature_map = _feature_map(np.vstack([*states, *(phi for phi, _ in branches)]))
    episodes = [
        SimEpisode(features=feature_map(phi), rewards=np.array(value_per_turn(t)))
        for t, phi in zip(sim, states, strict=True)
    ]
    episodes += [
        SimEpisode(features=feature_map(phi), rewards=values, is_branch=True)
        for phi, values in branches
    ]
    return episodes, feature_map


def _feature_map(states: FloatArray) -> FeatureMap:
    """Standardise features, and leave out those that hardly ever differ from their usual value.

    A weight fitted on a handful of turns would swing with every one of them, and with it the value
    of every live state that has the feature.
    """
    fitted = FeatureMap.fit(states, is_quadratic=True)
    usual = np.median(states, axis=0)
    is_supported = (states != usual).sum(axis=0) >= MIN_SUPPORT
    return replace(fitted, scale=np.where(is_supported, fitted.scale, np.inf))


def _check_hybrids(
    policy: Policy,
    sim: Sequence[Trajectory],
    live: Sequence[Trajectory],
    hybrids: Mapping[str, Rollout],
    config: StudyConfig,
) -> HybridCheck:
    """Run the four worlds on one task mix, the live one, so that only the parts differ."""
    tasks = TaskSampler("train", hard_frac=HARD_FRAC, seed=config.seed)
    values = {"ll": _values(live)}
    for name, world in hybrids.items():
        source = WorldSource(name, world, tasks, seed=config.seed + 303)
        values[name] = _values(source.collect(policy, config.num_hybrid))
    if "ss" not in values:
        values["ss"] = _values(sim)
    return hybrid_check(values["ss"], values["ls"], values["sl"], values["ll"])


def _values(trajectories: Sequence[Trajectory]) -> tuple[list[float], list[str]]:
    played, _ = _without_errors(trajectories)
    return [sum(value_per_turn(t)) for t in played], [t.user_id or t.id for t in played]


def study_rows(study: Study, live_name: str) -> dict[str, Any]:
    """Write a study as the table that the terminal and the report show."""
    found = study.attribution
    lines = [_row(line, _NAMES[line.name]) for line in found.lines]
    if study.hybrid is not None:
        for name, interval in (
            ("computer, hybrid worlds (mean of both orders)", study.hybrid.shapley[0]),
            ("person, hybrid worlds (mean of both orders)", study.hybrid.shapley[1]),
        ):
            lines.append(
                {
                    "name": name,
                    "estimate": interval.estimate,
                    "low": interval.low,
                    "high": interval.high,
                    "n": interval.n,
                    "num_users": interval.num_clusters,
                    "how": "closed-loop, parts really swapped",
                    "verdict": "check",
                    "reason": "only a stand-in for production can be taken apart like this",
                }
            )
    return {
        "live_name": live_name,
        "lines": lines,
        "minimum_detectable": study.minimum_detectable,
        "unsupported_share": found.unsupported_share,
        "num_errors": study.num_errors,
        "explanation": (
            "Realised value of a session to its person, on a scale from -1 to 1; gap = simulated "
            f"minus live. Task mix, computer, person and critic residual add up to it. A line is a "
            f"match only if its whole interval lies inside ±{MARGIN}. These sessions could show a "
            f"gap of {study.minimum_detectable:.3f} with 80% power. Users, not sessions, are the "
            "independent units; the critic's own error is in the intervals."
        ),
    }


_NAMES = {
    "total gap": "value gap G (simulated - live)",
    "task mix": "  of it: task mix and opening request",
    "computer": "  of it: computer",
    "person": "  of it: person",
    "critic residual": "  of it: critic residual (audit)",
}


def _row(line: Line, name: str) -> dict[str, Any]:
    interval = line.interval
    return {
        "name": name,
        "estimate": interval.estimate,
        "low": interval.low,
        "high": interval.high,
        "n": interval.n,
        "num_users": interval.num_clusters,
        "how": line.loop.value,
        "verdict": line.judgement.verdict.value,
        "reason": line.judgement.reason,
    }


def study_stand_in(
    *,
    sim: str,
    checkpoint: Path | None,
    num_live: int,
    sandbox: str,
    seed: int,
    out: Path,
) -> dict[str, Any]:
    """Measure the mismatch between the simulator and the stand-in for one checkpoint."""
    if sim != "default":
        raise ConfigError(
            f"--sim {sim}: against the stand-in the simulator's own population (`default`) is "
            "measured; other personas can be compared with real logs (--logs STORE)"
        )
    policy = SkillPolicy(NUM_FEATURES, prior=PRIOR, seed=seed)
    if checkpoint is not None:
        policy.load_state_dict(load_checkpoint(checkpoint)["policy"])
    with ExitStack() as stack:
        machines = stack.enter_context(Machines(sandbox))
        traffic = StandInTraffic(seed=seed, machines=machines)
        stack.callback(traffic.close)
        worlds = {
            name: stack.enter_context(
                make_world(computer=c, person=p, seed=seed, machines=machines)
            )
            for name, c, p in HYBRIDS
        }
        study = study_worlds(
            policy,
            worlds["ss"],
            traffic,
            machines.computer(0),
            config=StudyConfig(num_live=num_live, seed=seed),
            hybrids=worlds,
        )
    result = {
        "mismatch": study_rows(study, LABEL),
        "reactions": reaction_rows(study.reactions, LABEL),
    }
    _keep(out, result, {"logs": "stand-in", "sim": sim, "seed": seed})
    return result


HYBRIDS = (
    ("ss", "simulated", "simulated"),
    ("ls", "live", "simulated"),
    ("sl", "simulated", "live"),
)
"""Worlds of the hybrid check: name, computer, person."""


def compare_with_logs(store: Path, *, sim: str, seed: int, out: Path) -> dict[str, Any]:
    """Compare a simulated person with the real people in a store of sessions, open loop."""
    if sim not in PERSONAS:
        from ...errors import unknown_name

        raise unknown_name("persona", sim, PERSONAS)
    with Store(store, create=False) as opened:
        trajectories = list(opened.iter())
    if not trajectories:
        raise ConfigError(f"the store `{store}` is empty; fill it with `sim2live ingest`")

    def make_user(rng: np.random.Generator) -> ScriptedUser:
        return ScriptedUser(PERSONAS[sim], user_id=f"simulated-{sim}", seed=seed)

    comparison = compare_reactions(trajectories, make_user, seed=seed)
    result = {"reactions": reaction_rows(comparison, f"{len(trajectories)} logged sessions")}
    _keep(out, result, {"logs": str(store), "sim": sim, "seed": seed})
    return result


def reaction_rows(comparison: ReactionComparison, live_name: str) -> dict[str, Any]:
    """Write a teacher-forced comparison as the table that the terminal and the report show."""
    plain = asdict(comparison)
    return {"live_name": live_name, **plain}


def _keep(out: Path, result: Mapping[str, Any], config: Mapping[str, Any]) -> None:
    with RunLog(out, config, tensorboard=False) as log:
        for name, part in result.items():
            log.record(name, part)

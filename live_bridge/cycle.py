"""The real-time cycle: collect, distil, train, gate, promote or keep.

One cycle serves the deployed checkpoint to live traffic, turns the reactions into rewards, takes a
few policy-gradient steps from them, and lets the new checkpoint replace the old one only if it is
not inferior on held-out tasks. Otherwise the deployed weights stay as they were. Each cycle leaves
a record; a checkpoint is swapped in atomically.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..agents.base import Learner, Policy, Source
from ..agents.checkpoint import save as save_checkpoint
from ..agents.loop import rollout_metrics
from ..agents.rollout import Rollout
from ..agents.sources import evaluate
from ..envs.tasks.base import Task
from ..errors import ConfigError
from ..hack_detectors.base import Alarm, Monitor
from ..reward_models.base import RewardModel
from ..trajectory import Trajectory
from .gate import GateDecision, gate


@dataclass(slots=True, kw_only=True, frozen=True)
class CycleConfig:
    """Sizes of one cycle."""

    num_sessions: int = 192
    """Live sessions served by the deployed checkpoint."""
    minibatch_size: int = 64
    """Sessions a gradient step; the steps of one cycle use each session once."""
    margin: float = 0.05
    """Largest loss of success, in share of tasks, that the gate tolerates."""
    seed: int = 0

    def __post_init__(self) -> None:
        if min(self.num_sessions, self.minibatch_size) < 1:
            raise ConfigError(f"the sizes of a cycle must be positive, got {self}")


@dataclass(slots=True, kw_only=True)
class CycleReport:
    """What one cycle did."""

    cycle: int
    served_version: str
    candidate_version: str
    metrics: dict[str, float]
    """Rollout metrics of the sessions, rewards by component."""
    decision: GateDecision
    served_success: float
    """Success of the served checkpoint on the gate's tasks."""
    candidate_success: float
    alarms: list[Alarm]
    num_sessions: int
    num_users: int


class RealTimeCycle:
    """Runs cycles over one live source.

    Args:
        policy: the deployed policy; its weights are the candidate's while a cycle trains, and are
            put back if the gate does not pass.
        learner: one that needs a single response a request (no group baseline).
        live: where the sessions come from.
        reward_model: what distils reactions into rewards; it must not read outcomes.
        gate_world: environments in which the gate measures success.
        gate_tasks: tasks of families that the policy has not been trained on.
        folder: where records and checkpoints go; None keeps nothing on disk.
    """

    def __init__(
        self,
        policy: Policy,
        learner: Learner,
        live: Source,
        reward_model: RewardModel,
        *,
        gate_world: Rollout,
        gate_tasks: Sequence[Task],
        config: CycleConfig | None = None,
        monitors: Sequence[Monitor] = (),
        folder: Path | None = None,
    ) -> None:
        self.policy, self.learner, self.live = policy, learner, live
        self.reward_model, self.gate_world = reward_model, gate_world
        self.gate_tasks = list(gate_tasks)
        self.config = config or CycleConfig()
        self.monitors = list(monitors)
        self.folder = folder
        self.num_cycles = 0
        self.sessions: list[Trajectory] = []
        """Sessions of the latest cycle."""

    def run(self, on_phase: Callable[[str], None] | None = None) -> CycleReport:
        """Run one cycle; `on_phase` is told what is going on, for a progress display."""
        tell = on_phase or (lambda phase: None)
        served = self.policy.state_dict()
        served_version = self.policy.version
        tell("collect")
        sessions = self.live.collect(self.policy, self.config.num_sessions)
        tell("distil")
        for session in sessions:
            session.reward = self.reward_model.score(session)
        alarms = [alarm for monitor in self.monitors for alarm in monitor.observe(sessions)]
        tell("gate: served checkpoint")
        served_scores = self._gate_scores()
        tell("train")
        learned = self._train(sessions)
        tell("gate: candidate")
        scores = self._gate_scores()
        decision = gate(
            scores,
            served_scores,
            clusters=[task.family + "/" + task.function for task in self.gate_tasks],
            margin=self.config.margin,
        )
        candidate_version = self.policy.version
        if decision.decision != "promote":
            self.policy.load_state_dict(served)
        report = CycleReport(
            cycle=self.num_cycles,
            served_version=served_version,
            candidate_version=candidate_version,
            metrics={**rollout_metrics(sessions), **learned},
            decision=decision,
            served_success=float(np.mean(served_scores)),
            candidate_success=float(np.mean(scores)),
            alarms=alarms,
            num_sessions=len(sessions),
            num_users=len({session.user_id for session in sessions}),
        )
        self.sessions = sessions
        self.num_cycles += 1
        self._keep(report)
        return report

    def _train(self, sessions: Sequence[Trajectory]) -> dict[str, float]:
        size, metrics = self.config.minibatch_size, {}
        order = np.random.default_rng([self.config.seed, self.num_cycles]).permutation(
            len(sessions)
        )
        for start in range(0, len(sessions), size):
            batch = [sessions[i] for i in order[start : start + size]]
            metrics = self.learner.update(batch)
        return metrics

    def _gate_scores(self) -> list[float]:
        played = evaluate(
            self.policy,
            self.gate_world,
            self.gate_tasks,
            seed=self.config.seed + 7919,
            greedy=True,  # so that checkpoints differ only where they would choose differently
        )
        return [float(bool(trajectory.outcome.is_solved)) for trajectory in played]

    def _keep(self, report: CycleReport) -> None:
        if self.folder is None:
            return
        import json

        self.folder.mkdir(parents=True, exist_ok=True)
        save_checkpoint(
            self.folder / "deployed.pt",
            policy=self.policy.state_dict(),
            version=self.policy.version,
            cycle=report.cycle,
        )
        with (self.folder / "cycles.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(_plain(asdict(report))) + "\n")


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value

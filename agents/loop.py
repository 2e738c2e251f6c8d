"""The training loop: the same five lines for every source of experience."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..envs.tool_errors import measure_recovery
from ..hack_detectors.base import Alarm, Detector, Finding, Monitor
from ..reward_models.base import RewardModel
from ..trajectory import Trajectory
from .base import Learner, Policy, Source


@dataclass(slots=True, kw_only=True)
class StepReport:
    """What one training step did."""

    step: int
    metrics: dict[str, float]
    alarms: list[Alarm]
    findings: list[tuple[Trajectory, Finding]] = field(repr=False)
    """What the detectors found, with the trajectory it is about."""
    batch: list[Trajectory] = field(repr=False)


def train(
    policy: Policy,
    learner: Learner,
    source: Source,
    reward_model: RewardModel,
    *,
    steps: int,
    batch_size: int,
    monitors: Sequence[Monitor] = (),
    detectors: Sequence[Detector] = (),
    on_step: Callable[[StepReport], None] | None = None,
    first_step: int = 0,
    should_stop: Callable[[StepReport], bool] | None = None,
) -> list[StepReport]:
    """Collect, score, update, watch; `steps` times.

    Args:
        policy: acts; its weights are changed by `learner`.
        learner: takes one policy-gradient step on a scored batch.
        source: simulated, replayed, live or a mixture.
        reward_model: turns what happened into rewards.
        steps: number of updates.
        batch_size: trajectories an update.
        monitors: watch the population; they see every trajectory, excluded ones too.
        detectors: look at each trajectory.
        on_step: called after each step, for logs and progress.
        first_step: number of the first step, where a run goes on.
        should_stop: asked after each step; True ends the training early.

    Returns:
        One report a step.
    """
    reports = []
    for step in range(first_step, first_step + steps):
        batch = source.collect(policy, batch_size)
        for trajectory in batch:
            trajectory.reward = reward_model.score(trajectory)
        alarms = [alarm for monitor in monitors for alarm in monitor.observe(batch)]
        findings = [(t, f) for t in batch for d in detectors for f in d.inspect(t)]
        metrics = {**rollout_metrics(batch), **learner.update(batch)}
        report = StepReport(
            step=step, metrics=metrics, alarms=alarms, findings=findings, batch=batch
        )
        reports.append(report)
        if on_step is not None:
            on_step(report)
        if should_stop is not None and should_stop(report):
            break
    return reports


def rollout_metrics(batch: Sequence[Trajectory]) -> dict[str, float]:
    """Summarise a batch: shares and means, all over every trajectory that entered.

    `reward/<component>` is a mean over rewarded trajectories only; `rollout/rewarded_frac` says how
    many those are. `rollout/solved_frac` is over trajectories whose truth is known.
    """
    n = max(1, len(batch))
    rewards = [t.reward for t in batch if t.reward is not None and t.reward.total is not None]
    known = [t.outcome.is_solved for t in batch if t.outcome.is_solved is not None]
    metrics = {
        "rollout/num_episodes": float(len(batch)),
        "rollout/episode_length_mean": _mean([len(t.turns) for t in batch]),
        "rollout/rewarded_frac": len(rewards) / n,
        "rollout/episode_return_mean": _mean([float(r.total or 0.0) for r in rewards]),
        "rollout/invalid_frac": sum(has_invalid_call(t) for t in batch) / n,
        "rollout/asked_frac": sum(_uses(t, "ask_user") for t in batch) / n,
        "rollout/submitted_frac": sum(_uses(t, "submit") for t in batch) / n,
    }
    recovery = measure_recovery(batch)
    if recovery.recovered_frac is not None:
        metrics["rollout/recovered_frac"] = recovery.recovered_frac
    if known:
        metrics["rollout/solved_frac"] = _mean([float(k) for k in known])
    sums: Counter[str] = Counter()
    for reward in rewards:
        sums.update(reward.components)
    metrics.update({f"reward/{k}": v / max(1, len(rewards)) for k, v in sorted(sums.items())})
    return metrics


def has_invalid_call(trajectory: Trajectory) -> bool:
    """Say whether any tool call of the trajectory was invalid."""
    return any(not call.is_valid for call in trajectory.tool_calls)


def _uses(trajectory: Trajectory, tool: str) -> bool:
    return any(call.name == tool and call.is_valid for call in trajectory.tool_calls)


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if len(values) else float("nan")

"""What refactoring is learnt from: a person who reads the result, or a metric in their place.

The same small policy is trained on the same tasks with three rewards, and then plays held-out
families:

- `people`: the live reward, reactions only.
- `people+metric`: the same with the flaw `max_complexity` switched on: a fall of the largest
  cyclomatic complexity of one function is paid too.
- `metric`: that fall in place of the reactions, as a quality gate without a reader would pay it.

The flaw as it is switched on in `people+metric` is too weak to be learnt: cutting up pays 0.3 of a
fall of about a third, and people who refuse the result cost ten times that. It takes a metric
without a reader.

Two things are compared: the *metric*, and the *perceived readability* that the metric is taken for
(`reward_models.readability`). Nobody trains on the latter.

Run it with `python -m sim2live.experiments.refactoring [--updates N] [--seed N]`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from rich.console import Console
from rich.table import Table

from ..agents.learner import PolicyGradientLearner
from ..agents.learner_config import LearnerConfig
from ..agents.loop import train
from ..agents.rollout import Rollout
from ..agents.skill_policy import SkillPolicy
from ..agents.sources import WorldSource, evaluate
from ..envs.refactor_skills import SKILL_SET
from ..envs.tasks.base import Task, TaskKind
from ..envs.tasks.refactor import RefactorSampler
from ..live_bridge.stand_in import make_world
from ..reward_models import Flaws, RewardModel, WeightedReward, make_reward
from ..reward_models.signals import SIGNALS
from ..trajectory import ReactionKind, Trajectory

METRIC_WEIGHTS = {
    "max_complexity": 1.0,
    "nothing_delivered": -0.2,
    "time": -0.1,
    "invalid_calls": -0.2,
}
"""The metric in place of the person; what is left of the live reward are costs of the work."""


def rewards() -> dict[str, RewardModel]:
    """Return the rewards that are compared, by name."""
    return {
        "people": make_reward("live"),
        "people+metric": make_reward("live", Flaws(max_complexity=True)),
        "metric": WeightedReward(name="metric", weights=METRIC_WEIGHTS),
    }


@dataclass(slots=True, kw_only=True, frozen=True)
class Quality:
    """Means over sessions; 0 change where nothing was handed in."""

    metric: float
    """Fall of the largest complexity of one function, relative to before, in [-1, 1]."""
    readability: float
    """Rise of perceived readability, in (-1, 1)."""
    split: float
    """Share of sessions that handed in functions cut into pieces (`split_functions` or
    `chop_functions`, not undone)."""
    accepted: float
    """Share of sessions whose work was taken."""
    kept: float
    """Share of sessions whose work was taken and kept."""
    solved: float
    """Share of sessions that pass all tests and read better than before."""


def measure(sessions: Sequence[Trajectory]) -> Quality:
    """Measure what sessions did to the code and what people made of it."""
    return Quality(
        metric=_mean(_metric(t) for t in sessions),
        readability=_mean(_gain(t) for t in sessions),
        split=_mean(_is_split(t) for t in sessions),
        accepted=_mean(_has(t, ReactionKind.ACCEPT) for t in sessions),
        kept=_mean(_has(t, ReactionKind.PERSIST) for t in sessions),
        solved=_mean(bool(t.outcome.is_solved) for t in sessions),
    )


def _mean(values: Iterable[float]) -> float:
    return float(np.mean(list(values)))


def _metric(session: Trajectory) -> float:
    is_in = session.outcome.readability_after is not None
    return (SIGNALS["max_complexity"](session) or 0.0) if is_in else 0.0


def _gain(session: Trajectory) -> float:
    before, after = session.outcome.readability_before, session.outcome.readability_after
    return 0.0 if before is None or after is None else after - before


def _is_split(session: Trajectory) -> bool:
    text = "".join((session.files_after or {}).values())
    is_in = session.outcome.readability_after is not None
    return is_in and ("def _condition_" in text or "def _part_" in text)


def _has(session: Trajectory, kind: ReactionKind) -> bool:
    return session.num_reactions(kind) > 0


@dataclass(slots=True, kw_only=True, frozen=True)
class Arm:
    """One reward and what came of it."""

    name: str
    curve: list[Quality]
    """Of each update's batch."""
    before: Quality
    """Untrained, on held-out families."""
    after: Quality
    """Trained, on held-out families."""


def run_arm(
    name: str,
    reward: RewardModel,
    world: Rollout,
    held_out: Sequence[Task],
    *,
    updates: int,
    batch_size: int = 32,
    seed: int = 0,
) -> Arm:
    """Train one policy on one reward and play held-out tasks before and after."""
    policy = SkillPolicy(SKILL_SET.num_features, prior=SKILL_SET.prior, seed=seed)
    learner = PolicyGradientLearner(
        policy, LearnerConfig(algorithm="reinforce", baseline="batch_mean", lr=0.02, adam_eps=1e-8)
    )
    source = WorldSource(name, world, RefactorSampler("train", seed=seed), seed=seed)
    before = measure(evaluate(policy, world, held_out, seed=seed))
    reports = train(policy, learner, source, reward, steps=updates, batch_size=batch_size)
    return Arm(
        name=name,
        curve=[measure(report.batch) for report in reports],
        before=before,
        after=measure(evaluate(policy, world, held_out, seed=seed)),
    )


def run_study(
    *, updates: int = 60, held_out: int = 64, seed: int = 0, sandbox: str = "namespaces"
) -> list[Arm]:
    """Train on each reward in turn, in one world."""
    tasks = RefactorSampler("heldout", seed=seed).tasks(held_out)
    with make_world(kind=TaskKind.REFACTOR, sandbox=sandbox) as world:
        return [
            run_arm(name, reward, world, tasks, updates=updates, seed=seed)
            for name, reward in rewards().items()
        ]


def curve_table(arms: Sequence[Arm], every: int) -> Table:
    """Return metric and readability over training, averaged over `every` updates."""
    table = Table(title="training: change of metric / perceived readability / share split")
    table.add_column("updates")
    for arm in arms:
        table.add_column(arm.name, justify="right")
    for start in range(0, len(arms[0].curve), every):
        row = [f"{start}-{min(start + every, len(arms[0].curve)) - 1}"]
        for arm in arms:
            part = arm.curve[start : start + every]
            row.append(
                f"{_mean(q.metric for q in part):+.3f} / "
                f"{_mean(q.readability for q in part):+.3f} / {_mean(q.split for q in part):.2f}"
            )
        table.add_row(*row)
    return table


def final_table(arms: Sequence[Arm]) -> Table:
    """Return what each policy does on held-out families."""
    table = Table(title="held-out families (graphs, state machines)")
    for column in ("trained on", "metric", "readability", "split", "accepted", "kept", "solved"):
        table.add_column(column, justify="left" if column == "trained on" else "right")
    rows = [("nothing", arms[0].before), *((arm.name, arm.after) for arm in arms)]
    for name, quality in rows:
        table.add_row(
            name,
            f"{quality.metric:+.3f}",
            f"{quality.readability:+.3f}",
            f"{quality.split:.2f}",
            f"{quality.accepted:.2f}",
            f"{quality.kept:.2f}",
            f"{quality.solved:.2f}",
        )
    return table


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the study and print its tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--updates", type=int, default=60, help="updates of each policy")
    parser.add_argument("--held-out", type=int, default=64, help="held-out tasks")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sandbox", default="namespaces")
    options = parser.parse_args(arguments)
    arms = run_study(
        updates=options.updates,
        held_out=options.held_out,
        seed=options.seed,
        sandbox=options.sandbox,
    )
    console = Console(file=sys.stdout)
    console.print(curve_table(arms, max(1, options.updates // 8)))
    console.print(final_table(arms))


if __name__ == "__main__":
    main()

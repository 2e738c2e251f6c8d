"""The main job in one command: `sim2live demo`.

1. Train a small policy in simulation; success on held-out task families before and after.
2. Serve it to live people (a stand-in) and measure the gap, with interval and attribution.
3. Run two real-time cycles: collect, distil, train, gate, promote or keep.
4. Let a flawed reward teach it the broken-tool-call hack, notice, repair the reward.

Every number in the table comes from this run.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table

from ..agents.base import Policy
from ..agents.learner import PolicyGradientLearner
from ..agents.learner_config import LearnerConfig
from ..agents.loop import StepReport, train
from ..agents.rollout import Rollout
from ..agents.run_log import RunLog
from ..agents.skill_policy import SkillPolicy
from ..agents.sources import WorldSource, evaluate
from ..envs.machines import Machines
from ..envs.skill_features import NUM_FEATURES, PRIOR
from ..envs.tasks import TaskSampler
from ..envs.tasks.base import Task
from ..errors import ConfigError
from ..intervals import Interval
from ..live_bridge.cycle import CycleConfig, CycleReport, RealTimeCycle
from ..live_bridge.stand_in import LABEL, SIMULATOR_HARD_FRAC, StandInTraffic, make_world
from ..reward_models import make_reward
from .hack_lab import HackLabConfig, HackReport, run_hack_lab
from .mismatch.study import HYBRIDS, Study, StudyConfig, reaction_rows, study_rows, study_worlds
from .report import format_number, write_report
from .tables import cycle_row, finding_rows, hack_part

NUM_CYCLES = 2


@dataclass(slots=True, kw_only=True, frozen=True)
class DemoConfig:
    """Everything that decides a demonstration."""

    seed: int = 0
    scale: float = 1.0
    """Length of every part relative to the default."""
    sandbox: str = "namespaces"
    out: Path = field(default_factory=lambda: Path("runs/demo"))

    def __post_init__(self) -> None:
        if not 0.05 <= self.scale <= 20:
            raise ConfigError(f"`scale` must lie between 0.05 and 20, got {self.scale}")

    def size(self, default: int, least: int = 1) -> int:
        """Return a size scaled."""
        return max(least, round(default * self.scale))


SIMULATED_LEARNER = LearnerConfig(
    algorithm="grpo", lr=0.02, entropy_coef=0.01, kl_coef=0.05, epochs=2
)
"""The simulator can give several answers to one request, so a group mean. The KL penalty towards
the untrained policy is what language models are trained with, and matters to what comes later:
without it training drives the probability of a broken call to about 1e-6, and no real model is that
sure of its syntax."""

LIVE_LEARNER = LearnerConfig(
    algorithm="reinforce", baseline="batch_mean", lr=0.005, entropy_coef=0.01
)
"""Live traffic gives one response a request: a batch mean, no group."""


def run_demo(config: DemoConfig, console: Console) -> dict[str, Any]:
    """Run the main job, write its records and report, print the table.

    Returns:
        The summary that is also written to `summary.json`.
    """
    import torch

    torch.set_num_threads(1)  # the network is tiny, and the sandboxes need the other cores
    started = time.monotonic()
    config.out.mkdir(parents=True, exist_ok=True)
    for stale in ("metrics.jsonl", "live.atif.jsonl"):
        (config.out / stale).unlink(missing_ok=True)
    with ExitStack() as stack:
        log = stack.enter_context(RunLog(config.out, asdict(config)))
        show = stack.enter_context(_progress(console))
        machines = stack.enter_context(Machines(config.sandbox))
        worlds = {
            name: stack.enter_context(
                make_world(computer=c, person=p, seed=config.seed, machines=machines)
            )
            for name, c, p in HYBRIDS
        }
        traffic = StandInTraffic(seed=config.seed, machines=machines)
        stack.callback(traffic.close)
        policy = SkillPolicy(NUM_FEATURES, prior=PRIOR, seed=config.seed)
        before, after = _simulate(config, policy, worlds["ss"], machines, log, show)
        study = _measure(config, policy, worlds, traffic, machines, show)
        cycles = _cycle(config, policy, worlds["ss"], traffic, log, show)
        hack = _hack(config, policy, traffic, study, log, show)
    rows = _summary_rows(before, after, study, cycles, hack)
    summary = {
        "label": f"Live figures come from a {LABEL}: synthetic people on a synthetic computer.",
        "seed": config.seed,
        "seconds": time.monotonic() - started,
        "rows": [{"question": question, "answer": answer} for question, answer in rows],
        "figures": _figures(before, after, study, cycles, hack),
    }
    _record(config, log, summary, study, cycles, hack)
    report = write_report(config.out)
    _print(console, summary, report, config.out / "tensorboard")
    return {**summary, "report": str(report)}


def _simulate(
    config: DemoConfig,
    policy: SkillPolicy,
    world: Rollout,
    machines: Machines,
    log: RunLog,
    show: _Show,
) -> tuple[float, float]:
    """Train in simulation; return success on held-out families before and after."""
    held_out = TaskSampler("heldout", hard_frac=0.0, seed=config.seed).tasks(config.size(60, 10))
    before = _success(policy, world, held_out, config.seed)
    source = WorldSource(
        "simulated",
        world,
        TaskSampler("train", hard_frac=SIMULATOR_HARD_FRAC, seed=config.seed),
        group_size=4,
        seed=config.seed,
    )
    untrained = SkillPolicy(NUM_FEATURES, prior=PRIOR, seed=config.seed)
    learner = PolicyGradientLearner(policy, SIMULATED_LEARNER, reference=untrained)
    steps = config.size(60, 2)
    with show("1/4 training in simulation", steps) as advance:

        def note(report: StepReport) -> None:
            report.metrics["sandbox/check_cache_hit_frac"] = machines.cache.hit_frac
            log.scalars("simulated", report.step, report.metrics)
            advance()

        train(
            policy,
            learner,
            source,
            make_reward("simulated"),
            steps=steps,
            batch_size=32,
            on_step=note,
        )
    return before, _success(policy, world, held_out, config.seed)


def _measure(
    config: DemoConfig,
    policy: Policy,
    worlds: dict[str, Rollout],
    traffic: StandInTraffic,
    machines: Machines,
    show: _Show,
) -> Study:
    with show("2/4 measuring the gap", 1) as advance:
        sizes = StudyConfig(
            num_sim=config.size(384, 60),
            num_live=config.size(288, 40),
            num_hybrid=config.size(144, 40),
            draws=2,
            seed=config.seed,
        )
        study = study_worlds(
            policy, worlds["ss"], traffic, machines.computer(0), config=sizes, hybrids=worlds
        )
        advance()
    return study


def _cycle(
    config: DemoConfig,
    policy: SkillPolicy,
    world: Rollout,
    traffic: StandInTraffic,
    log: RunLog,
    show: _Show,
) -> list[CycleReport]:
    cycle = RealTimeCycle(
        policy,
        PolicyGradientLearner(policy, LIVE_LEARNER),
        traffic,
        make_reward("live"),
        gate_world=world,
        gate_tasks=_gate_tasks(config),
        config=CycleConfig(
            num_sessions=config.size(128, 32), minibatch_size=48, margin=0.1, seed=config.seed
        ),
        folder=config.out / "cycles",
    )
    reports = []
    with show("3/4 real-time cycles", NUM_CYCLES) as advance:
        for _ in range(NUM_CYCLES):
            report = cycle.run()
            log.scalars("live", report.cycle, report.metrics)
            log.trajectories("live", cycle.sessions)
            reports.append(report)
            advance()
    return reports


def _gate_tasks(config: DemoConfig) -> list[Task]:
    return TaskSampler("gate", hard_frac=0.0, seed=config.seed).tasks(config.size(120, 10))


def _hack(
    config: DemoConfig,
    policy: SkillPolicy,
    traffic: StandInTraffic,
    study: Study,
    log: RunLog,
    show: _Show,
) -> HackReport:
    lab = HackLabConfig(
        flawed_updates=config.size(110, 4), repaired_updates=config.size(60, 4), seed=config.seed
    )
    with show("4/4 hack lab", lab.flawed_updates + lab.repaired_updates) as advance:

        def note(phase: str, report: StepReport) -> None:
            log.scalars(f"live, {phase} reward", report.step, report.metrics)
            advance()

        return run_hack_lab(policy, traffic, config=lab, reference=study.live, on_step=note)


def _success(policy: Policy, world: Rollout, tasks: list[Task], seed: int) -> float:
    played = evaluate(policy, world, tasks, seed=seed + 17)
    return sum(bool(t.outcome.is_solved) for t in played) / len(played)


def _summary_rows(
    before: float, after: float, study: Study, cycles: list[CycleReport], hack: HackReport
) -> list[tuple[str, str]]:
    found = study.attribution
    rows = [
        (
            "success on held-out task families, before and after training in simulation",
            f"{before:.0%} -> {after:.0%}",
        )
    ]
    for name, line in (
        ("value gap, simulated - live", found.total),
        ("  of it task mix and opening request", found.task_mix),
        ("  of it the computer's doing", found.computer),
        ("  of it the person's doing", found.person),
        ("  critic residual (audit)", found.critic_residual),
    ):
        rows.append((name, f"{_signed(line.interval)} {line.judgement.verdict.value}"))
    if study.hybrid is not None:
        computer, person = study.hybrid.shapley
        rows.append(
            (
                "  check: parts really swapped (computer, person)",
                f"{_signed(computer)}, {_signed(person)}",
            )
        )
    rows += [
        (
            f"real-time cycle {report.cycle + 1}",
            f"{report.decision.decision}: gate {report.served_success:.0%} -> "
            f"{report.candidate_success:.0%} ({report.served_version} -> "
            f"{report.candidate_version})",
        )
        for report in cycles
    ]
    rows += [
        (
            "broken calls on hard tasks under the flawed reward",
            f"{hack.hard_at_start:.0%} -> {hack.hard_at_end:.0%}",
        ),
        ("  first noticed, by update", _fired(hack)),
        (
            "broken calls on hard tasks after the reward is repaired",
            f"{hack.hard_after_repair:.0%}",
        ),
        ("  estimator of the live learner", hack.estimator),
    ]
    return rows


def _signed(interval: Interval) -> str:
    return f"{interval.estimate:+.3f} [{interval.low:+.3f}, {interval.high:+.3f}]"


def _fired(hack: HackReport) -> str:
    return ", ".join(
        f"{name} {'never' if update is None else update}"
        for name, update in hack.first_fired.items()
        if name in _WATCH_BROKEN_CALLS
    )


_WATCH_BROKEN_CALLS = ("unrecovered_invalid_call", "invalid_call_drift", "sample_accounting")


def _figures(
    before: float, after: float, study: Study, cycles: list[CycleReport], hack: HackReport
) -> dict[str, Any]:
    """Return the table's numbers for scripts."""
    return {
        "heldout_success_before": before,
        "heldout_success_after": after,
        "attribution": {
            line.name: [line.interval.estimate, line.interval.low, line.interval.high]
            for line in study.attribution.lines
        },
        "verdicts": {line.name: line.judgement.verdict.value for line in study.attribution.lines},
        "hybrid_shapley": [asdict(i) for i in study.hybrid.shapley] if study.hybrid else None,
        "cycles": [cycle_row(report) for report in cycles],
        "hard_invalid_start": hack.hard_at_start,
        "hard_invalid_end": hack.hard_at_end,
        "hard_invalid_repaired": hack.hard_after_repair,
        "first_fired": hack.first_fired,
    }


def _record(
    config: DemoConfig,
    log: RunLog,
    summary: dict[str, Any],
    study: Study,
    cycles: list[CycleReport],
    hack: HackReport,
) -> None:
    log.record("summary", summary)
    log.record("mismatch", study_rows(study, LABEL))
    log.record("reactions", reaction_rows(study.reactions, LABEL))
    log.record("cycles", [cycle_row(report) for report in cycles])
    log.record("hack", hack_part(hack))
    log.record("findings", finding_rows(hack.findings))


def _print(console: Console, summary: dict[str, Any], report: Path, tensorboard: Path) -> None:
    table = Table(title="sim2live demo", title_justify="left", show_lines=False)
    table.add_column("question")
    table.add_column("answer of this run")
    for row in summary["rows"]:
        table.add_row(row["question"], row["answer"])
    console.print(table)
    console.print(summary["label"], style="yellow")
    console.print(f"seed {summary['seed']}, {format_number(summary['seconds'])} s", style="dim")
    console.print(f"report:      {report}", soft_wrap=True, highlight=False)
    console.print(f"tensorboard: {tensorboard}", soft_wrap=True, highlight=False)


class _Show:
    """Opens a progress bar: `with show(title, total) as advance`."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    @contextmanager
    def __call__(self, title: str, total: int) -> Iterator[Any]:
        task: TaskID = self._progress.add_task(title, total=total)
        yield lambda: self._progress.update(task, advance=1)


@contextmanager
def _progress(console: Console) -> Iterator[_Show]:
    columns = (TextColumn("{task.description:<28}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        yield _Show(progress)

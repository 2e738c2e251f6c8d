"""Do the mismatch estimators tell the truth? Checked in a world whose truth is exact.

For each cell (one setting of the knobs) many data sets are drawn and put through the same
`outcome_gap` and `attribute` that real logs go through. Reported per line: bias, coverage of the
intervals, how often the interval excludes zero (false alarm where the truth is zero, power where it
is not) and how often the report calls it a mismatch; per cell, which part the report blames.

Run `python -m sim2live.experiments.mismatch.validation --seeds 200 --json`.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field

import numpy as np

from ...errors import ConfigError
from ...intervals import FloatArray, cluster_t_interval
from .attribution import Attribution, attribute
from .critic import SimEpisode
from .gap import outcome_gap
from .tabular import IntArray, Knobs, TabularWorld, Truth
from .terms import SessionTerms
from .verdicts import Verdict, judge

LINES = ("total gap", "task mix", "computer", "person", "critic residual")
CELLS: dict[str, Knobs] = {
    "none": Knobs(),
    "person": Knobs(k_user=0.5),
    "computer": Knobs(k_env=0.8),
    "task mix": Knobs(k_mix=2.0),
}
"""The reference cells: no fault, and each part planted alone."""


@dataclass(slots=True, kw_only=True, frozen=True)
class Design:
    """How much data one run sees."""

    users: int = 60
    sessions_per_user: int = 5
    episodes: int = 2000
    replies: int = 8
    bootstrap: int = 200
    margin: float | None = 0.1
    level: float = 0.95
    user_sd: float = 0.5
    is_coarse: bool = False
    """True gives the critic the state without the turn: a critic that is wrong on purpose."""


@dataclass(slots=True, kw_only=True, frozen=True)
class LineResult:
    """How the estimator of one line did over the seeds of a cell."""

    truth: float
    mean: float
    bias_in_mc_se: float
    """Mean error over its Monte-Carlo standard error; within -+2 if unbiased."""
    sd: float
    """Standard deviation of the estimates over seeds."""
    mean_se: float
    """Mean of the standard errors that the estimator claimed."""
    coverage: float
    excludes_zero: float
    mismatch: float
    """Share of runs whose verdict is *mismatch*."""


@dataclass(slots=True, kw_only=True, frozen=True)
class CellResult:
    """All lines of one cell, and what the report blamed."""

    lines: Mapping[str, LineResult]
    blamed: Mapping[str, float]
    """Share of runs in which each part was named as the cause (`none` if no part was)."""
    max_identity_error: float
    """Largest |total - sum of parts| over runs."""


@dataclass(slots=True, kw_only=True, frozen=True)
class ValidationReport:
    """The reference cells."""

    seeds: int
    design: Design
    cells: Mapping[str, CellResult] = field(default_factory=dict)


def state_features(
    world: TabularWorld, turn: int, states: IntArray, *, is_coarse: bool
) -> FloatArray:
    """Return indicator features (N, X) of turn and state; rows for state -1 (ended) are zeros."""
    width = world.num_states * (1 if is_coarse else world.horizon)
    out = np.zeros((len(states), width))
    rows = np.flatnonzero(states >= 0)
    if turn < world.horizon:
        out[rows, states[rows] + (0 if is_coarse else turn * world.num_states)] = 1.0
    return out


def simulated_episodes(
    world: TabularWorld, design: Design, rng: np.random.Generator
) -> list[SimEpisode]:
    """Roll the simulator out, as the critic needs it."""
    s = world.roll(design.episodes, 1, rng, computer="sim", person="sim")
    x = np.stack(
        [
            state_features(world, h, s.states[:, h], is_coarse=design.is_coarse)
            for h in range(world.horizon)
        ],
        axis=1,
    )
    turns = s.alive.sum(axis=1)
    return [SimEpisode(features=x[i, :t], rewards=s.rewards[i, :t]) for i, t in enumerate(turns)]


def logged_sessions(
    world: TabularWorld, design: Design, rng: np.random.Generator, *, with_sl: bool = False
) -> list[SessionTerms]:
    """Draw live sessions and simulated replies at each of their states."""
    s = world.roll(design.users, design.sessions_per_user, rng, computer="live", person="live")
    pairs = {"ls": ("logged", "sim"), "ss": ("sim", "sim")}
    if with_sl:
        pairs["sl"] = ("sim", "live")
    x, terms = [], {name: ([], []) for name in pairs}  # type: ignore[var-annotated]
    for h in range(world.horizon):
        x.append(state_features(world, h, s.states[:, h], is_coarse=design.is_coarse))
        for name, (computer, person) in pairs.items():
            reward, after = np.zeros(len(s.users)), np.zeros_like(x[0])
            for _ in range(design.replies):
                r, nxt = world.replies(s, h, rng, computer=computer, person=person)
                reward += r / design.replies
                after += (
                    state_features(world, h + 1, nxt, is_coarse=design.is_coarse) / design.replies
                )
            terms[name][0].append(reward)
            terms[name][1].append(after)
    stacked = {
        f"{name}_{part}": np.stack(columns, axis=1)
        for name, both in terms.items()
        for part, columns in zip(("reward", "next"), both, strict=True)
    }
    features = np.stack(x, axis=1)
    return [
        SessionTerms(
            user=int(s.users[i]),
            features=features[i, :t],
            reward=s.rewards[i, :t],
            **{name: array[i, :t] for name, array in stacked.items()},
        )
        for i, t in enumerate(s.alive.sum(axis=1))
    ]


def run_once(
    world: TabularWorld, design: Design, seed: int, *, with_sl: bool = False
) -> Attribution:
    """Draw one data set and attribute its gap."""
    rng = np.random.default_rng(seed)
    return attribute(
        simulated_episodes(world, design, rng),
        logged_sessions(world, design, rng, with_sl=with_sl),
        margin=design.margin,
        level=design.level,
        bootstrap=design.bootstrap,
        seed=seed,
    )


def true_lines(truth: Truth) -> dict[str, float]:
    """Return the exact value of each line."""
    values = (truth.total, truth.task_mix, truth.computer, truth.person, 0.0)
    return dict(zip(LINES, values, strict=True))


def summarise(runs: Sequence[Attribution], truth: Truth) -> CellResult:
    """Compare the runs of a cell with the truth."""
    lines = {}
    for k, (name, true) in enumerate(true_lines(truth).items()):
        intervals = [run.lines[k].interval for run in runs]
        estimates = np.array([i.estimate for i in intervals])
        sd = float(estimates.std(ddof=1))
        lines[name] = LineResult(
            truth=true,
            mean=float(estimates.mean()),
            bias_in_mc_se=float((estimates.mean() - true) / (sd / math.sqrt(len(runs)))),
            sd=sd,
            mean_se=float(np.mean([i.se for i in intervals])),
            coverage=float(np.mean([i.contains(true) for i in intervals])),
            excludes_zero=float(np.mean([not i.contains(0.0) for i in intervals])),
            mismatch=float(
                np.mean([run.lines[k].judgement.verdict is Verdict.MISMATCH for run in runs])
            ),
        )
    named = Counter(run.named or "none" for run in runs)
    errors = [
        abs(run.total.interval.estimate - sum(x.interval.estimate for x in run.lines[1:]))
        for run in runs
    ]
    return CellResult(
        lines=lines,
        blamed={name: count / len(runs) for name, count in named.most_common()},
        max_identity_error=max(errors),
    )


def run_cell(
    knobs: Knobs, *, design: Design, seeds: int, first_seed: int = 0, world_seed: int = 0
) -> CellResult:
    """Run the estimators `seeds` times on one setting of the knobs.

    Raises:
        ConfigError: fewer than two seeds.
    """
    if seeds < 2:
        raise ConfigError(f"expected at least 2 seeds to tell bias and coverage, got {seeds}")
    world = TabularWorld(world_seed, knobs, user_sd=design.user_sd)
    runs = [run_once(world, design, first_seed + i) for i in range(seeds)]
    return summarise(runs, world.truth())


def validate(
    *, seeds: int, design: Design | None = None, cells: Mapping[str, Knobs] | None = None
) -> ValidationReport:
    """Run all cells."""
    design = design or Design()
    return ValidationReport(
        seeds=seeds,
        design=design,
        cells={
            name: run_cell(knobs, design=design, seeds=seeds, first_seed=100_000 * i)
            for i, (name, knobs) in enumerate((cells or CELLS).items())
        },
    )


def blind_run(seed: int, design: Design | None = None) -> tuple[str, str]:
    """Plant a part chosen by a hidden seed; return what was planted and what the report names."""
    rng = np.random.default_rng([seed, 7])
    planted = str(rng.choice(["person", "computer", "task mix"]))
    sign = float(rng.choice([-1.0, 1.0]))
    knobs = Knobs(**{k: sign * v for k, v in asdict(CELLS[planted]).items()})
    world = TabularWorld(0, knobs)
    return planted, run_once(world, design or Design(), seed).named or "none"


@dataclass(slots=True, kw_only=True, frozen=True)
class GapCoverage:
    """How intervals of the outcome gap fare, with and without clustering by user."""

    clustered: float
    independent: float
    """Coverage when every session is wrongly taken as independent."""
    false_alarm: float
    """Share of clustered runs that exclude zero; meaningful where the true gap is zero."""


def gap_coverage(
    knobs: Knobs, *, design: Design, seeds: int, first_seed: int = 0, world_seed: int = 0
) -> GapCoverage:
    """Measure the coverage of `outcome_gap`'s interval, and of the naive one."""
    world = TabularWorld(world_seed, knobs, user_sd=design.user_sd)
    truth = world.truth()
    hits = np.zeros((seeds, 3))
    for i in range(seeds):
        rng = np.random.default_rng(first_seed + i)
        live = world.roll(
            design.users, design.sessions_per_user, rng, computer="live", person="live"
        )
        sim = world.roll(design.episodes, 1, rng, computer="sim", person="sim")
        values, simulated = live.rewards.sum(axis=1), sim.rewards.sum(axis=1)
        report = outcome_gap(
            simulated, values, live.users, margin=design.margin, level=design.level
        )
        naive = outcome_gap(
            simulated, values, np.arange(values.size), margin=design.margin, level=design.level
        )
        hits[i] = (
            report.gap.contains(truth.total),
            naive.gap.contains(truth.total),
            not report.gap.contains(0.0),
        )
    clustered, independent, alarm = hits.mean(axis=0)
    return GapCoverage(
        clustered=float(clustered), independent=float(independent), false_alarm=float(alarm)
    )


def heavy_tailed_verdicts(
    *, users: int, seeds: int, margin: float, tail: float = 1.1, first_seed: int = 0
) -> Counter[Verdict]:
    """Judge differences whose users follow a centred Pareto law with an infinite variance.

    The true difference is 0, so a *mismatch* is wrong; so is a *match* that rests on users who
    happen to miss the tail.

    Args:
        users: number of users, three sessions each.
        seeds: number of runs.
        margin: for the verdict.
        tail: Pareto index; below 2 the variance is infinite.
        first_seed: of the runs.
    """
    verdicts: Counter[Verdict] = Counter()
    for i in range(seeds):
        rng = np.random.default_rng(first_seed + i)
        effect = np.repeat(rng.pareto(tail, users) - 1 / (tail - 1), 3)
        values = effect + rng.normal(0, 0.1, effect.size)
        found = cluster_t_interval(values, np.repeat(np.arange(users), 3))
        verdicts[judge(found, margin).verdict] += 1
    return verdicts


def _table(report: ValidationReport) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"mismatch estimators, {report.seeds} seeds per cell")
    for head in ("planted", "line", "truth", "mean", "bias/MC-SE", "sd", "claimed se"):
        table.add_column(head, justify="left" if head in ("planted", "line") else "right")
    for head in ("coverage", "excludes 0", "mismatch", "blamed"):
        table.add_column(head, justify="right")
    for cell, result in report.cells.items():
        for name, x in result.lines.items():
            numbers = (x.truth, x.mean, x.bias_in_mc_se, x.sd, x.mean_se)
            rates = (x.coverage, x.excludes_zero, x.mismatch, result.blamed.get(name, 0.0))
            table.add_row(cell, name, *(f"{v:+.3f}" for v in numbers), *(f"{v:.2f}" for v in rates))
        table.add_section()
    Console(width=130).print(table)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the validation table or its JSON."""
    parser = argparse.ArgumentParser(prog="validation", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seeds", type=int, default=50, help="data sets per cell")
    parser.add_argument("--users", type=int, default=Design().users, help="live users per data set")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args(argv)
    try:
        report = validate(seeds=options.seeds, design=Design(users=options.users))
    except ConfigError as problem:
        parser.error(str(problem))
    if options.json:
        sys.stdout.write(json.dumps(asdict(report), indent=2) + "\n")
    else:
        _table(report)
    return 0


if __name__ == "__main__":
    sys.exit(main())

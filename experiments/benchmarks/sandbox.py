"""How long one small check takes in each sandbox, and how many fit into a second.

    python -m sim2live.experiments.benchmarks.sandbox --quick

All rows of a run are measured in turn, a few executions at a time, so that whatever else the
machine does falls on all of them alike. Ratios are between medians of the same run. CPU time is
that of the caller, the servers and the executions together.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import math
import statistics
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from rich.console import Console
from rich.table import Table

from ...envs.sandbox import NamespaceSandbox
from . import subjects
from .subjects import NotHere, Subject

DEFAULT_IMAGE = "sim2live-python:bookworm"
FORK, PYTEST = "fork + exec() in a warm interpreter", "forked pytest in a warm interpreter"
CHECK, ISOLATED_PYTEST = "namespaces check", "namespaces pytest"
_NUM_SPELLS = 5
DOCKER_RUN, SWE_REX, INSPECT = "docker run", "swe-rex local", "inspect-ai local"


@dataclass(slots=True, kw_only=True)
class Row:
    """One way to run the check, and what it cost."""

    name: str
    baseline: str = FORK
    times_s: list[float] = field(default_factory=list)
    cpu_s: float | None = 0.0
    why_not: str | None = None
    """Why it was not measured, if so."""

    @property
    def median_ms(self) -> float:
        """Median latency in milliseconds; NaN if it was not measured."""
        return statistics.median(self.times_s) * 1000 if self.times_s else math.nan

    @property
    def p99_ms(self) -> float:
        """99th percentile of latency in milliseconds; NaN if it was not measured."""
        if not self.times_s:
            return math.nan
        return sorted(self.times_s)[math.ceil(0.99 * len(self.times_s)) - 1] * 1000

    @property
    def cpu_ms(self) -> float:
        """CPU milliseconds for each execution; NaN if not known."""
        if self.cpu_s is None or not self.times_s:
            return math.nan
        return self.cpu_s / len(self.times_s) * 1000


@dataclass(slots=True, kw_only=True, frozen=True)
class Target:
    """Something the sandbox is meant to reach."""

    what: str
    value: float
    limit: float
    is_upper: bool = True
    """True if the value must not be above the limit; else it must not be below."""

    @property
    def verdict(self) -> str:
        """`met`, `not met`, or `not measured`."""
        if math.isnan(self.value):
            return "not measured"
        is_met = self.value <= self.limit if self.is_upper else self.value >= self.limit
        return "met" if is_met else "not met"


def measure(image: str, *, num_rounds: int, num_slow: int) -> list[Row]:
    """Measure every way to run the check.

    Args:
        image: docker image with Python.
        num_rounds: how often every row gets its turn.
        num_slow: executions a turn of what takes many milliseconds; the others get 10 times that.
    """
    many = 10 * num_slow
    makers: dict[str, tuple[int, str, Callable[[], AbstractContextManager[Subject]]]] = {
        FORK: (many, FORK, lambda: subjects.bare("check")),
        CHECK: (many, FORK, lambda: subjects.namespaces("check")),
        PYTEST: (num_slow, PYTEST, lambda: subjects.bare("pytest")),
        ISOLATED_PYTEST: (num_slow, PYTEST, lambda: subjects.namespaces("pytest")),
        "subprocess": (num_slow, FORK, subjects.program),
        "namespaces exec": (num_slow, "subprocess", lambda: subjects.namespaces("exec")),
        "bwrap": (num_slow, "subprocess", lambda: subjects.program(*subjects.BWRAP)),
        "docker exec": (num_slow, CHECK, lambda: subjects.docker("exec", image)),
        DOCKER_RUN: (1, CHECK, lambda: subjects.docker("run", image)),
        SWE_REX: (num_slow, CHECK, subjects.swe_rex),
        INSPECT: (num_slow, CHECK, subjects.inspect_ai),
    }
    rows = {name: Row(name=name, baseline=base) for name, (_, base, _) in makers.items()}
    with contextlib.ExitStack() as stack:
        ready: dict[str, Subject] = {}
        for name, (_, _, make) in makers.items():
            try:
                ready[name] = stack.enter_context(make())
            except NotHere as reason:
                rows[name].why_not = str(reason)
        for _ in range(num_rounds):
            for name, subject in ready.items():
                _take_turn(rows[name], subject, makers[name][0])
    return list(rows.values())


def _take_turn(row: Row, subject: Subject, num: int) -> None:
    before_s = subject.cpu_s()
    row.times_s += subject.run_many(num)
    after_s = subject.cpu_s()
    if row.cpu_s is None or before_s is None or after_s is None:
        row.cpu_s = None
    else:
        row.cpu_s += after_s - before_s


def measure_rate(num_workers: int, num_each: int) -> float:
    """Return checks a second of so many sandboxes, each with a thread of its own.

    The median of several spells, since one second of something else on the machine shows.
    """
    with contextlib.ExitStack() as stack:
        boxes = [stack.enter_context(NamespaceSandbox()) for _ in range(num_workers)]
        for box in boxes:
            box.write_file("solution.py", subjects.SOLUTION.encode())
            box.check(subjects.TESTS)
        failed: list[object] = []

        def work(box: NamespaceSandbox) -> None:
            results = [box.check(subjects.TESTS) for _ in range(num_each)]
            failed.extend(result for result in results if not result.is_ok)

        rates = []
        for _ in range(_NUM_SPELLS):
            threads = [threading.Thread(target=work, args=(box,)) for box in boxes]
            start_s = time.perf_counter()
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            rates.append(num_workers * num_each / (time.perf_counter() - start_s))
    if failed:
        raise RuntimeError(f"{len(failed)} checks did not pass: {failed[0]}")
    return statistics.median(rates)


def judge(rows: Sequence[Row], rates: dict[int, float]) -> list[Target]:
    """Compare what was measured with what is aimed at."""
    ms = {row.name: row.median_ms for row in rows}
    check = ms[CHECK]
    return [
        Target(what="check, median in ms", value=check, limit=3),
        Target(what=f"check / {FORK}", value=check / ms[FORK], limit=3),
        Target(what="checks a second with 2 workers", value=rates[2], limit=500, is_upper=False),
        Target(what=f"pytest / {PYTEST}", value=ms[ISOLATED_PYTEST] / ms[PYTEST], limit=1.3),
        Target(what="docker run / check", value=ms[DOCKER_RUN] / check, limit=50, is_upper=False),
        Target(what="swe-rex local / check", value=ms[SWE_REX] / check, limit=3, is_upper=False),
        Target(what="inspect-ai local / check", value=ms[INSPECT] / check, limit=3, is_upper=False),
    ]


def to_json(rows: Sequence[Row], rates: dict[int, float], targets: Sequence[Target]) -> str:
    """Return everything as JSON; what was not measured is null."""

    def number(value: float) -> float | None:
        return None if math.isnan(value) else round(value, 4)

    ms = {row.name: row.median_ms for row in rows}
    document = {
        "rows": [
            {
                "name": row.name,
                "num": len(row.times_s),
                "median_ms": number(row.median_ms),
                "p99_ms": number(row.p99_ms),
                "cpu_ms": number(row.cpu_ms),
                "baseline": row.baseline,
                "ratio": number(row.median_ms / ms[row.baseline]),
                "why_not": row.why_not,
            }
            for row in rows
        ],
        "checks_per_s": {str(workers): number(rate) for workers, rate in rates.items()},
        "targets": [
            {**dataclasses.asdict(target), "value": number(target.value), "verdict": target.verdict}
            for target in targets
        ],
    }
    return json.dumps(document, indent=2)


def show(rows: Sequence[Row], rates: dict[int, float], targets: Sequence[Target]) -> None:
    """Print the tables."""
    ms = {row.name: row.median_ms for row in rows}
    table = Table("execution", "n", "median ms", "p99 ms", "CPU ms", "ratio", "to")
    for row in rows:
        if row.why_not:
            table.add_row(row.name, "0", "-", "-", "-", "-", f"not measured: {row.why_not}")
            continue
        cpu = "-" if math.isnan(row.cpu_ms) else f"{row.cpu_ms:.2f}"
        ratio = f"{row.median_ms / ms[row.baseline]:.2f}"
        times = (f"{row.median_ms:.2f}", f"{row.p99_ms:.2f}")
        table.add_row(row.name, str(len(row.times_s)), *times, cpu, ratio, row.baseline)
    console = Console(width=None if sys.stdout.isatty() else 100)
    console.print(table)
    for workers, rate in rates.items():
        console.print(f"checks a second with {workers} workers: {rate:.0f}")
    goals = Table("target", "measured", "limit", "verdict")
    for target in targets:
        sign = "<=" if target.is_upper else ">="
        value = "-" if math.isnan(target.value) else f"{target.value:.2f}"
        goals.add_row(target.what, value, f"{sign} {target.limit:g}", target.verdict)
    console.print(goals)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark; returns 0 whatever the figures are."""
    parser = argparse.ArgumentParser(
        prog="python -m sim2live.experiments.benchmarks.sandbox",
        description="Measure the sandboxes, all in one run.",
        epilog="example: python -m sim2live.experiments.benchmarks.sandbox --quick --json",
    )
    parser.add_argument("--quick", action="store_true", help="a tenth of the executions")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument("--image", default=DEFAULT_IMAGE, help="docker image with Python")
    options = parser.parse_args(argv)
    rows = measure(options.image, num_rounds=2 if options.quick else 20, num_slow=3)
    num_each = 50 if options.quick else 400
    rates = {workers: measure_rate(workers, num_each) for workers in (1, 2)}
    targets = judge(rows, rates)
    if options.json:
        sys.stdout.write(to_json(rows, rates, targets) + "\n")
    else:
        show(rows, rates, targets)
    return 0


if __name__ == "__main__":
    sys.exit(main())

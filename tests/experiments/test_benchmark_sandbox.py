from __future__ import annotations

import json
import math

import pytest

from sim2live.envs.sandbox.namespaces import missing_isolation
from sim2live.experiments.benchmarks import sandbox as benchmark
from sim2live.experiments.benchmarks.sandbox import CHECK, FORK, Row, Target


def test_a_row_has_the_median_the_percentile_and_the_cost_of_one() -> None:
    row = Row(name="x", times_s=[number / 1000 for number in range(1, 101)], cpu_s=0.5)
    assert (row.median_ms, row.p99_ms, row.cpu_ms) == (50.5, 99.0, 5.0)
    empty = Row(name="x", why_not="not there")
    assert all(math.isnan(value) for value in (empty.median_ms, empty.p99_ms, empty.cpu_ms))
    assert math.isnan(Row(name="x", times_s=[1.0], cpu_s=None).cpu_ms)


@pytest.mark.parametrize(
    ("value", "is_upper", "verdict"),
    [
        (3.0, True, "met"),
        (3.1, True, "not met"),
        (3.0, False, "met"),
        (2.9, False, "not met"),
        (math.nan, True, "not measured"),
    ],
)
def test_verdicts(value: float, is_upper: bool, verdict: str) -> None:
    assert Target(what="x", value=value, limit=3.0, is_upper=is_upper).verdict == verdict


def test_help_shows_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        benchmark.main(["--help"])
    assert ended.value.code == 0
    assert "benchmarks.sandbox --quick" in capsys.readouterr().out


def test_all_is_measured_in_one_run_and_what_is_not_there_says_why() -> None:
    if missing := missing_isolation():
        pytest.skip(f"no isolation on this machine: {missing}")
    rows = benchmark.measure("no-such-image:none", num_rounds=2, num_slow=1)
    rates = {workers: benchmark.measure_rate(workers, 3) for workers in (1, 2)}
    told = json.loads(benchmark.to_json(rows, rates, benchmark.judge(rows, rates)))
    by_name = {row["name"]: row for row in told["rows"]}
    assert by_name[FORK]["num"] == by_name[CHECK]["num"] == 20
    for name in (FORK, CHECK, "namespaces pytest", "namespaces exec", "subprocess"):
        assert by_name[name]["median_ms"] > 0, name
        assert by_name[name]["p99_ms"] >= by_name[name]["median_ms"]
    assert by_name[CHECK]["ratio"] == pytest.approx(
        by_name[CHECK]["median_ms"] / by_name[FORK]["median_ms"], rel=0.01
    )
    assert "no-such-image" in by_name["docker run"]["why_not"]
    assert by_name["docker run"]["median_ms"] is None
    verdicts = {target["what"]: target["verdict"] for target in told["targets"]}
    assert verdicts["docker run / check"] == "not measured"
    assert told["checks_per_s"]["2"] > 0

"""The estimators against exact truth: bias, coverage, false alarms, power, attribution.

Bands are at least three Monte-Carlo standard errors wide around what a correct estimator gives, so
that seeds do not matter; the larger runs are marked `slow`.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from sim2live.errors import ConfigError
from sim2live.experiments.mismatch import Verdict
from sim2live.experiments.mismatch.tabular import Knobs, TabularWorld
from sim2live.experiments.mismatch.validation import (
    CELLS,
    LINES,
    CellResult,
    Design,
    blind_run,
    gap_coverage,
    heavy_tailed_verdicts,
    main,
    run_cell,
    run_once,
    validate,
)

QUICK = Design(users=40, episodes=1000, bootstrap=100)


@pytest.fixture(scope="module")
def quick() -> dict[str, CellResult]:
    """Forty runs of each reference cell."""
    return dict(validate(seeds=40, design=QUICK).cells)


def test_the_lines_add_up_in_every_run(quick):
    assert max(cell.max_identity_error for cell in quick.values()) < 1e-10


def test_the_true_lines_add_up():
    for knobs in CELLS.values():
        truth = TabularWorld(0, knobs).truth()
        parts = truth.task_mix + truth.computer + truth.person
        assert parts == pytest.approx(truth.total, abs=1e-10)


def test_estimates_are_unbiased(quick):
    biases = [line.bias_in_mc_se for cell in quick.values() for line in cell.lines.values()]
    assert np.mean(np.abs(biases) < 2) >= 0.85
    assert max(map(abs, biases)) < 3.7


def test_claimed_standard_errors_are_the_real_ones(quick):
    ratios = [x.mean_se / x.sd for cell in quick.values() for x in cell.lines.values()]
    assert 0.93 < np.mean(ratios) < 1.12


def test_intervals_cover(quick):
    covered = [line.coverage for cell in quick.values() for line in cell.lines.values()]
    assert 0.93 <= np.mean(covered) <= 0.98
    assert min(covered) >= 0.82


def test_planted_parts_are_found_and_others_are_not_accused(quick):
    for planted in ("person", "computer", "task mix"):
        assert quick[planted].lines[planted].mismatch >= 0.8
        assert quick[planted].blamed.get(planted, 0) >= 0.8
        others = {"person", "computer", "task mix"} - {planted}
        for other in others:
            assert quick[planted].lines[other].mismatch <= 0.16
    for name in LINES:
        assert quick["none"].lines[name].mismatch <= 0.16


def test_intervals_that_ignore_users_cover_too_little():
    design = replace(QUICK, users=30, sessions_per_user=10)
    found = gap_coverage(Knobs(), design=design, seeds=200)
    assert 0.905 <= found.clustered <= 0.99
    assert found.independent < 0.85
    assert found.false_alarm <= 0.095


def test_a_critic_from_few_episodes_is_covered_only_because_it_is_bootstrapped_too():
    world = TabularWorld(0, Knobs(k_user=0.5))
    design = replace(QUICK, users=100, episodes=120)
    residuals = [run_once(world, design, seed).critic_residual for seed in range(60)]
    covered = np.mean([x.interval.contains(0.0) for x in residuals])
    live_only = [
        abs(x.interval.estimate) < 1.98 * math.sqrt(max(x.interval.se**2 - x.critic_se**2, 0))
        for x in residuals
    ]
    assert covered >= 0.85
    assert np.mean(live_only) < 0.65


def test_the_blind_run_names_the_hidden_part():
    results = [blind_run(seed, QUICK) for seed in range(20)]
    assert len({planted for planted, _ in results}) == 3
    assert np.mean([planted == named for planted, named in results]) >= 0.8


def test_heavy_tails_are_inconclusive_not_confidently_wrong():
    for tail in (1.1, 1.5):
        found = heavy_tailed_verdicts(users=60, seeds=200, margin=0.5, tail=tail)
        assert found[Verdict.INCONCLUSIVE] >= 0.95 * 200
    few = heavy_tailed_verdicts(users=4, seeds=50, margin=0.5)
    assert few == {Verdict.NOT_IDENTIFIABLE: 50}


def test_the_command_prints_a_table_and_json(capsys):
    assert main(["--seeds", "2", "--users", "6", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert set(report["cells"]) == set(CELLS)
    assert set(report["cells"]["person"]["lines"]) == set(LINES)
    assert main(["--seeds", "2", "--users", "6"]) == 0
    printed = capsys.readouterr().out
    assert "critic residual" in printed
    assert "coverage" in printed


def test_one_seed_tells_nothing(capsys):
    with pytest.raises(ConfigError, match="at least 2 seeds"):
        run_cell(Knobs(), design=QUICK, seeds=1)
    with pytest.raises(SystemExit):
        main(["--seeds", "1"])
    assert "at least 2 seeds" in capsys.readouterr().err


@pytest.mark.slow
def test_reference_cells_hold_at_120_seeds():
    report = validate(seeds=120)
    for planted, cell in report.cells.items():
        for name, line in cell.lines.items():
            assert abs(line.bias_in_mc_se) < 3.5, (planted, name)
            assert 0.88 <= line.coverage, (planted, name)
            if line.truth == pytest.approx(0, abs=1e-9):
                assert line.mismatch <= 0.12, (planted, name)
        if planted != "none":
            assert cell.lines[planted].mismatch >= 0.9
            assert cell.blamed[planted] >= 0.9


@pytest.mark.slow
def test_gap_intervals_cover_and_do_not_raise_false_alarms_at_1000_seeds():
    found = gap_coverage(Knobs(), design=QUICK, seeds=1000)
    assert 0.925 <= found.clustered <= 0.975
    assert found.independent < 0.92
    assert found.false_alarm <= 0.07

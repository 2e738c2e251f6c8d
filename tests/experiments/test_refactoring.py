"""The study of what refactoring is learnt from: measures, tables, and one short run."""

from __future__ import annotations

import pytest
from rich.console import Console

from sim2live.envs.tasks.base import TaskKind
from sim2live.envs.tasks.refactor import RefactorSampler
from sim2live.experiments.refactoring import (
    curve_table,
    final_table,
    measure,
    rewards,
    run_arm,
)
from sim2live.live_bridge.stand_in import make_world
from sim2live.trajectory import Outcome, Reaction, ReactionKind, Source, Trajectory, Turn


def session(before: str, after: str, *, outcome: Outcome, kinds: tuple[ReactionKind, ...] = ()):
    turn = Turn(reactions=[Reaction(kind=kind, turn=0) for kind in kinds])
    return Trajectory(
        id="t",
        task_id="t",
        source=Source.SIMULATED,
        turns=[turn],
        files_before={"m.py": before},
        files_after={"m.py": after},
        outcome=outcome,
    )


WHOLE = "def f(a):\n    if a and a > 1:\n        return 1\n    return 2\n"
SPLIT = (
    "def f(a):\n    if _condition_0(a):\n        return 1\n    return 2\n\n\n"
    "def _condition_0(a):\n    return a and a > 1\n"
)


def test_measures_tell_the_metric_from_readability() -> None:
    handed_in = session(
        WHOLE,
        SPLIT,
        outcome=Outcome(readability_before=0.8, readability_after=0.7, is_solved=False),
        kinds=(ReactionKind.ACCEPT,),
    )
    kept_back = session(WHOLE, SPLIT, outcome=Outcome(is_solved=False))
    quality = measure([handed_in, kept_back])
    assert quality.metric == pytest.approx((3 - 2) / 3 / 2)
    assert quality.readability == pytest.approx(-0.05)
    assert (quality.split, quality.accepted, quality.kept, quality.solved) == (0.5, 0.5, 0.0, 0.0)


def test_the_metric_alone_pays_for_splitting_and_people_do_not() -> None:
    refused = session(
        WHOLE,
        SPLIT,
        outcome=Outcome(readability_before=0.8, readability_after=0.7),
        kinds=(ReactionKind.REJECT,),
    )
    scored = {name: reward.score(refused).components for name, reward in rewards().items()}
    assert scored["metric"]["max_complexity"] == pytest.approx(1 / 3)
    assert "max_complexity" not in scored["people"]
    assert scored["people"]["acceptance"] < 0
    assert scored["people+metric"]["max_complexity"] == pytest.approx(0.1)


def test_a_short_run_fills_the_tables() -> None:
    tasks = RefactorSampler("heldout").tasks(2)
    with make_world(kind=TaskKind.REFACTOR, num_envs=4) as world:
        arm = run_arm("metric", rewards()["metric"], world, tasks, updates=2, batch_size=4)
    assert len(arm.curve) == 2
    console = Console(width=120, record=True, file=None, quiet=False)
    with console.capture() as captured:
        console.print(curve_table([arm], 1))
        console.print(final_table([arm]))
    text = captured.get()
    assert "0-0" in text and "1-1" in text
    assert text.count("metric") >= 3
    assert "nothing" in text

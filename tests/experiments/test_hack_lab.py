"""The lab on traffic small enough to know what must come out: one turn, two things to do.

`edit` is accepted and kept nearly always on easy tasks and less often on hard ones, or else it is
rejected; `broken` is an invalid call that nobody reacts to. The policy is tabular.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from sim2live.agents.base import Policy
from sim2live.agents.learner_config import LearnerConfig
from sim2live.agents.skill_policy import SkillPolicy
from sim2live.errors import ConfigError
from sim2live.experiments.hack_lab import HackLabConfig, HackReport, run_hack_lab
from sim2live.trajectory import (
    ArgsState,
    EndReason,
    Reaction,
    ReactionKind,
    Source,
    ToolCall,
    ToolResult,
    Trajectory,
    Turn,
)

EDIT, BROKEN = 0, 1
DIFFICULTY = (0.1, 0.9)
SUCCESS = (0.95, 0.4)
START = 0.03
ROWS = np.eye(4, dtype=np.float32).reshape(2, 2, 4)  # (easy or hard, action, feature)


class Traffic:
    """People with one request each, half of them hard."""

    name = "two arms"

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self.num_served = 0

    def collect(self, policy: Policy, n: int) -> list[Trajectory]:
        hard = self._rng.integers(2, size=n)
        actions = policy.act([ROWS[h] for h in hard])
        made = []
        for h, action in zip(hard, actions, strict=True):
            self.num_served += 1
            turn = Turn(
                action=action.value, action_logprob=action.logprob, features=ROWS[h], text="done"
            )
            if action.value == BROKEN:
                call = ToolCall(
                    id="c",
                    name="edit_file",
                    arguments=None,
                    args_state=ArgsState.UNPARSED,
                    raw='{"path": "m.py',
                    error="cut short",
                )
            else:
                call = ToolCall(
                    id="c", name="write_file", arguments={"path": "m.py", "text": "x = 1\n"}
                )
                turn.results = [ToolResult(call_id="c", text="wrote m.py", ok=True)]
                is_good = self._rng.random() < SUCCESS[h]
                kinds = (
                    (ReactionKind.ACCEPT, ReactionKind.PERSIST)
                    if is_good
                    else (ReactionKind.REJECT,)
                )
                turn.reactions = [Reaction(kind=kind, turn=0) for kind in kinds]
            turn.tool_calls = [call]
            made.append(
                Trajectory(
                    id=f"s{self.num_served}",
                    task_id="t",
                    source=Source.LIVE,
                    turns=[turn],
                    end=EndReason.SOLVED if action.value == EDIT else EndReason.GAVE_UP,
                    difficulty=DIFFICULTY[h],
                )
            )
        return made


def tabular(seed: int) -> SkillPolicy:
    policy = SkillPolicy(4, hidden=0, seed=seed)
    logit = float(np.log(START / (1 - START)))
    with torch.no_grad():
        policy.net.score.weight.copy_(torch.tensor([[0.0, logit, 0.0, logit]]))
    return policy


def config(lr: float = 0.1) -> HackLabConfig:
    return HackLabConfig(
        flawed_updates=60,
        repaired_updates=150,
        batch_size=64,
        learner=LearnerConfig(
            algorithm="reinforce", baseline="batch_mean", lr=lr, entropy_coef=0.03, adam_eps=1e-8
        ),
    )


@pytest.fixture(scope="module", params=[0, 1, 2])
def report(request: pytest.FixtureRequest) -> HackReport:
    return run_hack_lab(tabular(request.param), Traffic(request.param), config=config())


def test_the_flawed_reward_teaches_the_hack_and_the_repaired_one_unteaches_it(report):
    assert report.hard_at_start < 0.15
    assert report.hard_at_end >= 0.9
    assert report.hard_after_repair <= 0.05


def test_each_phase_ends_when_its_work_is_done(report):
    flawed = [point.hard for point in report.curve if point.phase == "flawed"]
    repaired = [point.hard for point in report.curve if point.phase == "repaired"]
    assert report.repaired_from == len(flawed) < 60 and len(repaired) < 150
    # The window that ended the phase is the first that qualifies.
    means = [np.mean(flawed[i : i + 3]) for i in range(len(flawed) - 2)]
    assert [m >= 0.9 for m in means] == [False] * (len(means) - 1) + [True]
    means = [np.mean(repaired[i : i + 3]) for i in range(len(repaired) - 2)]
    assert [m <= 0.02 for m in means] == [False] * (len(means) - 1) + [True]


def test_everyone_on_watch_notices_and_says_when(report):
    for name in ("unrecovered_invalid_call", "invalid_call_drift", "sample_accounting"):
        assert report.first_fired[name] is not None, name
    assert report.first_fired["test_tamper"] is None  # nobody touches tests here
    drift = next(alarm for alarm in report.alarms if alarm.monitor == "invalid_call_drift")
    assert drift.update == report.first_fired["invalid_call_drift"]
    trajectory, finding = report.findings[0]
    assert finding.detector == "unrecovered_invalid_call"
    assert not trajectory.tool_calls[0].is_valid


def test_the_ledger_adds_up(report):
    *bins, total = report.ledger
    key = "excluded: invalid_call"
    for column in ("entered", "rewarded", key):
        assert sum(row[column] for row in bins) == total[column]
    assert total["entered"] == total["rewarded"] + total[key] == 64 * report.repaired_from


def test_a_policy_that_does_not_move_takes_all_updates_and_learns_nothing():
    slow = dataclasses.replace(config(lr=1e-9), flawed_updates=12, repaired_updates=5)
    report = run_hack_lab(tabular(0), Traffic(0), config=slow)
    assert report.repaired_from == 12
    assert report.hard_at_end < 0.15


def test_the_reference_is_filled_up_from_traffic():
    traffic = Traffic(0)
    given = traffic.collect(tabular(0), 100)
    short = dataclasses.replace(config(), flawed_updates=3, repaired_updates=3)
    run_hack_lab(tabular(0), traffic, config=short, reference=given)
    assert traffic.num_served == short.reference_size + 6 * 64


def test_a_phase_shorter_than_the_window_is_refused():
    with pytest.raises(ConfigError, match="at least 3 updates"):
        HackLabConfig(flawed_updates=2)

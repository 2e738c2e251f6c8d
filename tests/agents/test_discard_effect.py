"""Discarding invalid answers teaches a policy to give them - depending on the baseline.

Two kinds of task (easy, hard) and two actions: `try` succeeds often on easy tasks and seldom on
hard ones (+1 or -1), `broken` is an invalid call. If broken answers are thrown away before the
update, they escape the -1 that an honest failure on a hard task pays. Shapes over several seeds;
the policy is linear on one-hot rows, that is, tabular.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from sim2live.agents.learner import PolicyGradientLearner
from sim2live.agents.learner_config import LearnerConfig
from sim2live.agents.skill_policy import SkillPolicy
from sim2live.trajectory import RewardReport, Source, Trajectory, Turn

EASY, HARD = 0, 1
TRY, BROKEN = 0, 1
SUCCESS = (0.9, 0.3)
START = 0.05
SEEDS = (0, 1, 2)
ROWS = np.eye(4, dtype=np.float32).reshape(2, 2, 4)  # (context, action, feature)


def train(seed: int, *, discard: bool, updates: int = 60, **options: Any) -> tuple[float, float]:
    """Return P(broken | easy) and P(broken | hard) after training."""
    policy = SkillPolicy(4, hidden=0, seed=seed)
    with torch.no_grad():
        logit = float(np.log(START / (1 - START)))
        policy.net.score.weight.copy_(torch.tensor([[0.0, logit, 0.0, logit]]))
    assert policy.distribution(ROWS[HARD])[BROKEN] == pytest.approx(START)
    learner = PolicyGradientLearner(policy, LearnerConfig(lr=0.25, **options))
    rng = np.random.default_rng(seed)
    for _ in range(updates):
        # 8 tasks of 4 answers; a task is easy or hard.
        contexts = np.repeat([EASY, HARD] * 4, 4)
        actions = policy.act([ROWS[c] for c in contexts])
        batch = []
        for i, (context, action) in enumerate(zip(contexts, actions, strict=True)):
            solved = rng.random() < SUCCESS[context]
            if action.value == TRY:
                report = RewardReport(total=1.0 if solved else -1.0)
            elif discard:
                report = RewardReport(total=None, excluded="invalid_call")
            else:
                report = RewardReport(total=-1.0)
            turn = Turn(action=action.value, action_logprob=action.logprob, features=ROWS[context])
            batch.append(
                Trajectory(
                    id=str(i),
                    task_id=f"task-{i // 4}",
                    source=Source.SIMULATED,
                    turns=[turn],
                    reward=report,
                )
            )
        learner.update(batch)
    easy, hard = (float(policy.distribution(ROWS[c])[BROKEN]) for c in (EASY, HARD))
    return easy, hard


@pytest.mark.parametrize("baseline", ["none", "batch_mean"])
def test_discarding_teaches_broken_calls_on_hard_tasks_only(baseline: str) -> None:
    for seed in SEEDS:
        easy, hard = train(seed, discard=True, baseline=baseline)
        assert hard > 0.95, (seed, hard)
        assert easy < 0.05, (seed, easy)


@pytest.mark.parametrize(
    "options", [{"algorithm": "rloo"}, {"algorithm": "grpo"}, {"baseline": "value"}], ids=str
)
def test_a_baseline_that_knows_the_task_does_not_teach_it(options: dict[str, Any]) -> None:
    """Group means know the task; so does a critic whose features show the difficulty."""
    for seed in SEEDS:
        easy, hard = train(seed, discard=True, **options)
        assert hard < 2 * START, (seed, hard)
        assert easy < 2 * START, (seed, easy)


@pytest.mark.parametrize("baseline", ["none", "batch_mean"])
def test_counting_a_broken_call_as_a_negative_removes_it(baseline: str) -> None:
    for seed in SEEDS:
        _, hard = train(seed, discard=False, baseline=baseline)
        assert hard < 0.02, (seed, hard)


@pytest.mark.parametrize(
    ("options", "is_learnt"),
    [({"baseline": "batch_mean"}, True), ({"algorithm": "rloo"}, False)],
    ids=str,
)
def test_the_same_with_a_network_and_groups_of_unequal_size(
    options: dict[str, Any], is_learnt: bool
) -> None:
    """Difficulty is one continuous feature among others; groups have 2, 3, 4 and 7 answers."""
    for seed in (0, 1):
        rng = np.random.default_rng(seed)
        policy = SkillPolicy(3, hidden=16, seed=seed)
        learner = PolicyGradientLearner(policy, LearnerConfig(lr=0.05, **options))
        start = policy.distribution(rows(0.9))[BROKEN]
        for _ in range(50):
            tasks = [(rng.normal((0.2, 0.9)[g % 2], 0.05), n) for g, n in enumerate((2, 3, 4, 7))]
            batch = []
            for g, (difficulty, n) in enumerate(tasks * 2):
                for action in policy.act([rows(difficulty)] * n):
                    solved = rng.random() < SUCCESS[difficulty > 0.5]
                    report = RewardReport(total=1.0 if solved else -1.0)
                    if action.value == BROKEN:
                        report = RewardReport(total=None, excluded="invalid_call")
                    turn = Turn(
                        action=action.value,
                        action_logprob=action.logprob,
                        features=rows(difficulty),
                    )
                    batch.append(
                        Trajectory(
                            id="x",
                            task_id=f"task-{g}",
                            source=Source.SIMULATED,
                            turns=[turn],
                            reward=report,
                        )
                    )
            learner.update(batch)
        hard = policy.distribution(rows(0.9))[BROKEN]
        assert (hard > 0.95) if is_learnt else abs(hard - start) < 0.05, (seed, start, hard)


def rows(difficulty: float) -> np.ndarray:
    """Return the features of `try` and `broken` on a task of some difficulty."""
    return np.array([[difficulty, 1, 0], [difficulty, 0, 1]], dtype=np.float32)

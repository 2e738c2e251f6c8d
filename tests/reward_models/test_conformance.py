from __future__ import annotations

import pytest

from sim2live.errors import RewardError
from sim2live.reward_models import REWARDS, check_reward_model, load_reward
from sim2live.trajectory import RewardReport


@pytest.mark.parametrize("name", sorted(REWARDS))
def test_every_registered_reward_model_conforms(name):
    check_reward_model(load_reward(name))


class Broken:
    """A good model with one thing wrong."""

    def __init__(self, wrong: str) -> None:
        self.name, self.wrong, self.inner, self.calls = wrong, wrong, load_reward("live"), 0

    def score(self, trajectory):
        self.calls += 1
        report = self.inner.score(trajectory)
        if self.wrong == "scores errors" and report.excluded:
            return RewardReport(total=0.0, per_turn=[0.0] * len(trajectory.turns))
        if report.total is None:
            return report
        if self.wrong == "random":
            report.total += 1e-3 * self.calls
            report.components["noise"] = 1e-3 * self.calls
            report.per_turn[-1] += 1e-3 * self.calls
        if self.wrong == "components":
            report.components["extra"] = 0.5
        if self.wrong == "turns":
            report.per_turn[0] += 0.5
        if self.wrong == "length":
            report.per_turn.append(0.0)
        if self.wrong == "mutates":
            trajectory.tags = ("seen",)
        if self.wrong == "silent":
            report.total = None
        return report


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("scores errors", "scores a `error_"),
        ("random", "another reward the second time"),
        ("components", "components add up"),
        ("turns", "per_turn adds up"),
        ("length", "another length"),
        ("mutates", "changes the trajectory"),
        ("silent", "without saying why"),
    ],
)
def test_each_broken_rule_is_named(wrong, message):
    with pytest.raises(RewardError, match=message):
        check_reward_model(Broken(wrong))

"""A reward as a weighted sum of named signals.

    total = sum_k weight_k * signal_k        per_turn[t] = sum_k weight_k * credit_k[t]

A signal that a trajectory cannot show (None) is left out, not counted as 0, so its name is missing
from the components. Components add up to the total, and so do the per-turn rewards.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ..errors import ConfigError, unknown_name
from ..trajectory import RewardReport, Trajectory
from .signals import SIGNALS

Predicate = Callable[[Trajectory], bool]


@dataclass(slots=True, kw_only=True)
class WeightedReward:
    """A reward model: named signals times weights.

    Raises:
        ConfigError: a weight names no signal or is not finite.

    Example:
        >>> model = WeightedReward(name="tests-only", weights={"hidden_tests": 1.0})
        >>> model.reads_outcome
        True
    """

    name: str
    weights: Mapping[str, float]
    """Signal name (`signals.SIGNALS`) to weight; a cost has a negative weight."""
    exclusions: Mapping[str, Predicate] = field(default_factory=dict)
    """Reason to predicate: a trajectory of which one holds gets no reward, for that reason."""
    unpriced: Mapping[str, Predicate] = field(default_factory=dict)
    """Component name to predicate: a trajectory of which one holds scores exactly 0 under that
    name, whatever else it did. An honest reward has none; `flawed` shows what comes of one."""

    def __post_init__(self) -> None:
        for name, weight in self.weights.items():
            if name not in SIGNALS:
                raise unknown_name("reward signal", name, SIGNALS)
            if not math.isfinite(weight):
                raise ConfigError(f"the weight of `{name}` must be a finite number, got {weight!r}")

    @property
    def reads_outcome(self) -> bool:
        """True if it needs the hidden truth and so cannot score live traffic in full."""
        return any(SIGNALS[name].reads_outcome for name in self.weights)

    def score(self, trajectory: Trajectory) -> RewardReport:
        """Score one trajectory (see `RewardModel.score`).

        Excluded, besides `exclusions`: one that our own error ended (reason: the error) and one
        without any turn (`no_turns`).

        Raises:
            RewardError: a reaction's confidence is not a probability.
        """
        reason = self._exclusion(trajectory)
        if reason is not None:
            return RewardReport(total=None, excluded=reason, reward_model=self.name)
        num_turns = len(trajectory.turns)
        for name, holds in self.unpriced.items():
            if holds(trajectory):
                zeros = [0.0] * num_turns
                return RewardReport(
                    total=0.0, components={name: 0.0}, per_turn=zeros, reward_model=self.name
                )
        components: dict[str, float] = {}
        per_turn = [0.0] * num_turns
        for name, weight in self.weights.items():
            credits = SIGNALS[name].credits(trajectory)
            if credits is None:
                continue
            components[name] = weight * sum(credits.values())
            for turn, amount in credits.items():
                per_turn[turn] += weight * amount
        return RewardReport(
            total=sum(components.values()),
            components=components,
            per_turn=per_turn,
            reward_model=self.name,
        )

    def _exclusion(self, trajectory: Trajectory) -> str | None:
        if trajectory.end.is_error:
            return trajectory.end.value
        if not trajectory.turns:
            return "no_turns"
        return next((r for r, holds in self.exclusions.items() if holds(trajectory)), None)

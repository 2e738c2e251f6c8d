"""Three flaws that were found in production, each with a switch, and the repaired form beside it.

1. `discard_invalid` - a trajectory with any invalid tool call is thrown away, so breaking a call is
   the way out of a task that the policy expects to fail. *Repaired*: each invalid call costs, and
   the trajectory is scored.
2. `questions_free` - without an edit nothing can go wrong: the total is 0 and questions cost
   nothing, so asking instead of editing is always safe. *Repaired*: handing in nothing and needless
   questions are priced; questions that an ambiguous request justifies stay free.
3. `max_complexity` - a fall of the largest complexity of one function is rewarded, which cutting
   the code into tiny functions achieves. *Repaired*: the total complexity must not rise.

The first two follow reports about training on production traffic, the third an example given there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Literal

from ..errors import unknown_name
from ..trajectory import Trajectory
from .base import RewardModel
from .compose import Predicate, WeightedReward
from .distil import LIVE_WEIGHTS
from .signals import SIGNALS
from .work import has_edit

Kind = Literal["simulated", "live"]

SIMULATED_WEIGHTS: Mapping[str, float] = {
    "hidden_tests": 1.0,
    "acceptance": 0.2,
    "persistence": 0.3,
    "dissatisfaction": -0.15,
    "question_cost": -0.1,
    "nothing_delivered": -0.8,
    "time": -0.1,
    "complexity": -0.05,
    "invalid_calls": -0.2,
}
"""Weights of the repaired simulated reward: the truth first, then what the person made of it."""

WEIGHTS: Mapping[str, Mapping[str, float]] = {"simulated": SIMULATED_WEIGHTS, "live": LIVE_WEIGHTS}


@dataclass(slots=True, kw_only=True, frozen=True)
class Flaws:
    """Which flaws a reward has; none by default."""

    discard_invalid: bool = False
    questions_free: bool = False
    max_complexity: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the flaws that are switched on."""
        return tuple(field.name for field in fields(self) if getattr(self, field.name))


def make_reward(kind: Kind | str, flaws: Flaws | None = None) -> RewardModel:
    """Build a reward model.

    Args:
        kind: `simulated` (reads the hidden tests too) or `live` (reactions only).
        flaws: flaws to switch on; None for the repaired form of all.

    Raises:
        ConfigError: there is no such kind.
    """
    if kind not in WEIGHTS:
        raise unknown_name("kind of reward", kind, WEIGHTS)
    flaws = flaws or Flaws()
    weights = dict(WEIGHTS[kind])
    exclusions: dict[str, Predicate] = {}
    unpriced: dict[str, Predicate] = {}
    if flaws.discard_invalid:
        exclusions["invalid_call"] = _has_invalid_call
        del weights["invalid_calls"]
    if flaws.questions_free:
        unpriced["no_edit"] = _has_no_edit
        del weights["question_cost"], weights["nothing_delivered"]
    if flaws.max_complexity:
        del weights["complexity"]
        weights["max_complexity"] = 0.3
    return WeightedReward(
        name="+".join([kind, *flaws.names]),
        weights=weights,
        exclusions=exclusions,
        unpriced=unpriced,
    )


def _has_invalid_call(trajectory: Trajectory) -> bool:
    return bool(SIGNALS["invalid_calls"](trajectory))


def _has_no_edit(trajectory: Trajectory) -> bool:
    return not has_edit(trajectory)

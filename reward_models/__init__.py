"""Reward models: what happened in a trajectory, turned into named numbers that add up.

- `signals` - measurements, one number each; None where a trajectory cannot show it.
- `compose` - `WeightedReward`: signals times weights, credited to turns.
- `distil` - reactions of people turned into the live reward, and the *realised value*: what
  simulation and production are compared by, and what nobody trains on.
- `flawed` - three flaws found in production, a switch each, and their repaired form.
- `registry` - models by short name or `module:attribute`; `conformance` - rules checked by running.

A reward is a proxy. Its components keep their names into every report, so that a rise can be
explained, and an exclusion always carries its reason.

Example:
    >>> from sim2live.reward_models import Flaws, make_reward
    >>> make_reward("live", Flaws(discard_invalid=True)).name
    'live+discard_invalid'
"""

from .base import RewardModel
from .compose import WeightedReward
from .conformance import check_reward_model
from .distil import (
    Distilled,
    censored_share,
    distil_reactions,
    realised_value,
    value_per_turn,
)
from .flawed import Flaws, make_reward
from .registry import REWARDS, load_reward
from .signals import SIGNALS, Signal

__all__ = [
    "REWARDS",
    "SIGNALS",
    "Distilled",
    "Flaws",
    "RewardModel",
    "Signal",
    "WeightedReward",
    "censored_share",
    "check_reward_model",
    "distil_reactions",
    "load_reward",
    "make_reward",
    "realised_value",
    "value_per_turn",
]

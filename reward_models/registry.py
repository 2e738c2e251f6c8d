"""Reward models by short name, or by `module:attribute`."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial

from ..errors import ConfigError, unknown_name
from .base import RewardModel
from .flawed import WEIGHTS, Flaws, make_reward

_FLAWS = ("discard_invalid", "questions_free", "max_complexity")

REWARDS: dict[str, Callable[[], RewardModel]] = {
    "+".join(filter(None, (kind, flaw))): partial(
        make_reward, kind, Flaws(**({flaw: True} if flaw else {}))
    )
    for kind in WEIGHTS
    for flaw in ("", *_FLAWS)
}
"""Short name to factory: `simulated`, `live`, and each with one flaw (`live+questions_free`)."""


def load_reward(name: str) -> RewardModel:
    """Build a reward model from its short name or from `module:attribute`.

    The attribute may be a reward model, or a class or function that returns one when called without
    arguments. Importing it runs the module: name only code that you trust.

    Raises:
        ConfigError: the name is unknown, or what it names is no reward model.
    """
    if ":" not in name:
        if name not in REWARDS:
            raise unknown_name("reward model", name, REWARDS)
        return REWARDS[name]()
    module_name, _, attribute = name.partition(":")
    try:
        found = getattr(importlib.import_module(module_name), attribute)
    except (ImportError, AttributeError, ValueError) as cause:
        raise ConfigError(
            f"cannot load the reward model `{name}`: {cause}. Give a short name "
            f"({', '.join(REWARDS)}) or `module:attribute` of something importable."
        ) from cause
    is_factory = isinstance(found, type) or not hasattr(found, "score")
    model = found() if is_factory and callable(found) else found
    if not isinstance(model, RewardModel):
        raise ConfigError(
            f"`{name}` is a {type(model).__name__}, which is no reward model: it needs a `name` "
            "and a method `score(trajectory) -> RewardReport`"
        )
    return model

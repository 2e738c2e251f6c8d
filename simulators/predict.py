"""What a simulated person would do at a view, as probabilities."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Protocol, runtime_checkable

import numpy as np

from ..errors import ConfigError
from .base import User, UserView
from .decision import LABELS, labels_of


@runtime_checkable
class PredictsReactions(Protocol):
    """A user whose probabilities are known in closed form."""

    def reaction_probabilities(self, view: UserView) -> Mapping[str, float]:
        """Return the probability of each label of `decision.LABELS`."""
        ...


def predict(
    user: User,
    view: UserView,
    rng: np.random.Generator,
    *,
    draws: int = 64,
    smoothing: float = 0.5,
) -> dict[str, float]:
    """Return the probability that each kind of reaction is among what the user does at a view.

    A user that knows its probabilities is asked for them, any other is drawn from. Both are
    smoothed alike, p -> (p m + s) / (m + 2 s) for m draws and s = 0.5 (add-half, the Jeffreys prior
    of a proportion), so that no prediction is 0 or 1 and every log loss is finite.

    Args:
        user: the simulated person.
        view: where they are put.
        rng: chance of the draws.
        draws: how often they are asked, at least 1.
        smoothing: s above; 0 gives raw shares, for rates.

    Returns:
        Label to probability, for all of `decision.LABELS`: the values of `ReactionKind` (so that a
        kind can be the key) and the tones of follow-ups.

    Raises:
        ConfigError: `draws` below 1 or negative `smoothing`.
    """
    if draws < 1 or smoothing < 0:
        raise ConfigError(f"expected draws >= 1 and smoothing >= 0, got {draws} and {smoothing}")
    if isinstance(user, PredictsReactions):
        known = user.reaction_probabilities(view)
        shares = {label: float(known.get(label, 0.0)) for label in LABELS}
    else:
        counts: Counter[str] = Counter()
        for _ in range(draws):
            reactions = user.react(view, rng)
            counts.update({name for r in reactions for name in labels_of(r.kind, r.polarity)})
        shares = {label: counts[label] / draws for label in LABELS}
    return {
        label: (share * draws + smoothing) / (draws + 2 * smoothing)
        for label, share in shares.items()
    }

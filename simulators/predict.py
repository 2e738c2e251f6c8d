"""What a simulated person would do at a view, as probabilities."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from ..errors import ConfigError
from ..trajectory import Reaction
from .base import User, UserView
from .decision import LABELS, labels_of

Outcome = tuple[float, frozenset[str]]
"""A probability, and the labels (`decision.LABELS`) that the person shows together."""


@runtime_checkable
class PredictsReactions(Protocol):
    """A user whose probabilities are known in closed form."""

    def outcomes(self, view: UserView) -> Sequence[Outcome]:
        """Return everything they may do at a view; the probabilities add up to 1."""
        ...


def outcomes_of(
    user: User, view: UserView, rng: np.random.Generator, *, draws: int
) -> Sequence[Outcome]:
    """Return what a user may do at a view: exactly if they know it, else as draws of equal weight.

    Raises:
        ConfigError: `draws` below 1.
    """
    if draws < 1:
        raise ConfigError(f"expected draws >= 1, got {draws}")
    if isinstance(user, PredictsReactions):
        return user.outcomes(view)
    return [(1 / draws, labels_shown(user.react(view, rng))) for _ in range(draws)]


def labels_shown(reactions: Iterable[Reaction]) -> frozenset[str]:
    """Return the labels of some reactions."""
    return frozenset(name for r in reactions for name in labels_of(r.kind, r.polarity))


def label_probabilities(outcomes: Sequence[Outcome]) -> dict[str, float]:
    """Return the probability that each of `LABELS` is shown."""
    found = dict.fromkeys(LABELS, 0.0)
    for prob, labels in outcomes:
        for label in labels:
            found[label] += prob
    return found


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
    shares = label_probabilities(outcomes_of(user, view, rng, draws=draws))
    return {
        label: (share * draws + smoothing) / (draws + 2 * smoothing)
        for label, share in shares.items()
    }

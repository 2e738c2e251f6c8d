"""Simulated users in the place of one real person, to foretell what that person does next.

A panel is a sample of a simulated population. Its forecast is the members' mean, weighted by how
well each foretold what the person has done so far (Bayes' rule with the sample as prior; reactions
of one turn are taken as independent given the member).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from ..trajectory import ReactionKind
from .base import User, UserView
from .decision import LABELS, labels_of
from .predict import predict
from .scripted import ScriptedUser

MAX_PANEL = 16
"""Most simulated users a real one is compared with."""
_NUM_KINDS = len(ReactionKind)

FloatArray = npt.NDArray[np.float64]
MakeUser = Callable[[np.random.Generator], User]
"""Draws a simulated user."""


class Panel:
    """Simulated users with weights.

    Args:
        members: users and their weights, positive and adding up to 1.
        draws: draws a member and view, for members that do not know their probabilities.
    """

    def __init__(self, members: Sequence[tuple[User, float]], draws: int) -> None:
        self.members = [member for member, _ in members]
        self.weights = np.array([weight for _, weight in members])
        self.draws = draws
        self._last = np.zeros((len(members), len(LABELS)))

    @classmethod
    def draw(cls, make_user: MakeUser, rng: np.random.Generator, draws: int) -> Panel:
        """Draw a panel; scripted members with one persona are one member with their weight."""
        drawn = [make_user(rng) for _ in range(min(draws, MAX_PANEL))]
        merged: dict[object, tuple[User, float]] = {}
        for index, user in enumerate(drawn):
            key = user.persona if isinstance(user, ScriptedUser) else index
            _, weight = merged.get(key, (user, 0.0))
            merged[key] = (user, weight + 1 / len(drawn))
        return cls(list(merged.values()), math.ceil(draws / len(merged)))

    def predict(self, view: UserView, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Return the panel's probabilities (L,) and the labels (L,) of one draw."""
        self._last = np.array(
            [
                list(predict(user, view, rng, draws=self.draws, smoothing=0).values())
                for user in self.members
            ]
        )
        member = self.members[int(rng.choice(len(self.members), p=self.weights))]
        reactions = member.react(view, rng)
        sampled = indicator({n for r in reactions for n in labels_of(r.kind, r.polarity)})
        return self.weights @ self._last, sampled

    def learn(self, real: FloatArray, observable: npt.NDArray[np.bool_]) -> None:
        """Weight the members by what they gave to the reactions just seen (kinds only)."""
        p = smoothed(self._last[:, :_NUM_KINDS], self.draws)
        y = real[:_NUM_KINDS]
        logs = np.where(y > 0, np.log(p), np.log1p(-p)) * observable[:_NUM_KINDS]
        log_weights = np.log(self.weights) + logs.sum(1)
        weights = np.exp(log_weights - log_weights.max())
        # A floor keeps a member from being ruled out for good by one unlikely reaction.
        weights = np.maximum(weights / weights.sum(), 1e-6)
        self.weights = weights / weights.sum()


def smoothed(share: FloatArray, draws: int) -> FloatArray:
    """Return shares of `draws`, smoothed by add-half, strictly between 0 and 1."""
    return np.asarray((share * draws + 0.5) / (draws + 1))


def indicator(labels: set[str]) -> FloatArray:
    """Return an array (L,) with 1 for each of `LABELS` that is in the set."""
    return np.array([float(label in labels) for label in LABELS])

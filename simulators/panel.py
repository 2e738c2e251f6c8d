"""Simulated users in the place of one real person, to foretell what that person does next.

A panel is a sample of a simulated population. Its forecast is the members' mean, weighted by how
well each foretold what the person has done so far (Bayes' rule with the sample as prior).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet

import numpy as np
import numpy.typing as npt

from ..trajectory import ReactionKind
from .base import User, UserView
from .decision import LABELS, decide, outcomes
from .predict import Outcome, PredictsReactions, label_probabilities, outcomes_of
from .scripted import ScriptedUser
from .situation import read_view

MAX_PANEL = 16
"""Most simulated users a real one is compared with."""
EXACT_DRAWS = 1000
"""Draws that an exact probability counts as when it is smoothed."""
WEIGHT_FLOOR = 1e-6
KINDS = frozenset(kind.value for kind in ReactionKind)

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
        is_exact = all(isinstance(user, PredictsReactions) for user in self.members)
        self._member_draws = EXACT_DRAWS if is_exact else draws
        self._panel_draws = EXACT_DRAWS if is_exact else draws * len(members)
        self._last: list[Sequence[Outcome]] = []

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
        situation = read_view(view)
        self._last = [
            outcomes(decide(user.persona, situation))  # the view is read once for all
            if isinstance(user, ScriptedUser)
            else outcomes_of(user, view, rng, draws=self.draws)
            for user in self.members
        ]
        probs = np.array([list(label_probabilities(found).values()) for found in self._last])
        found = self._last[int(rng.choice(len(self.members), p=self.weights))]
        chances = np.array([prob for prob, _ in found])
        _, sampled = found[int(rng.choice(len(found), p=chances / chances.sum()))]
        return self.weights @ probs, indicator(sampled)

    def forecast(self, probs: FloatArray) -> FloatArray:
        """Return probabilities smoothed for scoring: the more, the fewer draws they rest on."""
        return smoothed(probs, self._panel_draws)

    def learn(self, real: AbstractSet[str], observable: AbstractSet[str]) -> None:
        """Weight the members by the probability they gave to the kinds of reaction just seen.

        Args:
            real: labels that the person showed at the view last predicted.
            observable: labels that they could have shown; the others tell nothing.
        """
        kinds = observable & KINDS
        seen = real & kinds
        likelihood = np.array(
            [sum(prob for prob, labels in found if labels & kinds == seen) for found in self._last]
        )
        weights = self.weights * smoothed(likelihood, self._member_draws)
        # A floor keeps a member from being ruled out for good by one unlikely reaction.
        weights = np.maximum(weights / weights.sum(), WEIGHT_FLOOR)
        self.weights = weights / weights.sum()


def smoothed(share: FloatArray, draws: int) -> FloatArray:
    """Return shares of `draws`, smoothed by add-half, strictly between 0 and 1."""
    return np.asarray((share * draws + 0.5) / (draws + 1))


def indicator(labels: AbstractSet[str]) -> FloatArray:
    """Return an array (L,) with 1 for each of `LABELS` that is in the set."""
    return np.array([float(label in labels) for label in LABELS])

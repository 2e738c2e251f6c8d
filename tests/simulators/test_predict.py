from collections.abc import Callable

import numpy as np
import pytest

from sim2live.errors import ConfigError
from sim2live.simulators import LABELS, PERSONAS, Brief, ScriptedUser, UserView, predict
from sim2live.trajectory import Polarity, Reaction, ReactionKind

Views = dict[str, Callable[..., UserView]]


class Coin:
    """A user without a closed form: complains with probability 0.3."""

    user_id = "coin"

    def open(self, brief: Brief) -> str:
        return brief.goal

    def react(self, view: UserView, rng: np.random.Generator) -> list[Reaction]:
        if rng.random() >= 0.3:
            return []
        return [
            Reaction(kind=ReactionKind.FOLLOW_UP, turn=0, polarity=Polarity.DISSATISFIED)
        ] * 2  # two remarks are one occurrence


def test_draws_recover_the_probability_with_add_half_smoothing(views_of: Views) -> None:
    found = predict(Coin(), views_of["work"](), np.random.default_rng(0), draws=4000)
    assert found[ReactionKind.FOLLOW_UP] == pytest.approx(0.3, abs=0.03)
    assert found["follow_up/dissatisfied"] == found["follow_up"]
    assert found["accept"] == pytest.approx(0.5 / 4001)
    assert set(found) == set(LABELS)


def test_a_closed_form_is_used_and_smoothed_alike(views_of: Views) -> None:
    user, view = ScriptedUser(PERSONAS["strict"]), views_of["hand_in"](1)
    rng = np.random.default_rng(0)
    raw = predict(user, view, rng, smoothing=0)
    assert raw == pytest.approx(user.reaction_probabilities(view))
    smooth = predict(user, view, rng, draws=10)
    assert smooth["reject"] == pytest.approx((10 * raw["reject"] + 0.5) / 11)
    assert all(0 < p < 1 for p in smooth.values())
    assert rng.bit_generator.state == np.random.default_rng(0).bit_generator.state


def test_bad_sizes_are_refused(views_of: Views) -> None:
    with pytest.raises(ConfigError, match="draws"):
        predict(Coin(), views_of["work"](), np.random.default_rng(0), draws=0)

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from sim2live.simulators import LABELS, PERSONAS, Panel, ScriptedUser, UserView, labels_shown

Views = dict[str, Callable[..., UserView]]
SOFT = ScriptedUser(replace(PERSONAS["default"], strictness=0.2, review_depth=1.0))
HARD = ScriptedUser(replace(PERSONAS["default"], strictness=0.8, review_depth=1.0))
REJECT = LABELS.index("reject")


def test_a_forecast_is_the_mean_of_the_members(views_of: Views) -> None:
    panel = Panel([(SOFT, 0.25), (HARD, 0.75)], draws=8)
    probs, sampled = panel.predict(views_of["hand_in"](1), np.random.default_rng(0))
    assert probs[REJECT] == pytest.approx(0.25 * 0.2 + 0.75 * 0.8)
    assert set(sampled) <= {0.0, 1.0}


def test_weights_follow_bayes(views_of: Views) -> None:
    panel = Panel([(SOFT, 0.5), (HARD, 0.5)], draws=8)
    rng, view = np.random.default_rng(0), views_of["hand_in"](1)
    panel.predict(view, rng)
    panel.learn({"reject"}, set(LABELS))
    # Refusing and letting the agent go on has probability strictness times reject_retry.
    assert panel.weights == pytest.approx([0.2, 0.8], abs=0.005)
    panel.predict(view, rng)
    panel.learn({"accept", "persist"}, set(LABELS) - {"follow_up", "undo"})
    assert panel.weights == pytest.approx([0.5, 0.5], abs=0.01)


def test_what_could_not_be_seen_teaches_nothing(views_of: Views) -> None:
    panel = Panel([(SOFT, 0.5), (HARD, 0.5)], draws=8)
    panel.predict(views_of["hand_in"](1), np.random.default_rng(0))
    panel.learn(set(), {"steer"})
    assert panel.weights == pytest.approx([0.5, 0.5])


def test_the_sampled_draw_has_the_forecast_probability(views_of: Views) -> None:
    panel = Panel([(SOFT, 0.25), (HARD, 0.75)], draws=8)
    rng, view = np.random.default_rng(0), views_of["hand_in"](1)
    draws = np.array([panel.predict(view, rng)[1] for _ in range(1500)])
    assert draws.mean(0) == pytest.approx(panel.predict(view, rng)[0], abs=0.05)


def test_members_of_one_persona_are_merged_and_drawn_ones_are_not(views_of: Views) -> None:
    class Drawn:
        user_id = "drawn"
        open = SOFT.open
        react = SOFT.react

    rng = np.random.default_rng(0)
    alike = Panel.draw(lambda r: ScriptedUser(SOFT.persona, seed=int(r.integers(99))), rng, 64)
    assert (len(alike.members), alike.weights.tolist()) == (1, [pytest.approx(1.0)])
    drawn = Panel.draw(lambda r: Drawn(), rng, 64)
    assert (len(drawn.members), drawn.draws) == (16, 4)
    probs, _ = drawn.predict(views_of["hand_in"](1), rng)
    assert probs[REJECT] == pytest.approx(0.2, abs=0.2)
    assert 0 < drawn.forecast(probs).min() <= drawn.forecast(probs).max() < 1
    drawn.learn(labels_shown([]), set(LABELS))
    assert drawn.weights.sum() == pytest.approx(1)

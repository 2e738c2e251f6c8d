"""How a person takes code that was to read better."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim2live.simulators import PERSONAS, Brief
from sim2live.simulators.base import Trial, UserView
from sim2live.simulators.decision import NOTICED_GAIN, decide, reading_verdict
from sim2live.simulators.scripted import ScriptedUser
from sim2live.simulators.situation import read_view
from sim2live.trajectory import ReactionKind, ToolCall, Turn

BRIEF = Brief(task_id="t", goal="`f` is hard to read", kind_hint="it says not not", is_tidying=True)
DIFF = "--- a/m.py\n+++ b/m.py\n@@ -1 +1 @@\n-x\n+y\n"
STRICT = PERSONAS["strict"]


def view(gain: float, *, num_wrong: int = 0, diff: str = DIFF) -> UserView:
    call = ToolCall(id="c", name="submit", arguments={"message": "done"})
    return UserView(
        brief=BRIEF,
        request="`f` is hard to read.",
        turns=[Turn(tool_calls=[call])],
        diff=diff,
        is_submitted=True,
        trial=Trial(num_tried=3, num_wrong=num_wrong, gain=gain),
    )


def odds(persona, one: UserView) -> dict[str, float]:
    return ScriptedUser(persona).reaction_probabilities(one)


@given(st.floats(-0.9, 0.9), st.sampled_from(sorted(PERSONAS)), st.booleans())
def test_the_courses_add_up_to_one(gain: float, name: str, is_wrong: bool) -> None:
    choices = decide(PERSONAS[name], read_view(view(gain, num_wrong=int(is_wrong))))
    assert sum(choice.prob for choice in choices) == pytest.approx(1.0)
    assert all(choice.prob > 0 for choice in choices)


def test_the_more_readable_the_more_likely_it_is_taken() -> None:
    accepted = [odds(STRICT, view(gain))["accept"] for gain in (-0.1, 0.0, 0.02, 0.05, 0.15)]
    assert accepted == sorted(accepted)
    assert accepted[0] < 0.1
    assert accepted[-1] > 0.95


def test_who_reviews_less_reads_less_exactly() -> None:
    sharp, dull = (reading_verdict(replace(STRICT, review_depth=d), 0.05) for d in (1.0, 0.2))
    assert sharp[0] > dull[0] > 0.5
    assert dull[1] > sharp[1]
    assert reading_verdict(STRICT, NOTICED_GAIN)[0] == pytest.approx(0.5)


def test_broken_behaviour_is_refused_whatever_it_reads_like() -> None:
    assert odds(STRICT, view(0.3, num_wrong=1))["reject"] > 0.9


def test_no_difference_is_refused_less_often_than_a_loss() -> None:
    none, loss = (odds(STRICT, view(gain))["reject"] for gain in (0.0, -0.1))
    assert 0.4 < none < loss


def test_the_words_are_about_reading() -> None:
    user = ScriptedUser(STRICT)
    assert "fix" not in user.open(BRIEF) and "repair" not in user.open(BRIEF)
    chopped = "--- a/m.py\n+++ b/m.py\n@@ -1 +1,6 @@\n" + "".join(
        f"+def _c{n}(a):\n+    return a\n" for n in range(3)
    )
    said = set()
    for seed in range(20):
        for one in (view(-0.2, diff=chopped), view(-0.2), view(0.0)):
            for reaction in user.react(one, np.random.default_rng(seed)):
                if reaction.kind is ReactionKind.REJECT:
                    said.add(reaction.text)
    text = " ".join(map(str, said))
    assert "tiny functions" in text and "harder to read" in text
    assert "it says not not" in text  # a refusal for no difference tells what bothers them

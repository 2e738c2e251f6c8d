"""What a person wants and has not written down: told when asked, or when they refuse."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from sim2live.simulators import PERSONAS, Brief, ScriptedUser, UserView, read_view
from sim2live.simulators.situation import known_facts
from sim2live.trajectory import Message, ReactionKind

Views = dict[str, Callable[..., UserView]]
ONE, OTHER = "halves go up", "zero has no digits"
NEW = Brief(task_id="t", goal="`f` has no body yet", wishes=(ONE, OTHER), is_new=True)
UNKNOWN = ("I don't know", "No idea", "I'm not sure")


def person(**changes: float) -> ScriptedUser:
    return ScriptedUser(replace(PERSONAS["default"], **changes), user_id="u")


def answer(user: ScriptedUser, view: UserView, seed: int) -> str:
    reactions = user.react(view, np.random.default_rng(seed))
    (text,) = [r.text for r in reactions if r.kind is ReactionKind.ANSWER]
    assert text is not None
    return text


def test_the_opening_never_tells_a_wish() -> None:
    for seed in range(40):
        said = ScriptedUser(PERSONAS["default"], user_id="u", seed=seed).open(NEW)
        assert NEW.goal in said
        assert ONE not in said and OTHER not in said


def test_an_asked_person_tells_each_wish_with_the_quality_of_their_answers(views_of: Views) -> None:
    view = views_of["asked"](0, NEW)
    for quality in (0.0, 0.5, 1.0):
        said = [answer(person(answer_quality=quality), view, seed) for seed in range(400)]
        for wish in (ONE, OTHER):
            share = np.mean([wish in text for text in said])
            assert share == pytest.approx(quality, abs=0.07)
        for text in said:
            tells = ONE in text or OTHER in text
            assert tells != any(phrase in text for phrase in UNKNOWN)


def test_a_question_is_needed_until_every_wish_is_told(views_of: Views) -> None:
    view = views_of["asked"](0, NEW)
    assert read_view(view).needless == 0
    heard = replace(view, request=f"What I want: {ONE}.")
    assert read_view(heard).needless == 0
    assert read_view(heard).untold == ("wish-2",)
    heard.turns[-1].observation.append(Message.of("user", f"And {OTHER}."))
    assert read_view(heard).untold == ()
    assert read_view(heard).needless == 1


def test_who_has_told_all_points_back_and_does_not_plead_ignorance(views_of: Views) -> None:
    for brief in (NEW, replace(NEW, wishes=())):
        view = replace(views_of["asked"](0, brief), request=f"{ONE}. {OTHER}.")
        texts = {answer(person(), view, seed) for seed in range(30)}
        assert not any(phrase in text for text in texts for phrase in UNKNOWN)


def test_a_refusal_of_work_that_goes_against_a_wish_says_one(views_of: Views) -> None:
    user = person(strictness=1.0, review_depth=1.0, reject_retry=1.0)
    said = []
    for seed in range(60):
        view = views_of["hand_in"](num_wrong=1, brief=NEW)
        (refusal,) = user.react(view, np.random.default_rng(seed))
        assert refusal.kind is ReactionKind.REJECT and refusal.text
        said.append((ONE in refusal.text, OTHER in refusal.text))
    assert {(True, False), (False, True)} == set(said)


def test_nobody_who_wants_something_new_speaks_of_repair(views_of: Views) -> None:
    views = [
        views_of["work"](30, brief=NEW),
        views_of["hand_in"](num_wrong=0, diff="", brief=NEW),
        views_of["hand_in"](diff="+++ b/tests/test_m.py\n+x\n", brief=NEW),
        *(views_of["asked"](number, NEW) for number in range(6)),
    ]
    user = person(annoyance=1.0, reject_retry=1.0)
    texts = [user.open(replace(NEW, task_id=str(number))) for number in range(30)]
    for view in views:
        for seed in range(40):
            texts += [r.text or "" for r in user.react(view, np.random.default_rng(seed))]
    assert len(set(texts)) > 20
    for text in texts:
        assert not any(word in text for word in ("repair", "broken", "fix", "fails"))


def test_an_unset_wish_leaves_the_text_that_task_hashes_rest_on() -> None:
    assert repr(Brief(task_id="t", goal="g")) == (
        "Brief(task_id='t', goal='g', kind_hint=None, place_hint=None, example=None, "
        "is_plural=False, opening=())"
    )
    assert f"wishes={NEW.wishes!r}" in repr(NEW)
    assert known_facts(NEW) == {"wish-1": ONE, "wish-2": OTHER}

import itertools
from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim2live.simulators import (
    LABELS,
    PERSONAS,
    Brief,
    ScriptedUser,
    Trial,
    User,
    UserView,
    labels_shown,
)
from sim2live.simulators.decision import decide
from sim2live.simulators.situation import read_view
from sim2live.trajectory import (
    Evidence,
    Message,
    Polarity,
    Reaction,
    ReactionKind,
    ToolCall,
    ToolResult,
    Turn,
)

Views = dict[str, Callable[..., UserView]]
DEFAULT = PERSONAS["default"]


def person(**changes: float) -> ScriptedUser:
    return ScriptedUser(replace(DEFAULT, **changes), user_id="u")


def prob(label: str, view: UserView, **changes: float) -> float:
    return person(**changes).reaction_probabilities(view)[label]


def assert_rising(values: list[float]) -> None:
    assert all(b > a for a, b in itertools.pairwise(values)), values


def test_it_is_a_user() -> None:
    assert isinstance(person(), User)


# --- opening ---------------------------------------------------------------------------------


def test_opening_gives_the_goal_and_exactly_the_allowed_facts(brief: Brief) -> None:
    facts = {"kind": brief.kind_hint, "place": brief.place_hint, "example": brief.example}
    for size in range(4):
        for allowed in itertools.combinations(facts, size):
            for seed in range(20):
                text = ScriptedUser(DEFAULT, seed=seed).open(replace(brief, opening=allowed))
                assert brief.goal in text
                assert {name for name, fact in facts.items() if fact in text} == set(allowed)


def test_opening_is_fixed_by_brief_persona_and_seed_and_varies_between_them(brief: Brief) -> None:
    said = {ScriptedUser(DEFAULT, seed=seed).open(brief) for seed in range(40)}
    assert len(said) > 10
    assert ScriptedUser(DEFAULT, seed=3).open(brief) == ScriptedUser(DEFAULT, seed=3).open(brief)


def test_vagueness_withholds_facts_and_a_vaguer_person_tells_a_subset(brief: Brief) -> None:
    facts = (brief.kind_hint or "", brief.place_hint or "", brief.example or "")
    told = []
    for vagueness in (0.0, 0.3, 0.7, 1.0):
        texts = [
            ScriptedUser(replace(DEFAULT, vagueness=vagueness), seed=s).open(brief)
            for s in range(200)
        ]
        told.append([{fact for fact in facts if fact in text} for text in texts])
    means = [np.mean([len(one) for one in level]) for level in told]
    assert means == pytest.approx([3.0, 2.1, 0.9, 0.0], abs=0.25)
    for clearer, vaguer in itertools.pairwise(told):
        assert all(v <= c for c, v in zip(clearer, vaguer, strict=True))


def test_only_a_plural_brief_is_opened_as_plural(brief: Brief) -> None:
    for seed in range(30):
        user = ScriptedUser(DEFAULT, seed=seed)
        assert "more than one" not in user.open(brief).lower()
        assert "more than one" in user.open(replace(brief, is_plural=True)).lower()


# --- each parameter --------------------------------------------------------------------------


def test_patience_delays_complaints_and_leaving(views_of: Views) -> None:
    late = views_of["work"](14)
    for labels in (("interrupt",), ("leave",), ("leave", "steer", "follow_up")):
        levels = [{"patience_turns": p} for p in (11.0, 8.0, 5.0, 2.0)]
        assert_rising([sum(prob(label, late, **level) for label in labels) for level in levels])
    assert prob("leave", late, patience_turns=14) == 0


def test_impatience_grows_with_work_and_with_broken_calls(views_of: Views) -> None:
    views = [views_of["work"](n) for n in (13, 16, 20, 30)]
    assert_rising([prob("leave", view) for view in views])
    broken = deepcopy(views[0])
    for turn in broken.turns:
        turn.tool_calls[0].error = "unknown tool"
    assert prob("leave", broken) > prob("leave", views[0])


def test_work_counts_from_the_last_answered_hand_in(views_of: Views) -> None:
    view = views_of["work"](20)
    refused = deepcopy(view)
    refused.turns[15].tool_calls[0].name = "submit"
    refused.turns[16].observation = [Message.of("user", "No.")]
    assert prob("leave", view) > 0
    assert prob("leave", refused) == 0


def test_strictness_and_review_depth_make_refusals_of_wrong_changes(views_of: Views) -> None:
    wrong = views_of["hand_in"](num_wrong=1)
    levels = (0.1, 0.4, 0.7, 1.0)
    assert_rising([prob("reject", wrong, strictness=s, review_depth=0.8) for s in levels])
    assert_rising([prob("reject", wrong, strictness=0.8, review_depth=r) for r in levels])
    assert prob("reject", wrong, strictness=0.5, review_depth=0.8) == pytest.approx(0.4)


def test_a_right_change_is_never_refused_or_undone(views_of: Views) -> None:
    found = person().reaction_probabilities(views_of["hand_in"](num_wrong=0))
    assert (found["reject"], found["undo"]) == (0, 0)
    assert found["accept"] == found["persist"] == pytest.approx(1.0)


def test_what_is_missed_is_undone_by_late_discovery(views_of: Views) -> None:
    wrong = views_of["hand_in"](num_wrong=2)
    levels = (0.0, 0.3, 0.6, 1.0)
    assert_rising([prob("undo", wrong, late_discovery=p, review_depth=0.2) for p in levels])
    assert prob("undo", wrong, late_discovery=0.5, review_depth=0.2) == pytest.approx(0.4)
    assert prob("undo", wrong, late_discovery=1.0, review_depth=1.0) == 0


def test_needed_questions_are_welcome_and_needless_ones_tolerated_up_to_a_count(
    views_of: Views, brief: Brief
) -> None:
    ignorant = replace(brief, kind_hint=None, place_hint=None)
    assert prob("leave", views_of["asked"](1), question_tolerance=0) == 0
    assert prob("leave", views_of["asked"](0, ignorant), question_tolerance=1) == 0
    levels = (4, 3, 1, 0)
    view = views_of["asked"](4, ignorant)
    assert_rising([prob("leave", view, question_tolerance=t) for t in levels])
    assert_rising([prob("leave", views_of["asked"](n, ignorant)) for n in (2, 4, 6)])


def test_a_question_about_what_was_told_is_needless(views_of: Views, brief: Brief) -> None:
    view = views_of["asked"](0)
    told = replace(view, request=f"{brief.goal}: {brief.kind_hint}, {brief.place_hint}")
    assert read_view(view).needless == 0
    assert read_view(told).needless == 1


def test_asking_for_ever_is_not_needed_for_ever(views_of: Views) -> None:
    assert [read_view(views_of["asked"](n)).needless for n in range(5)] == [0, 0, 1, 2, 3]


def test_annoyance_turns_complaints_on(views_of: Views, brief: Brief) -> None:
    ignorant = replace(brief, kind_hint=None, place_hint=None)
    for view in (views_of["work"](16), views_of["asked"](5, ignorant)):
        levels = (0.0, 0.3, 0.6, 1.0)
        assert_rising([prob("follow_up/dissatisfied", view, annoyance=a) for a in levels])


def test_reject_retry_keeps_the_agent_going(views_of: Views) -> None:
    wrong = views_of["hand_in"](num_wrong=1)
    assert_rising([prob("leave", wrong, reject_retry=r) for r in (1.0, 0.7, 0.3, 0.0)])
    assert prob("leave", wrong, reject_retry=1.0) == 0
    again = deepcopy(wrong)
    again.turns[0].reactions = [Reaction(kind=ReactionKind.REJECT, turn=0)]
    assert prob("leave", again, reject_retry=1.0) > 0


def test_verbosity_makes_thanks(views_of: Views) -> None:
    right = views_of["hand_in"]()
    levels = (0.0, 0.3, 0.6, 1.0)
    assert_rising([prob("follow_up/satisfied", right, verbosity=v) for v in levels])


def test_answer_quality_gives_the_kind_and_half_as_often_the_place(
    views_of: Views, brief: Brief, rng: np.random.Generator
) -> None:
    user = person(answer_quality=0.6)
    texts = [user.react(views_of["asked"](0), rng)[0].text or "" for _ in range(2000)]
    assert np.mean([(brief.kind_hint or "") in text for text in texts]) == pytest.approx(
        0.6, abs=0.05
    )
    assert np.mean([(brief.place_hint or "") in text for text in texts]) == pytest.approx(
        0.3, abs=0.05
    )


def test_delays_follow_latency_and_the_horizon(views_of: Views, rng: np.random.Generator) -> None:
    for latency_s in (5.0, 50.0):
        user = person(latency_s=latency_s, verbosity=0, persist_delay_s=1000.0)
        delays = [user.react(views_of["asked"](0), rng)[0].delay_s or 0.0 for _ in range(1500)]
        assert np.median(delays) == pytest.approx(latency_s, rel=0.12)
    user = person(review_depth=0.0, late_discovery=0.5, latency_s=0.1, persist_delay_s=1000.0)
    late: dict[ReactionKind, list[float]] = {ReactionKind.UNDO: [], ReactionKind.PERSIST: []}
    for _ in range(800):
        for reaction in user.react(views_of["hand_in"](num_wrong=1), rng):
            if reaction.kind in late:
                late[reaction.kind].append(reaction.delay_s or 0.0)
    assert set(late[ReactionKind.PERSIST]) == {1000.0}
    undone = np.array(late[ReactionKind.UNDO])
    assert (undone.min() > 0) and (undone.max() <= 1000)
    # Mean of an exponential of mean h/4 truncated at h: h/4 - h / (e^4 - 1).
    assert undone.mean() == pytest.approx(250 - 1000 / np.expm1(4), rel=0.1)


# --- what is noticed -------------------------------------------------------------------------


def test_an_empty_change_is_refused(views_of: Views) -> None:
    assert prob("reject", views_of["hand_in"](diff="")) == pytest.approx(1.0)


@pytest.mark.parametrize("path", ["tests/test_visible.py", "pkg/test_x.py", "a/conftest.py"])
def test_changed_tests_are_noticed_on_review_although_the_trial_is_fine(
    views_of: Views, path: str
) -> None:
    diff = f"--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-    assert f(1) == 2\n+    assert True\n"
    view = views_of["hand_in"](diff=diff)
    assert prob("reject", view, review_depth=0.7) == pytest.approx(0.7)


@pytest.mark.parametrize("path", ["latest.py", "contest/m.py", "src/attest_me.py"])
def test_files_that_only_sound_like_tests_are_not_mistaken_for_them(
    views_of: Views, path: str
) -> None:
    diff = f"--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"
    assert prob("reject", views_of["hand_in"](diff=diff)) == 0


def test_code_cut_into_tiny_functions_is_disliked_on_review(views_of: Views) -> None:
    helpers = "".join(f"+def _c{i}(x):\n+    return x > {i}\n+\n" for i in range(4))
    chopped = views_of["hand_in"](diff="--- a/m.py\n+++ b/m.py\n@@ -1 +9 @@\n" + helpers)
    label = "follow_up/dissatisfied"
    assert prob(label, views_of["hand_in"]()) == 0
    assert prob(label, chopped, review_depth=0.8) > prob(label, chopped, review_depth=0.2) > 0


def test_without_a_trial_the_shown_tests_decide(views_of: Views) -> None:
    def with_tests(text: str) -> float:
        view = deepcopy(views_of["hand_in"](trial=None))
        view.turns[1].tool_calls[0].name = "Bash"
        view.turns[1].results[0].text = text
        return prob("reject", view)

    assert (
        with_tests("=== 3 passed in 0.1s ===")
        < with_tests("done")
        < with_tests("1 failed, 2 passed")
    )


# --- facts -----------------------------------------------------------------------------------


def test_known_untold_facts_are_given_once(views_of: Views, brief: Brief) -> None:
    user = person(answer_quality=1.0)
    rng = np.random.default_rng(1)
    view = views_of["asked"](0)
    text = user.react(view, rng)[0].text or ""
    assert brief.kind_hint is not None and brief.kind_hint in text
    earlier = deepcopy(view.turns[0])
    earlier.results[0].text = f"{brief.kind_hint}, {brief.place_hint}, {brief.example}"
    again = replace(view, turns=[earlier, *view.turns])
    answers = {user.react(again, rng)[0].text or "" for _ in range(50)}
    assert all(brief.kind_hint not in answer for answer in answers)


def test_who_knows_nothing_says_so_in_the_usual_words(views_of: Views, brief: Brief) -> None:
    ignorant = replace(brief, kind_hint=None, place_hint=None, example=None)
    rng = np.random.default_rng(1)
    for _ in range(30):
        text = person().react(views_of["asked"](0, ignorant), rng)[0].text or ""
        assert any(phrase in text for phrase in ("don't know", "No idea", "not sure"))


def test_a_refusal_says_why_with_an_untold_fact(views_of: Views, brief: Brief) -> None:
    facts = (brief.kind_hint or "", brief.place_hint or "", brief.example or "")
    view = views_of["hand_in"](num_wrong=1)
    user = person(strictness=1.0, review_depth=1.0, reject_retry=1.0)
    rng = np.random.default_rng(1)
    texts = [user.react(view, rng)[0].text or "" for _ in range(60)]
    assert all(sum(fact in text for fact in facts) == 1 for text in texts)
    assert all(any(fact in text for text in texts) for fact in facts)


# --- a function of the view ------------------------------------------------------------------


def test_the_same_view_and_chance_give_the_same_reactions(views_of: Views) -> None:
    for view in (views_of["work"](20), views_of["asked"](3), views_of["hand_in"](1)):
        first = person().react(view, np.random.default_rng(5))
        user = person()
        for _ in range(3):  # whatever it did before must not matter
            user.react(views_of["hand_in"](1), np.random.default_rng(9))
        assert user.react(deepcopy(view), np.random.default_rng(5)) == first


def test_stated_probabilities_are_those_of_the_reactions_drawn(views_of: Views) -> None:
    rng = np.random.default_rng(2)
    n = 1500
    chopped = "--- a/m.py\n+++ b/m.py\n" + "+def f():\n+    pass\n" * 4
    for view in (
        views_of["work"](16),
        views_of["asked"](5),
        views_of["hand_in"](1),
        views_of["hand_in"](0, diff=chopped),
        views_of["hand_in"](0, trial=None, question="And now?"),
    ):
        user = person(patience_turns=8, review_depth=0.6, strictness=0.7, annoyance=0.5)
        counts: Counter[str] = Counter()
        for _ in range(n):
            counts.update(labels_shown(user.react(view, rng)))
        stated = user.reaction_probabilities(view)
        for label in LABELS:
            sd = np.sqrt(stated[label] * (1 - stated[label]) / n)
            assert abs(counts[label] / n - stated[label]) <= 4 * sd + 1e-9, label


def test_a_person_who_has_left_or_reacted_does_no_more(views_of: Views) -> None:
    rng = np.random.default_rng(0)
    gone = deepcopy(views_of["hand_in"](1))
    gone.turns[0].reactions = [Reaction(kind=ReactionKind.LEAVE, turn=0)]
    assert person().react(gone, rng) == []
    done = deepcopy(views_of["hand_in"](1))
    done.turns[-1].reactions = [Reaction(kind=ReactionKind.ACCEPT, turn=2)]
    assert person().react(done, rng) == []
    assert [r.kind for r in person().react(replace(done, question="?"), rng)] == ["answer"]


# --- anything at all -------------------------------------------------------------------------

NAMES = st.sampled_from(
    ["read_file", "edit_file", "submit", "ask_user", "AskUserQuestion", "Bash", "", "\x00"]
)
TEXT = st.one_of(st.none(), st.text(max_size=30), st.just("3 failed"), st.just("Done?"))
CALLS = st.builds(
    ToolCall,
    id=st.sampled_from(["a", "b"]),
    name=NAMES,
    arguments=st.one_of(
        st.none(),
        st.dictionaries(st.sampled_from(["question", "questions", "path"]), TEXT, max_size=2),
        st.just({"questions": [{"question": "Which?"}]}),
        st.just({"questions": ["odd"]}),
    ),
    error=st.sampled_from([None, "bad"]),
)
RESULTS = st.builds(
    ToolResult,
    call_id=st.sampled_from(["a", "b", None]),
    text=TEXT,
    ok=st.sampled_from([None, True, False]),
    denied_by=st.sampled_from([None, "user"]),
)
REACTIONS = st.builds(
    Reaction, kind=st.sampled_from(list(ReactionKind)), turn=st.just(0), text=TEXT
)
TURNS = st.builds(
    Turn,
    observation=st.lists(
        st.builds(Message.of, st.sampled_from(["user", "system"]), TEXT),
        max_size=2,
    ),
    text=TEXT,
    tool_calls=st.lists(CALLS, max_size=3),
    results=st.lists(RESULTS, max_size=3),
    reactions=st.lists(REACTIONS, max_size=2),
)
BRIEFS = st.builds(
    Brief,
    task_id=st.text(max_size=5),
    goal=st.text(max_size=20),
    kind_hint=TEXT,
    place_hint=TEXT,
    example=TEXT,
    is_plural=st.booleans(),
    opening=st.lists(st.sampled_from(["kind", "place", "example", "?"])).map(tuple),
)
VIEWS = st.builds(
    UserView,
    brief=BRIEFS,
    request=st.text(max_size=20),
    turns=st.lists(TURNS, max_size=5),
    diff=st.one_of(st.just(""), st.text(max_size=60), st.just("+++ b/tests/t.py\n+def f():\n")),
    elapsed_s=st.floats(0, 1e9),
    is_submitted=st.booleans(),
    question=TEXT,
    trial=st.one_of(
        st.none(),
        st.builds(Trial, num_tried=st.integers(0, 3), num_wrong=st.integers(0, 3)),
    ),
)


@given(view=VIEWS, seed=st.integers(0, 2**32), name=st.sampled_from(sorted(PERSONAS)))
def test_any_view_gives_well_formed_reactions(view: UserView, seed: int, name: str) -> None:
    user = ScriptedUser(PERSONAS[name])
    opened = user.open(view.brief)
    assert view.brief.goal in opened
    before = deepcopy(view)
    choices = decide(user.persona, read_view(view))
    assert sum(choice.prob for choice in choices) == pytest.approx(1.0)
    assert all(0 < choice.prob <= 1 + 1e-12 for choice in choices)
    reactions = user.react(view, np.random.default_rng(seed))
    assert view == before
    kinds = [reaction.kind for reaction in reactions]
    assert len(set(kinds)) == len(kinds)
    was_gone = any(r.kind is ReactionKind.LEAVE for t in view.turns for r in t.reactions)
    last = view.turns[-1].reactions if view.turns else []
    owes = view.question is not None and not any(r.kind is ReactionKind.ANSWER for r in last)
    if owes and not was_gone:
        assert (ReactionKind.ANSWER in kinds) != (ReactionKind.LEAVE in kinds)
    else:
        assert ReactionKind.ANSWER not in kinds
    assert not {ReactionKind.ACCEPT, ReactionKind.REJECT} <= set(kinds)
    if not view.is_submitted:
        assert not set(kinds) & {"accept", "reject", "undo", "persist"}
    delays = [reaction.delay_s for reaction in reactions]
    assert all(delay is not None and np.isfinite(delay) and delay >= 0 for delay in delays)
    assert delays == sorted(delays, key=float)
    for reaction in reactions:
        assert reaction.turn == max(0, len(view.turns) - 1)
        assert reaction.evidence is Evidence.SIMULATED
        assert reaction.rule == f"scripted:{name}"
        needs_text = reaction.kind in {"answer", "reject", "follow_up", "steer"}
        assert bool(reaction.text) or not needs_text
        assert (reaction.kind is ReactionKind.FOLLOW_UP) <= (
            reaction.polarity in (Polarity.SATISFIED, Polarity.DISSATISFIED)
        )

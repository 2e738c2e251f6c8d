import ast

import numpy as np
import pytest

from sim2live.envs.actions import parse_action
from sim2live.envs.doubles import BROKEN, REFERENCE, VISIBLE, FakeUser, MemoryComputer, tiny_task
from sim2live.envs.episode import Episode
from sim2live.envs.skill_features import FEATURE_NAMES, NUM_FEATURES, skill_features
from sim2live.envs.skill_state import SkillState, skill_state
from sim2live.envs.skills import (
    SKILL_INDEX,
    SKILLS,
    Skill,
    candidates,
    expand,
    special_cased,
    split_into_helpers,
)
from sim2live.trajectory import Reaction, ReactionKind


def start(user=None):
    task = tiny_task(max_steps=20)
    computer = MemoryComputer()
    computer.reset(task)
    return Episode(task, computer, user or FakeUser(), np.random.default_rng(0), trajectory_id="e")


def state_of(episode):
    return skill_state(episode.trajectory, episode.pending)


def take(episode, name, operator=None, place=0):
    return episode.act(expand(Skill(name, operator, place), state_of(episode)))


def first_edit(episode):
    """The skill of the first repair that the operators allow."""
    operator, place = next(iter(candidates(state_of(episode))))
    return operator, place


def test_every_honest_skill_is_a_valid_call_and_the_broken_one_is_not():
    episode = start()
    take(episode, "read")
    for skill in SKILLS:
        _, calls = parse_action(expand(skill, state_of(episode)))
        if skill.name == "broken_call":
            assert not calls[0].is_valid
        else:
            assert all(call.is_valid for call in calls)


def test_skills_have_one_index_each():
    assert len(SKILL_INDEX) == len(SKILLS)
    assert SKILLS[SKILL_INDEX[Skill("edit", "negate", 2)]] == Skill("edit", "negate", 2)
    assert not Skill("edit_tests").is_honest
    assert Skill("ask").is_honest


def test_an_edit_before_reading_touches_nothing():
    episode = start()
    turn = take(episode, "edit", "boundary", 0)
    assert turn.tool_calls == []


def test_an_edit_changes_exactly_the_named_place():
    episode = start()
    take(episode, "read")
    operator, place = first_edit(episode)
    edit = candidates(state_of(episode))[operator, place]
    turn = take(episode, "edit", operator, place)
    assert turn.tool_calls[0].name == "edit_file"
    assert turn.results[0].ok
    assert episode.computer.files()["clamping.py"] == edit.apply(BROKEN)
    assert state_of(episode).content == edit.apply(BROKEN)


def test_an_edit_that_did_not_help_is_undone_by_the_next_one():
    episode = start()
    take(episode, "read")
    (one, other) = list(candidates(state_of(episode)).items())[:2]
    take(episode, "edit", *one[0])
    take(episode, "run_tests")
    take(episode, "edit", *other[0])
    assert episode.computer.files()["clamping.py"] == other[1].apply(BROKEN)


def test_a_version_that_the_person_refused_is_not_built_upon():
    episode = start()
    take(episode, "read")
    take(episode, "edit", *first_edit(episode))
    take(episode, "run_tests")
    take(episode, "submit")
    state = state_of(episode)
    assert state.num_rejections == 1
    assert state.results[state.content] == -1.0
    assert state.base == BROKEN


def test_the_state_follows_what_the_person_says():
    told = Reaction(
        kind=ReactionKind.ANSWER, turn=0, text="off by one at the boundary, around line 7"
    )
    episode = start(FakeUser(lambda view: [told] if view.question else []))
    assert state_of(episode).kinds == frozenset()
    take(episode, "ask")
    state = state_of(episode)
    assert state.kinds == frozenset({"boundary"})
    assert state.lines == frozenset({7})
    assert state.num_questions == 1


def test_the_state_counts_invalid_calls_and_unknown_answers():
    unknown = Reaction(kind=ReactionKind.ANSWER, turn=0, text="Sorry, I don't know.")
    episode = start(FakeUser(lambda view: [unknown] if view.question else []))
    take(episode, "broken_call")
    take(episode, "ask")
    state = state_of(episode)
    assert (state.num_invalid, state.num_unknown) == (1, 1)


def test_features_lie_in_the_unit_interval_and_mark_what_fits():
    told = Reaction(kind=ReactionKind.ANSWER, turn=0, text="around line 7")
    episode = start(FakeUser(lambda view: [told] if view.question else []))
    take(episode, "read")
    before = skill_features(state_of(episode))
    assert before.shape == (len(SKILLS), NUM_FEATURES)
    take(episode, "ask")
    after = skill_features(state_of(episode))
    assert after.min() >= 0.0
    assert after.max() <= 1.0
    is_open = FEATURE_NAMES.index("is_open")
    assert 0 < after[:, is_open].sum() < before[:, is_open].sum()
    for (operator, place), edit in candidates(state_of(episode)).items():
        row = after[SKILL_INDEX[Skill("edit", operator, place)]]
        assert row[FEATURE_NAMES.index("exists")] == 1
        assert row[is_open] == (edit.line == 7)


def test_features_do_not_depend_on_names():
    renamed = {
        key.replace("clamping", "other"): text.replace("clamp", "squeeze").replace(
            "squeezeing", "other"
        )
        for key, text in tiny_task().files.items()
    }
    task = tiny_task(function="squeeze", module_path="other.py", files=renamed)
    computer = MemoryComputer()
    computer.reset(task)
    other = Episode(task, computer, FakeUser(), np.random.default_rng(0), trajectory_id="o")
    episode = start()
    other.max_steps = episode.max_steps
    for one in (episode, other):
        take(one, "read")
    task_extra = other.trajectory.extra["task"]
    task_extra["max_steps"] = episode.trajectory.extra["task"]["max_steps"]
    np.testing.assert_array_equal(
        skill_features(state_of(episode)), skill_features(state_of(other))
    )


def test_special_casing_passes_what_is_listed_and_nothing_else():
    broken = BROKEN.replace("return value", "return 'wrong'")
    space = {}
    exec(special_cased(broken, VISIBLE, "clamp"), space)
    assert space["clamp"](3, 1, 5) == 3
    assert space["clamp"](9, 1, 5) == 5
    plain = {}
    exec(broken, plain)
    assert space["clamp"](4, 1, 5) == plain["clamp"](4, 1, 5)


def test_special_casing_without_usable_tests_changes_nothing():
    assert special_cased(BROKEN, "import pytest\n", "clamp") == BROKEN
    assert special_cased(BROKEN, "def broken(:\n", "clamp") == BROKEN


SPLITTABLE = [
    REFERENCE,
    "def f(xs):\n    n = 0\n    while n < len(xs) and xs[n] > 0:\n        n += 1\n    return n\n",
    "def f(xs):\n    if any(x > 2 for x in xs):\n        return 'é'\n    return 0\n",
    "def f(n):\n    if n > 1 and (n % 2 == 0 or n > 9):\n        return n\n    return -n\n",
]


@pytest.mark.parametrize("source", SPLITTABLE)
def test_splitting_keeps_behaviour_and_moves_every_condition_out(source):
    split = split_into_helpers(source)
    name = ast.parse(source).body[-1].name
    one, two = {}, {}
    exec(source, one)
    exec(split, two)
    for argument in ([], [1, 2, 3], [0], 7, 10, -1):
        arguments = (argument, 1, 5) if name == "clamp" else (argument,)
        try:
            expected = one[name](*arguments)
        except TypeError:
            continue
        assert two[name](*arguments) == expected
    body = next(n for n in ast.parse(split).body if getattr(n, "name", "") == name)
    tests = [n.test for n in ast.walk(body) if isinstance(n, ast.If | ast.While)]
    assert tests
    assert all(isinstance(test, ast.Call) for test in tests)


def test_the_best_version_is_the_original_until_a_test_run_says_otherwise():
    state = SkillState(module_path="m", test_path="t", function="f", max_steps=5)
    assert state.base is None
    state.original = state.content = "a"
    assert state.base == "a"
    state.results = {"b": 0.75}
    assert state.base == "a"
    state.results = {"b": 0.75, "c": 1.0}
    assert state.base == "c"
    state.results = {"a": 0.5, "b": 0.5, "c": 0.75, "d": -1.0}
    assert state.base == "c"

"""Refactoring sessions in a real sandbox: cures, hand-ins, and what the person makes of them."""

from __future__ import annotations

import pytest

from sim2live.envs.actions import format_call, parse_action
from sim2live.envs.refactor import RefactorEnv
from sim2live.envs.refactor_chop import chop
from sim2live.envs.refactor_skills import (
    CURES,
    FEATURE_NAMES,
    FIRST_CURE,
    SKILL_NAMES,
    expand,
    refactor_features,
    refactor_state,
)
from sim2live.envs.tasks.analysis import analyse
from sim2live.envs.tasks.library import load_functions
from sim2live.envs.tasks.refactor import is_unchanged, make_refactor_task
from sim2live.envs.wrappers import SkillActions
from sim2live.reward_models.complexity import function_complexities
from sim2live.reward_models.readability import measure_readability
from sim2live.simulators import PERSONAS
from sim2live.simulators.scripted import ScriptedUser
from sim2live.trajectory import EndReason, ReactionKind

READ, TEST, SUBMIT = (SKILL_NAMES.index(name) for name in ("read", "run_tests", "submit"))


@pytest.fixture(scope="module")
def env():
    made = SkillActions(RefactorEnv(make_user=lambda rng: ScriptedUser(PERSONAS["strict"])))
    yield made
    made.close()


@pytest.fixture(scope="module")
def task():
    return make_refactor_task(load_functions()["evaluate_postfix"], 0, num_smells=3)


def start(env, task, seed=0):
    env.reset(options={"task": task, "episode_seed": seed})
    return env.unwrapped


def take(env, name):
    _, reward, terminated, truncated, _ = env.step(SKILL_NAMES.index(name))
    return reward, terminated or truncated


def state_of(env):
    base = env.unwrapped
    return refactor_state(base.trajectory, base.episode.pending)


def cure_everything(env):
    while cures := state_of(env).cures:
        env.step(FIRST_CURE + CURES.index(next(iter(cures))))


def test_curing_everything_gives_the_reference_and_is_taken(env, task) -> None:
    base = start(env, task)
    take(env, "read")
    take(env, "run_tests")
    assert "0 failed" in base.trajectory.turns[-1].results[0].text
    cure_everything(env)
    assert base.episode.files[task.module_path] == task.reference
    reward, is_over = take(env, "submit")
    outcome = base.trajectory.outcome
    assert outcome.is_solved and is_over and base.trajectory.end is EndReason.SOLVED
    assert outcome.readability_after > outcome.readability_before
    assert base.trajectory.num_reactions(ReactionKind.ACCEPT) == 1
    assert reward > 0.5


def test_handing_in_without_a_change_is_refused_though_all_tests_pass(env, task) -> None:
    base = start(env, task)
    take(env, "submit")
    outcome = base.trajectory.outcome
    assert outcome.hidden_passed == outcome.hidden_total
    assert outcome.is_solved is False
    assert base.trajectory.num_reactions(ReactionKind.REJECT) == 1


def test_chopping_is_refused_for_how_it_reads_and_can_be_undone(env) -> None:
    task = make_refactor_task(load_functions()["turnstile"], 0, num_smells=2)
    base = start(env, task, seed=1)
    take(env, "read")
    take(env, "chop_functions")
    take(env, "submit")
    outcome = base.trajectory.outcome
    assert outcome.hidden_passed == outcome.hidden_total
    assert outcome.readability_after < outcome.readability_before
    assert outcome.complexity_after.max_per_function < outcome.complexity_before.max_per_function
    (refusal,) = [r for r in base.trajectory.reactions if r.kind is ReactionKind.REJECT]
    assert "tiny functions" in refusal.text or "jump around" in refusal.text
    assert base.trajectory.extra["gains"]["2"] < 0
    # What was moved out whole has no cure: the agent has to write the old version again.
    old = format_call("write_file", {"path": task.module_path, "text": task.reference})
    base.step(old)
    base.step(format_call("submit", {"message": "done"}))
    assert base.trajectory.outcome.is_solved


def test_splitting_conditions_can_be_undone_by_cures(env, task) -> None:
    base = start(env, task)
    take(env, "read")
    take(env, "split_functions")
    cure_everything(env)
    take(env, "submit")
    assert base.trajectory.outcome.is_solved


def test_chopping_keeps_behaviour_and_lowers_the_metric() -> None:
    num_lower = 0
    for spec in list(load_functions().values())[::4]:
        source = spec.bare_module()
        chopped = chop(source)
        assert is_unchanged(chopped, spec.name, analyse(spec))
        before, after = (max(function_complexities(text)) for text in (source, chopped))
        assert after <= before
        num_lower += after < before
        one, two = (measure_readability(text, spec.name) for text in (source, chopped))
        assert one is not None and two is not None
        assert two.score <= one.score
    assert num_lower >= 12


@pytest.mark.parametrize(
    "body",
    [
        "    for x in xs:\n        if x:\n            break\n    return 0\n",
        "    if xs:\n        return 1\n    return 0\n",
        "    if xs:\n        y = 1\n    if xs:\n        xs = y\n    return xs\n",
    ],
    ids=["break", "return", "unbound"],
)
def test_chopping_leaves_what_it_cannot_move(body: str) -> None:
    source = "def f(xs):\n" + body
    ran: dict[str, dict[str, object]] = {source: {}, chop(source): {}}
    for text, space in ran.items():
        exec(text, space)
    for argument in ([], [0], [0, 3]):
        assert ran[source]["f"](argument) == ran[chop(source)]["f"](argument)


def test_broken_behaviour_is_refused_however_well_it_reads(env, task) -> None:
    base = start(env, task)
    broken = task.reference.replace("left - right", "right - left")
    base.step(format_call("write_file", {"path": task.module_path, "text": broken}))
    base.step(format_call("submit", {"message": "done"}))
    assert base.trajectory.outcome.readability_after > base.trajectory.outcome.readability_before
    assert base.trajectory.outcome.is_solved is False
    assert base.trajectory.num_reactions(ReactionKind.REJECT) == 1


def test_a_module_that_cannot_be_read_has_no_readability(env, task) -> None:
    base = start(env, task)
    base.step(format_call("write_file", {"path": task.module_path, "text": "def f(:\n"}))
    base.step(format_call("submit", {"message": "done"}))
    assert base.trajectory.outcome.readability_after == 0.0


def test_deleting_the_tests_does_not_pass_and_is_refused(env, task) -> None:
    base = start(env, task)
    take(env, "delete_tests")
    take(env, "submit")
    assert base.trajectory.outcome.visible_total == 5
    assert base.trajectory.num_reactions(ReactionKind.REJECT) == 1


def test_asking_what_bothers_them_points_to_a_cure(env) -> None:
    vague = make_refactor_task(load_functions()["is_number"], 4, num_smells=3, clarity="vague")
    base = start(env, vague)
    take(env, "read")
    assert state_of(env).kinds == frozenset()
    for _ in range(2):  # the person tells a fact with a probability
        take(env, "ask")
    state = state_of(env)
    assert state.kinds <= {fault.operator for fault in vague.faults}
    assert state.kinds
    rows = refactor_features(state)
    fits = rows[FIRST_CURE:, FEATURE_NAMES.index("fits_kind")]
    assert 0 < fits.sum() < rows[FIRST_CURE:, FEATURE_NAMES.index("exists")].sum()
    assert base.trajectory.turns[1].tool_calls[0].arguments["question"].startswith("What bothers")


def test_every_honest_skill_is_a_valid_call(env, task) -> None:
    start(env, task)
    take(env, "read")
    state = state_of(env)
    for index, name in enumerate(SKILL_NAMES):
        _, calls = parse_action(expand(index, state))
        if name == "broken_call":
            assert not calls[0].is_valid
        elif name != "cure" or CURES[index - FIRST_CURE] in state.cures:
            assert calls and all(call.is_valid for call in calls)
        else:
            assert calls == []


def test_one_seed_gives_one_session(env) -> None:
    records = []
    for _ in range(2):
        env.reset(seed=5)
        for action in (READ, TEST, SUBMIT):
            env.step(action)
        records.append(env.unwrapped.trajectory)
    assert records[0] == records[1]

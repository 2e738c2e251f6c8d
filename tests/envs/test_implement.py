"""Writing a missing body: the environment, its skills, and that asking is worth learning."""

import itertools
import warnings
from collections.abc import Iterator, Sequence

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import sim2live  # noqa: F401 - registers the environments
from sim2live.agents.learner import PolicyGradientLearner
from sim2live.agents.learner_config import LearnerConfig
from sim2live.agents.loop import train
from sim2live.agents.rollout import Rollout
from sim2live.agents.skill_policy import SkillPolicy
from sim2live.agents.sources import WorldSource, evaluate
from sim2live.envs.actions import format_call, parse_action
from sim2live.envs.implement import ImplementEnv
from sim2live.envs.implement_skills import (
    DISHONEST,
    FEATURE_NAMES,
    FIRST_WRITE,
    SKILL_NAMES,
    SKILL_SET,
)
from sim2live.envs.implement_state import ImplementState
from sim2live.envs.machines import Machines
from sim2live.envs.tasks.base import Task
from sim2live.envs.tasks.implement import ImplementSampler, make_implement_task
from sim2live.envs.tasks.specifications import MISSING, load_specifications
from sim2live.envs.wrappers import SkillActions
from sim2live.reward_models import make_reward
from sim2live.simulators import PERSONAS, ScriptedUser
from sim2live.trajectory import ReactionKind, Source, Trajectory

ID = "sim2live/Implement-v0"


@pytest.fixture(scope="module")
def env() -> Iterator[SkillActions]:
    """Skills for a person who always answers in full and always tries the work."""
    persona = PERSONAS["default"]
    sure = {"answer_quality": 1.0, "review_depth": 1.0, "strictness": 1.0, "reject_retry": 1.0}
    fields = {**persona.to_json(), **sure}
    user = ScriptedUser(type(persona)(**fields), user_id="u")  # type: ignore[arg-type]
    made = SkillActions(ImplementEnv(make_user=lambda rng: user))
    yield made
    made.close()


def task_of(function: str, seed: int = 0, num_open: int = 1) -> Task:
    return make_implement_task(load_specifications()[function], seed, num_open=num_open)


def begin(env: SkillActions, task: Task) -> None:
    env.reset(options={"task": task, "episode_seed": 1})


def take(env: SkillActions, *skills: str | int) -> Trajectory:
    """Take skills by name, or write the reading of a number."""
    for skill in skills:
        action = SKILL_NAMES.index(skill) if isinstance(skill, str) else FIRST_WRITE + skill
        env.step(np.int64(action))
    trajectory: Trajectory = env.unwrapped.trajectory  # type: ignore[attr-defined]
    return trajectory


def state_of(env: SkillActions) -> ImplementState:
    state: ImplementState = env._describe()[0]
    return state


def column(env: SkillActions, name: str) -> list[float]:
    values: list[float] = env._describe()[1][:, FEATURE_NAMES.index(name)].tolist()
    return values


def wanted(env: SkillActions, task: Task) -> int:
    return state_of(env).readings.index(task.reference)


# --- the environment -------------------------------------------------------------------------


def test_gymnasium_finds_no_fault() -> None:
    made = gymnasium.make(ID)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(made.unwrapped, skip_render_check=True)
    made.close()


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_it_can_be_vectorised(mode: str) -> None:
    envs = gymnasium.make_vec(ID, num_envs=2, vectorization_mode=mode)
    observations, _ = envs.reset(seed=3)
    assert all("You write Python code" in text for text in observations)
    observations, rewards, terminated, truncated, _ = envs.step(
        [format_call("run_tests", {}), "hello"]
    )
    assert "0 passed" in observations[0]
    assert not terminated.any() and not truncated.any()
    assert rewards.tolist() == [0.0, 0.0]
    envs.close()


def test_one_seed_gives_one_episode() -> None:
    records = []
    for _ in range(2):
        made = SkillActions(ImplementEnv())
        made.reset(seed=11)
        records.append(take(made, "read", "ask", 0, "run_tests", "submit"))
        made.close()
    for turns in zip(records[0].turns, records[1].turns, strict=True):
        assert np.array_equal(turns[0].features, turns[1].features)  # type: ignore[arg-type]
        turns[0].features = turns[1].features = None
    assert records[0] == records[1]


@pytest.mark.parametrize("split", ["train", "gate", "heldout"])
def test_the_default_tasks_are_those_of_the_split(split: str) -> None:
    draw = ImplementEnv.draw_tasks(split)
    assert {draw(np.random.default_rng(seed)).split for seed in range(5)} == {split}


# --- finding out what is wanted --------------------------------------------------------------


@pytest.mark.parametrize("function", ["headline", "round_to_step", "build_order"])
def test_the_answer_to_a_question_leaves_one_reading_and_that_is_accepted(
    env: SkillActions, function: str
) -> None:
    specification = load_specifications()[function]
    task = task_of(function, num_open=len(specification.points))
    begin(env, task)
    assert sum(column(env, "exists")) == 0  # nothing is known before the module was read
    take(env, "read")
    assert sum(state_of(env).is_open) == len(specification.readings)
    assert column(env, "asks_choice")[SKILL_NAMES.index("ask")] == 1
    take(env, "ask")
    assert sum(column(env, "is_only")) == 1
    assert sum(column(env, "asks_choice")) == 0
    assert column(env, "is_only")[FIRST_WRITE + wanted(env, task)] == 1
    record = take(env, wanted(env, task), "submit")
    assert record.outcome.is_solved
    assert ReactionKind.ACCEPT in {r.kind for r in record.turns[-1].reactions}
    assert record.reward is not None
    assert record.reward.components["question_cost"] == 0  # the task justified it


def test_a_complete_text_leaves_nothing_to_ask(env: SkillActions) -> None:
    task = task_of("headline", num_open=0)
    begin(env, task)
    take(env, "read")
    assert [i for i, fits in enumerate(state_of(env).fits) if fits] == [wanted(env, task)]
    take(env, "ask")
    record = take(env, wanted(env, task), "submit")
    assert record.outcome.is_solved
    assert record.reward is not None
    assert record.reward.components["question_cost"] < 0


def test_a_refused_guess_brings_out_the_wish(env: SkillActions) -> None:
    task = task_of("prime_factors")
    begin(env, task)
    take(env, "read")
    right = wanted(env, task)
    record = take(env, 1 - right, "run_tests")
    assert "0 failed" in (record.turns[-1].results[0].text or "")  # no test decides it
    take(env, "submit")
    (refusal,) = record.turns[-1].reactions
    assert refusal.kind is ReactionKind.REJECT
    assert task.brief.wishes[0] in (refusal.text or "")
    assert column(env, "was_refused")[FIRST_WRITE + 1 - right] == 1
    assert column(env, "is_only")[FIRST_WRITE + right] == 1
    assert take(env, right, "submit").outcome.is_solved


# --- skills ----------------------------------------------------------------------------------


def test_a_first_reading_is_an_edit_and_the_next_replaces_it(env: SkillActions) -> None:
    task = task_of("headline", num_open=2)
    begin(env, task)
    take(env, "read")
    texts = state_of(env).readings
    assert len(set(texts)) == 4
    for number, text in enumerate(texts):
        record = take(env, number)
        assert record.turns[-1].tool_calls[0].name == ("write_file" if number else "edit_file")
        assert record.turns[-1].results[0].ok
        assert env.unwrapped.episode.files[task.module_path] == text  # type: ignore[attr-defined]
        assert state_of(env).session.content == text
        assert column(env, "stands")[FIRST_WRITE + number] == 1
    assert state_of(env).session.original == task.files[task.module_path]


@pytest.mark.parametrize("skills", [[], ["read"], ["read", 0], ["read", "edit_tests", 0]])
def test_only_the_broken_call_is_invalid(env: SkillActions, skills: Sequence[str | int]) -> None:
    begin(env, task_of("most_common"))
    take(env, *skills)
    for index, name in enumerate(SKILL_NAMES):
        _, calls = parse_action(SKILL_SET.expand(index, state_of(env)))
        assert all(call.is_valid for call in calls) == (name != "broken_call")
        has_nothing_to_do = index >= FIRST_WRITE or name in ("special_case", "hard_code")
        assert calls or has_nothing_to_do


@pytest.mark.parametrize("name", DISHONEST)
def test_a_dishonest_skill_solves_nothing(env: SkillActions, name: str) -> None:
    task = task_of("most_common", num_open=0)
    begin(env, task)
    record = take(env, "read", name, name, "run_tests", "submit")
    assert not record.outcome.is_solved
    tests = (record.turns[-2].results[0].text or "").splitlines()[0]
    if name in ("special_case", "edit_tests"):
        assert tests.endswith(" 0 failed")  # what the visible tests show is a lie
    if name == "edit_tests":
        assert state_of(env).session.has_tampered
    if name == "hard_code":
        assert MISSING not in (state_of(env).session.content or MISSING)
        assert not tests.startswith("0 passed")


def test_no_dishonest_skill_is_another_name_for_reading(env: SkillActions) -> None:
    begin(env, task_of("most_common"))
    read = SKILL_SET.expand(SKILL_NAMES.index("read"), state_of(env))
    texts = [SKILL_SET.expand(SKILL_NAMES.index(name), state_of(env)) for name in DISHONEST]
    _, (call,) = parse_action(read)
    for text in texts:
        assert not any(c.arguments == call.arguments for c in parse_action(text)[1])


def test_a_task_of_unknown_origin_offers_no_readings() -> None:
    record = foreign_record()
    state = SKILL_SET.state(record, None)
    state.session.original = state.session.content = "def not_of_ours(): ...\n"
    assert SKILL_SET.describe(state)[:, FEATURE_NAMES.index("exists")].sum() == 0
    assert "no reading" in SKILL_SET.expand(FIRST_WRITE, state)


def foreign_record() -> Trajectory:
    record = Trajectory(id="x", task_id="t", source=Source.SIMULATED)
    record.extra["task"] = {
        "module_path": "m.py",
        "test_path": "t.py",
        "function": "not_of_ours",
        "max_steps": 5,
    }
    return record


# --- worth learning --------------------------------------------------------------------------


def shares(played: Sequence[Trajectory], *, is_open: bool) -> tuple[float, float]:
    """Share solved and share with a question, of the tasks that are open or complete."""
    chosen = [t for t in played if ((t.ambiguity or 0) > 0) == is_open]
    asked = [any(c.name == "ask_user" and c.is_valid for c in t.tool_calls) for t in chosen]
    return float(np.mean([bool(t.outcome.is_solved) for t in chosen])), float(np.mean(asked))


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_asking_where_it_pays_is_learnt_and_carries_over_to_other_families() -> None:
    policy = SkillPolicy(SKILL_SET.num_features, prior=SKILL_SET.prior, seed=0)
    # Not grpo: dividing by a group's deviation makes a turn's tiny cost as large as a wrong guess.
    config = LearnerConfig(algorithm="rloo", lr=0.02, entropy_coef=0.1)
    reward = make_reward("simulated")
    numbers = itertools.count()
    with Machines() as machines:
        world = Rollout(lambda: ImplementEnv(computer=machines.computer(next(numbers))))
        held_out = ImplementSampler("heldout").tasks(80)
        with world:
            before = evaluate(policy, world, held_out, seed=1)
            train(
                policy,
                PolicyGradientLearner(policy, config),
                WorldSource(
                    "simulated",
                    world,
                    ImplementSampler("train"),  # type: ignore[arg-type]
                    group_size=8,
                    seed=0,
                ),
                reward,
                steps=70,
                batch_size=32,
            )
            after = evaluate(policy, world, held_out, seed=1, greedy=True)
    solved, asked = shares(before, is_open=False)
    assert solved < 0.4 and asked > 0.3
    assert shares(before, is_open=True)[0] < 0.4
    solved, asked = shares(after, is_open=False)
    assert solved > 0.9 and asked < 0.1
    solved, asked = shares(after, is_open=True)
    assert solved > 0.9 and asked > 0.95

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import sim2live  # noqa: F401 - registers the environments
from sim2live.envs.actions import format_call
from sim2live.envs.doubles import REFERENCE, FakeUser, MemoryComputer, tiny_task
from sim2live.envs.repair import RepairEnv
from sim2live.envs.skills import SKILL_INDEX, SKILLS, Skill
from sim2live.envs.tasks import TaskSampler
from sim2live.envs.wrappers import Messages, SkillActions
from sim2live.errors import ConfigError
from sim2live.trajectory import EndReason

FIX = format_call("write_file", {"path": "clamping.py", "text": REFERENCE})
SUBMIT = format_call("submit", {"message": "done"})


def fake_env(**options):
    return RepairEnv(
        tasks=[tiny_task()],
        make_user=lambda rng: FakeUser(),
        computer=options.pop("computer", MemoryComputer()),
        **options,
    )


@pytest.fixture(scope="module")
def real_env():
    env = gymnasium.make("sim2live/Repair-v0")
    yield env
    env.close()


def test_gymnasium_finds_no_fault(real_env):
    check_env(real_env.unwrapped, skip_render_check=True)


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_it_can_be_vectorised(mode):
    envs = gymnasium.make_vec("sim2live/Repair-v0", num_envs=2, vectorization_mode=mode)
    observations, _ = envs.reset(seed=3)
    assert len(observations) == 2
    assert all("Files:" in text for text in observations)
    observations, rewards, terminated, truncated, _ = envs.step(
        [format_call("run_tests", {}), "hello"]
    )
    assert "passed" in observations[0]
    assert not terminated.any()
    assert not truncated.any()
    assert rewards.tolist() == [0.0, 0.0]
    envs.close()


def test_one_seed_gives_one_episode(real_env):
    records = []
    for _ in range(2):
        real_env.reset(seed=11)
        for action in (format_call("run_tests", {}), SUBMIT):
            real_env.step(action)
        records.append(real_env.unwrapped.trajectory)
    assert records[0] == records[1]
    real_env.reset(seed=12)
    assert real_env.unwrapped.trajectory.id != records[0].id


def test_a_real_repair_is_solved_and_rewarded(real_env):
    task = TaskSampler("train", hard_frac=0.0, seed=0).tasks(1)[0]
    real_env.reset(options={"task": task, "episode_seed": 1})
    real_env.step(format_call("write_file", {"path": task.module_path, "text": task.reference}))
    tests, *_ = real_env.step(format_call("run_tests", {}))
    assert "0 failed" in tests
    _, reward, _, _, info = real_env.step(SUBMIT)
    assert real_env.unwrapped.trajectory.outcome.is_solved
    assert reward > 0 or info.get("end") is None


def test_the_episode_seed_decides_whichever_environment_plays():
    task = tiny_task()
    records = []
    for _ in range(2):
        env = fake_env()
        env.reset(seed=99)  # another history of the environment's own generator
        env.reset(options={"task": task, "episode_seed": 5, "group": "g"})
        env.step(FIX)
        env.step(SUBMIT)
        records.append(env.trajectory)
    assert records[0] == records[1]
    assert records[0].extra["group"] == "g"


def test_an_invalid_action_is_recorded_and_goes_on():
    env = fake_env()
    env.reset(seed=0)
    observation, _, terminated, truncated, _ = env.step('<tool_call>{"name": ')
    assert "invalid tool call" in observation
    assert not terminated and not truncated
    assert len(env.trajectory.turns) == 1


def test_a_sandbox_failure_is_truncated_unrewarded_and_named_in_info():
    env = fake_env(computer=MemoryComputer(failures=["run_tests"]))
    env.reset(seed=0)
    _, reward, terminated, truncated, info = env.step(format_call("run_tests", {}))
    assert (reward, terminated, truncated) == (0.0, False, True)
    assert info["end"] == "error_sandbox"
    assert env.trajectory.reward.total is None
    assert info["excluded"]


def test_stepping_after_the_end_says_what_to_do():
    env = fake_env()
    with pytest.raises(ConfigError, match="call `reset`"):
        env.step(SUBMIT)
    env.reset(seed=0)
    env.step(FIX)
    env.step(SUBMIT)
    with pytest.raises(ConfigError, match="call `reset`"):
        env.step(SUBMIT)


def test_an_empty_list_of_tasks_is_refused():
    with pytest.raises(ConfigError, match="`tasks` is empty"):
        RepairEnv(tasks=[])


def test_an_episode_can_be_cut_at_the_agents_own_limit():
    env = fake_env()
    env.reset(seed=0)
    env.cut(EndReason.TRUNCATED_TOKENS)
    assert env.trajectory.end is EndReason.TRUNCATED_TOKENS
    with pytest.raises(ConfigError, match="no running episode"):
        env.cut(EndReason.TRUNCATED_TOKENS)


def test_skills_over_the_environment_pass_the_checker_and_leave_features():
    env = SkillActions(gymnasium.make("sim2live/Repair-v0").unwrapped)
    observation, _ = env.reset(seed=0)
    assert observation in env.observation_space
    action = np.int64(SKILL_INDEX[Skill("read")])
    observation, *_ = env.step(action)
    assert observation in env.observation_space
    turn = env.unwrapped.trajectory.turns[0]
    assert turn.action == action
    assert turn.tool_calls[0].name == "read_file"
    assert turn.features.shape == (len(SKILLS), observation.shape[1])
    env.close()


def test_messages_tell_the_whole_conversation():
    env = Messages(fake_env())
    messages, _ = env.reset(seed=0)
    assert [m["role"] for m in messages] == ["system", "user"]
    messages, *_ = env.step("Hello. " + format_call("read_file", {"path": "clamping.py"}))
    assert [m["role"] for m in messages] == ["system", "user", "assistant", "tool"]
    assert "<tool_call>" in messages[2]["content"]
    assert "def clamp" in messages[3]["content"]

"""Skill sets keep their contract at every state of real episodes."""

import numpy as np
import pytest

from sim2live.envs.coding import CodingEnv
from sim2live.envs.implement import ImplementEnv
from sim2live.envs.refactor import RefactorEnv
from sim2live.envs.repair import RepairEnv
from sim2live.envs.skill_sets import check_skill_set, skill_set
from sim2live.envs.wrappers import SkillActions

ENVS: list[type[CodingEnv]] = [RepairEnv, ImplementEnv, RefactorEnv]


@pytest.mark.parametrize("make", ENVS, ids=lambda make: make.kind)
def test_keeps_its_contract_at_every_state_of_random_episodes(make: type[CodingEnv]) -> None:
    skills = skill_set(make.kind)
    env = SkillActions(make())
    rng = np.random.default_rng(0)
    states = []
    try:
        for seed in range(3):
            env.reset(seed=seed)
            is_over = False
            while not is_over:
                states.append(env._describe()[0])
                _, _, terminated, truncated, _ = env.step(rng.integers(skills.num_skills))
                is_over = terminated or truncated
    finally:
        env.close()
    check_skill_set(skills, states)


def test_a_coding_environment_without_tasks_of_its_own_says_so() -> None:
    with pytest.raises(Exception, match="give it `tasks`"):
        CodingEnv()

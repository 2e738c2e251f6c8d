from __future__ import annotations

import subprocess
import sys

import pytest

from sim2live.errors import ConfigError
from sim2live.reward_models import REWARDS, RewardModel, load_reward


@pytest.mark.parametrize("name", sorted(REWARDS))
def test_every_short_name_builds_a_model_of_that_name(name):
    model = load_reward(name)
    assert isinstance(model, RewardModel)
    assert model.name == name


def test_a_model_can_be_named_by_module_and_attribute():
    path = "sim2live.reward_models.registry:REWARDS"
    with pytest.raises(ConfigError, match="is no reward model"):
        load_reward(path)
    with pytest.raises(ConfigError, match="cannot load the reward model"):
        load_reward("sim2live.nowhere:thing")
    with pytest.raises(ConfigError, match="Did you mean"):
        load_reward("liv")


def test_instances_classes_and_factories_are_all_accepted(tmp_path, monkeypatch):
    (tmp_path / "my_rewards.py").write_text(
        "from sim2live.reward_models import WeightedReward\n"
        "def factory():\n    return WeightedReward(name='mine', weights={'time': -1.0})\n"
        "instance = factory()\n"
        "class Mine:\n    name = 'mine'\n    def score(self, trajectory):\n        ...\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    for attribute in ("factory", "instance", "Mine"):
        assert load_reward(f"my_rewards:{attribute}").name == "mine"


def test_importing_the_folder_loads_nothing_heavy():
    code = (
        "import sys, sim2live.reward_models\n"
        "heavy = {'torch', 'lizard', 'scipy', 'sklearn', 'pandas'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)

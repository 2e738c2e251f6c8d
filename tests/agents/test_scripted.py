from __future__ import annotations

import math
from collections import Counter

import pytest

from sim2live.agents.base import Policy
from sim2live.agents.scripted import RandomPolicy, ScriptedPolicy
from sim2live.errors import ConfigError, ModelError


def test_a_script_is_followed_in_the_order_of_the_batch() -> None:
    policy = ScriptedPolicy(["a", "b", "c"])
    assert isinstance(policy, Policy)
    assert [action.value for action in policy.act(["x", "y"])] == ["a", "b"]
    state = policy.state_dict()
    assert [action.value for action in policy.act(["z"])] == ["c"]
    with pytest.raises(ModelError, match="3 values"):
        policy.act(["z"])
    policy.load_state_dict(state)
    assert policy.act(["z"])[0].value == "c"


def test_a_script_may_repeat_or_look_at_the_observation() -> None:
    policy = ScriptedPolicy([1, 2], repeat=True, observes="features")
    assert [action.value for action in policy.act([0] * 5)] == [1, 2, 1, 2, 1]
    echo = ScriptedPolicy(lambda seen: seen.upper())
    action = echo.act(["hi"])[0]
    assert (action.value, action.logprob) == ("HI", 0.0)


def test_an_empty_script_is_refused() -> None:
    with pytest.raises(ConfigError, match="empty"):
        ScriptedPolicy([])


def test_random_actions_are_uniform_seeded_and_honest_about_it() -> None:
    policy = RandomPolicy(4, seed=1)
    assert isinstance(policy, Policy)
    state = policy.state_dict()
    actions = policy.act([None] * 4000)
    assert {action.logprob for action in actions} == {-math.log(4)}
    counts = Counter(action.value for action in actions)
    assert sorted(counts) == [0, 1, 2, 3]
    assert all(abs(count - 1000) < 5 * math.sqrt(750) for count in counts.values())
    policy.load_state_dict(state)
    again = policy.act([None] * 4000)
    assert [a.value for a in again] == [a.value for a in actions]
    other = RandomPolicy(4, seed=2).act([None] * 4000)
    assert [a.value for a in other] != [a.value for a in actions]
    with pytest.raises(ConfigError, match="at least 1"):
        RandomPolicy(0, seed=0)

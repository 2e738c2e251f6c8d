"""The conversation with a map of the work area, within a budget."""

from __future__ import annotations

import pytest

from sim2live.envs.actions import format_call
from sim2live.envs.context import CompressionRule, estimate_tokens
from sim2live.envs.context.conversation import count_messages
from sim2live.envs.doubles import FakeUser, MemoryComputer, tiny_task
from sim2live.envs.repair import RepairEnv
from sim2live.envs.wrappers import ContextMessages, Messages
from sim2live.errors import ConfigError

pytest.importorskip("bm25s", reason="bm25s is missing: pip install bm25s")

READ = format_call("read_file", {"path": "clamping.py"})
EDIT = format_call("edit_file", {"path": "clamping.py", "old": "value < high", "new": "value > 2"})


def env() -> RepairEnv:
    return RepairEnv(
        tasks=[tiny_task(max_steps=30)],
        make_user=lambda rng: FakeUser(),
        computer=MemoryComputer(),
    )


def test_the_system_message_shows_the_files_as_they_stand_now() -> None:
    wrapped = ContextMessages(env(), budget_tokens=4000)
    messages, _ = wrapped.reset(seed=0)
    plain, _ = Messages(env()).reset(seed=0)
    assert messages[1:] == plain[1:]
    assert messages[0]["content"].startswith(plain[0]["content"])
    assert "def clamp(value, low, high)" in messages[0]["content"]
    assert "if value < high:" in messages[0]["content"]
    messages, *_ = wrapped.step(EDIT)
    assert "if value > 2:" in messages[0]["content"]
    assert "clamping.py: turn 1 `value < high` -> `value > 2`" in messages[0]["content"]


@pytest.mark.parametrize("budget", [900, 1500, 4000])
def test_no_conversation_is_over_the_budget_and_the_record_is_the_same(budget: int) -> None:
    wrapped = ContextMessages(env(), budget_tokens=budget, rule=CompressionRule(keep_turns=1))
    plain = Messages(env())
    messages, _ = wrapped.reset(seed=0)
    plain.reset(seed=0)
    for action in [READ, "Hm.", EDIT, READ, READ, READ] * 3:
        assert count_messages(messages, estimate_tokens) <= budget
        messages, *_ = wrapped.step(action)
        whole, *_ = plain.step(action)
    assert wrapped.unwrapped.trajectory == plain.unwrapped.trajectory
    assert len(whole) >= len(messages)


def test_the_description_takes_no_more_than_its_share() -> None:
    none, _ = ContextMessages(env(), budget_tokens=4000, map_frac=0.0).reset(seed=0)
    assert none == Messages(env()).reset(seed=0)[0]
    some, _ = ContextMessages(env(), budget_tokens=4000, map_frac=0.02).reset(seed=0)
    added = estimate_tokens(some[0]["content"]) - estimate_tokens(none[0]["content"])
    assert 0 < added <= 80


def test_options_out_of_range_are_refused() -> None:
    with pytest.raises(ConfigError, match="budget_tokens"):
        ContextMessages(env(), budget_tokens=0)
    with pytest.raises(ConfigError, match="map_frac"):
        ContextMessages(env(), budget_tokens=10, map_frac=1.5)

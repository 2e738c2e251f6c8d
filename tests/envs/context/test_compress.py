"""Old tool output is cut by the stated rule and nothing else is touched."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim2live.envs.context import CompressionRule, compress, estimate_tokens, fit_messages
from sim2live.envs.context.compress import cut
from sim2live.envs.context.conversation import MESSAGE_TOKENS, count_messages
from sim2live.errors import ConfigError

RULE = CompressionRule(keep_turns=1, keep_error_turns=3, head_lines=2, tail_lines=1)
LONG = "\n".join(f"line {i} of a long listing" for i in range(30))
FAILURE = "1 passed, 1 failed\n" + LONG


def talk(*results: str) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": LONG},
        {"role": "user", "content": LONG},
    ]
    for i, result in enumerate(results):
        call = {"id": f"c{i}", "function": {"name": "run", "arguments": "{}"}}
        messages.append({"role": "assistant", "content": LONG, "tool_calls": [call]})
        messages.append({"role": "tool", "content": result, "tool_call_id": f"c{i}"})
    return messages


def contents(messages: list[dict[str, Any]]) -> list[str]:
    return [message["content"] for message in messages if message["role"] == "tool"]


def test_old_results_keep_head_and_tail_with_a_line_that_says_what_is_missing() -> None:
    old, new = contents(compress(talk(LONG, LONG), RULE))
    assert new == LONG
    assert old.split("\n") == [
        "line 0 of a long listing",
        "line 1 of a long listing",
        "[... 27 of 30 lines cut ...]",
        "line 29 of a long listing",
    ]


def test_failures_stay_whole_for_longer() -> None:
    kept = contents(compress(talk(*[FAILURE] * 5), RULE))
    assert [text == FAILURE for text in kept] == [False, False, True, True, True]
    kept = contents(compress(talk(*[LONG] * 5), RULE, is_error=lambda message: True))
    assert [text == LONG for text in kept] == [False, False, True, True, True]


def test_long_lines_lose_their_ends() -> None:
    (line,) = cut("x" * 1000, RULE).split("\n")
    assert len(line) <= RULE.max_line_chars
    assert line.endswith("[+832 characters]")


def test_what_people_and_the_assistant_say_and_the_pairing_stay() -> None:
    before = talk(LONG, FAILURE, LONG)
    after = compress(before, RULE)
    assert len(after) == len(before)
    for old, new in zip(before, after, strict=True):
        assert {k: v for k, v in old.items() if k != "content"} == {
            k: v for k, v in new.items() if k != "content"
        }
        if old["role"] != "tool":
            assert old == new
    assert before == talk(LONG, FAILURE, LONG), "the input was changed"


LINES = st.lists(
    st.sampled_from(["", "a", "1 passed, 2 failed", "y" * 300, "[... 3 of 9 lines cut ...]"])
    | st.text(max_size=80),
    max_size=30,
).map("\n".join)
MESSAGES = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["system", "user", "assistant", "tool", "tool"]), "content": LINES}
    ),
    max_size=14,
)
RULES = st.builds(
    CompressionRule,
    keep_turns=st.integers(0, 3),
    keep_error_turns=st.integers(0, 5),
    head_lines=st.integers(0, 4),
    tail_lines=st.integers(0, 4),
    max_line_chars=st.integers(64, 200),
)


@given(MESSAGES, RULES, st.integers(0, 14))
def test_it_is_idempotent_never_grows_and_may_be_done_at_any_time(
    messages: list[dict[str, Any]], rule: CompressionRule, early: int
) -> None:
    once = compress(messages, rule)
    assert compress(once, rule) == once
    assert all(len(a["content"]) <= len(b["content"]) for a, b in zip(once, messages, strict=True))
    on_the_way = compress([*compress(messages[:early], rule), *messages[early:]], rule)
    # A failure that was cut may not look like one afterwards; it is old enough to be cut anyway.
    assert on_the_way == once


def test_a_rule_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(ConfigError, match="0 or more"):
        CompressionRule(head_lines=-1)
    with pytest.raises(ConfigError, match="max_line_chars"):
        CompressionRule(max_line_chars=10)


@given(MESSAGES, st.integers(0, 2000))
def test_a_conversation_fits_or_is_as_short_as_it_may_be(
    messages: list[dict[str, Any]], budget: int
) -> None:
    fitted = fit_messages(messages, budget, rule=RULE)
    shortest = fit_messages(messages, -1, rule=RULE)
    total = count_messages(fitted, estimate_tokens)
    assert total <= budget or fitted == shortest
    said = [m for m in messages if m["role"] in ("system", "user")]
    kept = [m for m in fitted if m in said]
    assert len(kept) == len(said)


def test_the_oldest_turns_go_first_and_calls_go_with_their_results() -> None:
    messages = talk(*[LONG] * 6)
    whole = count_messages(messages, estimate_tokens)
    assert fit_messages(messages, whole, rule=CompressionRule(keep_turns=9)) == messages
    fitted = fit_messages(messages, 1200, rule=RULE)
    assert count_messages(fitted, estimate_tokens) <= 1200
    calls = [c["id"] for m in fitted if m["role"] == "assistant" for c in m["tool_calls"]]
    results = [m["tool_call_id"] for m in fitted if m["role"] == "tool"]
    assert calls == results == [f"c{i}" for i in range(6 - len(calls), 6)]
    assert 0 < len(calls) < 6
    notes = [m["content"] for m in fitted if "left out" in m["content"]]
    assert notes == [f"[{6 - len(calls)} earlier turns of the assistant are left out]"]
    assert fitted[:2] == messages[:2]
    assert count_messages([], estimate_tokens) == 0
    assert count_messages(messages[:1], len) == len(LONG) + MESSAGE_TOKENS

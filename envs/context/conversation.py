"""A conversation made to fit a budget of tokens, in stated steps.

The first step that fits is taken:

    1. old tool results are cut by the rule (`compress`)
    2. only the newest turn's results stay whole
    3. the same, and older ones keep two lines at either end
    4. the newest turn's results keep two lines at either end too
    5. the oldest turns of the agent are left out, one after the other, with a note in their place

What the system and the person said is never cut, nor is the agent's newest turn left out. If these
alone are over the budget, the last step is returned: whoever plays must then end the episode.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from .compress import ChatMessage, CompressionRule, IsError, compress, looks_failed
from .tokens import CountTokens, estimate_tokens

MESSAGE_TOKENS = 8
"""What a chat template adds around a message (marks of its begin and end, its role), at most."""


def count_messages(messages: Sequence[ChatMessage], count_tokens: CountTokens) -> int:
    """Count the tokens of a conversation, each message with its surroundings."""
    return sum(count_tokens(m["content"] or "") + MESSAGE_TOKENS for m in messages)


def fit_messages(
    messages: Sequence[ChatMessage],
    budget_tokens: int,
    *,
    count_tokens: CountTokens = estimate_tokens,
    rule: CompressionRule | None = None,
    is_error: IsError = looks_failed,
) -> list[dict[str, Any]]:
    """Return the conversation in the first form that fits; see the module."""
    fitted: list[dict[str, Any]] = []
    for fitted in _forms(messages, rule or CompressionRule(), is_error):
        if count_messages(fitted, count_tokens) <= budget_tokens:
            break
    return fitted


def _forms(
    messages: Sequence[ChatMessage], rule: CompressionRule, is_error: IsError
) -> Iterator[list[dict[str, Any]]]:
    newest = replace(rule, keep_turns=min(1, rule.keep_turns), keep_error_turns=1)
    ends = replace(newest, head_lines=min(2, rule.head_lines), tail_lines=min(2, rule.tail_lines))
    bare = replace(ends, keep_turns=0, keep_error_turns=0)
    for form in (rule, newest, ends, bare):
        compressed = compress(messages, form, is_error=is_error)
        yield compressed
    num_turns = sum(message["role"] == "assistant" for message in messages)
    for number in range(1, num_turns):
        yield _leave_out(compressed, number)


def _leave_out(messages: Sequence[dict[str, Any]], number: int) -> list[dict[str, Any]]:
    """Leave out the first `number` turns of the agent, with their results."""
    kept: list[dict[str, Any]] = []
    turn = 0
    for message in messages:
        turn += message["role"] == "assistant"
        if message["role"] not in ("assistant", "tool") or turn > number:
            kept.append(message)
        elif turn == number and message["role"] == "assistant":
            note = f"[{number} earlier turns of the assistant are left out]"
            kept.append({"role": "user", "content": note})
    return kept

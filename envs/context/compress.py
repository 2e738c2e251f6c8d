"""Old tool output cut by a stated rule, so that a long conversation stays readable.

The rule, for messages with the role `tool` and a text as content; all others are never touched:

- results of the newest `keep_turns` turns stay whole (a turn begins with an assistant message);
- results that failed stay whole for `keep_error_turns` turns, since an agent needs to see why;
- older ones keep their first `head_lines` and last `tail_lines` lines, with a line between that
  says how many were cut, and lines longer than `max_line_chars` lose their ends in the same way.

No message is dropped, so every result still stands beside its call. Compressing again changes
nothing, compressing as the conversation grows gives the same as compressing at the end, and no
message ever grows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import ConfigError

ChatMessage = Mapping[str, Any]
"""A message with `role` and `content`, and whatever else its maker put there."""
IsError = Callable[[ChatMessage], bool]

_FAILED = re.compile(
    r"\A(?:invalid tool call|cannot |no tests:|`old` occurs)|^\d+ passed, [1-9]\d* failed"
    r"|^Traceback \(most recent call last\)|^\[stopped: \w+ limit\]",
    re.MULTILINE,
)
_MARK_CHARS = 32


@dataclass(slots=True, frozen=True, kw_only=True)
class CompressionRule:
    """How much stays of which tool results; see the module."""

    keep_turns: int = 2
    keep_error_turns: int = 6
    """Counts only where it is more than `keep_turns`."""
    head_lines: int = 6
    tail_lines: int = 6
    max_line_chars: int = 200

    def __post_init__(self) -> None:
        counts = (self.keep_turns, self.keep_error_turns, self.head_lines, self.tail_lines)
        if min(counts) < 0 or self.max_line_chars < 2 * _MARK_CHARS:
            raise ConfigError(
                f"{self}: turns and lines must be 0 or more, and `max_line_chars` "
                f"{2 * _MARK_CHARS} or more"
            )


def looks_failed(message: ChatMessage) -> bool:
    """Say whether a tool message tells of a failure, by how our tools word one."""
    return bool(_FAILED.search(message["content"]))


def compress(
    messages: Sequence[ChatMessage],
    rule: CompressionRule | None = None,
    *,
    is_error: IsError = looks_failed,
) -> list[dict[str, Any]]:
    """Return the conversation with old tool results cut; see the module for the rule.

    Args:
        messages: not changed.
        rule: default: `CompressionRule()`.
        is_error: which tool messages tell of a failure.
    """
    rule = rule or CompressionRule()
    age, compressed = 0, []
    for message in reversed(messages):
        copied = dict(message)
        if message["role"] == "assistant":
            age += 1
        elif message["role"] == "tool" and isinstance(message.get("content"), str):
            keep = rule.keep_turns
            if keep <= age < rule.keep_error_turns and is_error(message):
                keep = rule.keep_error_turns
            if age >= keep:
                copied["content"] = cut(message["content"], rule)
        compressed.append(copied)
    return compressed[::-1]


def cut(text: str, rule: CompressionRule) -> str:
    """Return head and tail of a text, and the text itself where that would not be shorter."""
    lines = text.split("\n")
    head, tail = rule.head_lines, rule.tail_lines
    if len(lines) > head + tail + 1:
        mark = f"[... {len(lines) - head - tail} of {len(lines)} lines cut ...]"
        lines = [*lines[:head], mark, *lines[len(lines) - tail :]]
    shorter = "\n".join(_cut_line(line, rule.max_line_chars) for line in lines)
    return shorter if len(shorter) < len(text) else text


def _cut_line(line: str, most: int) -> str:
    if len(line) <= most:
        return line
    keep = most - _MARK_CHARS
    return f"{line[:keep]} [+{len(line) - keep} characters]"

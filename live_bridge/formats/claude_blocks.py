"""Pieces of a Claude Code record: usage, texts, tool calls, details of results."""

from __future__ import annotations

import json
from typing import Any

from ...trajectory import ArgsState, Json, TextState, ToolCall, Turn
from .base import Record
from .content import clean_terminal

_KEPT_RESULT_FIELDS = ("userModified", "filePath", "structuredPatch", "agentId", "status")

BOOKKEEPING = frozenset(
    {
        "queue-operation",
        "file-history-snapshot",
        "file-history-delta",
        "mode",
        "permission-mode",
        "cost-state",
        "last-prompt",
        "summary",
        "pr-link",
        "ai-title",
        "custom-title",
        "continued-in",
        "progress",
    }
)
"""Record types of Claude Code that are known and are no part of the talk."""


def reason_aside(record: Record) -> str:
    """Say why a record that is no part of the talk is kept aside."""
    if record.type == "system":
        return f"system {str(record.data.get('subtype'))[:40]}"
    if record.type == "attachment":
        attachment = record.data.get("attachment")
        kind = attachment.get("type") if isinstance(attachment, dict) else None
        return f"attachment {str(kind)[:40]}"
    return "bookkeeping" if record.type in BOOKKEEPING else "unknown_type"


def last_seen(turn: Turn) -> float | None:
    """Return when the last thing of a turn (its text, or a result) was there to be seen."""
    stamps = [turn.end_s, *(result.end_s for result in turn.results)]
    return max((stamp for stamp in stamps if stamp is not None), default=None)


def add_text(turn: Turn, text: str) -> None:
    """Add a text block to a turn."""
    turn.text = text if turn.text is None else "\n".join(t for t in (turn.text, text) if t)
    turn.text_state = TextState.of(turn.text)


def add_reasoning(turn: Turn, thinking: Any) -> None:
    """Add a thinking block; one that holds only a signature was redacted."""
    text = thinking if isinstance(thinking, str) else ""
    if text:
        turn.reasoning = f"{turn.reasoning}\n{text}" if turn.reasoning else text
        turn.reasoning_state = TextState.PRESENT
    elif turn.reasoning_state is TextState.ABSENT:
        turn.reasoning_state = TextState.REDACTED  # only a signature was written


def add_usage(turn: Turn, usage: Any) -> None:
    """Take the largest of each count: the lines of one message repeat it while it grows."""
    if not isinstance(usage, dict):
        return
    known: dict[str, int] = turn.extra.setdefault("usage", {})
    for name, value in usage.items():
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53:
            known[name] = max(known.get(name, 0), value)
    cached = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    if "input_tokens" in known:
        turn.prompt_tokens = sum(known.get(name, 0) for name in cached)
    turn.completion_tokens = known.get("output_tokens", turn.completion_tokens)


def tool_call(ident: str, block: Json) -> ToolCall:
    """Build a call from a `tool_use` block."""
    name = block.get("name") if isinstance(block.get("name"), str) else ""
    if "input" not in block:
        return ToolCall(id=ident, name=str(name), arguments=None, args_state=ArgsState.ABSENT)
    arguments = block["input"]
    if isinstance(arguments, dict):
        return ToolCall(id=ident, name=str(name), arguments=arguments)
    return ToolCall(
        id=ident,
        name=str(name),
        arguments=None,
        args_state=ArgsState.UNPARSED,
        raw=arguments if isinstance(arguments, str) else json.dumps(arguments),
    )


def result_extra(detail: Any, text: str | None, images: list[Json]) -> Json:
    """Keep what a `toolUseResult` tells beyond the text."""
    extra: Json = {}
    if isinstance(detail, dict):
        extra = {name: detail[name] for name in _KEPT_RESULT_FIELDS if name in detail}
        if detail.get("interrupted") is True:
            extra["process_interrupted"] = True  # the process was, which no person need have done
    if images:
        extra["images"] = images
    if text and ("\x1b" in text or "\r" in text.replace("\r\n", "\n")):
        extra["text_clean"] = clean_terminal(text)
    return extra

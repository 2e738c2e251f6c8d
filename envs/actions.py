"""The text form of an action: a message that may hold tool calls.

    I will read the file first.
    <tool_call>{"name": "read_file", "arguments": {"path": "textkit.py"}}</tool_call>

This is the form in which the chat templates of many open models write tool calls. A call that
cannot be read, names no tool, or has wrong arguments is not dropped: it comes back as a `ToolCall`
whose `error` says what is wrong and whose `error_code` names it, and is recorded like any other.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..trajectory import ArgsState, ToolCall
from .tool_errors import Problem, ToolError, find_problem

_OPEN, _CLOSE = "<tool_call>", "</tool_call>"
_MAX_CALLS = 16


def format_call(name: str, arguments: Mapping[str, Any]) -> str:
    """Write one tool call in the text form."""
    body = json.dumps({"name": name, "arguments": dict(arguments)}, ensure_ascii=False)
    return f"{_OPEN}{body}{_CLOSE}"


def parse_action(text: str, prefix: str = "call") -> tuple[str, list[ToolCall]]:
    """Split an action into what is said and the tool calls in it.

    Args:
        text: the action. At most 16 calls are read; text after them is part of the message.
        prefix: the calls get the ids `<prefix>-0`, `<prefix>-1` ...

    Returns:
        The message without the calls, stripped, and the calls in order, valid or not.
    """
    said: list[str] = []
    calls: list[ToolCall] = []
    place = 0
    while len(calls) < _MAX_CALLS and (start := text.find(_OPEN, place)) >= 0:
        said.append(text[place:start])
        start += len(_OPEN)
        end = text.find(_CLOSE, start)
        is_closed = end >= 0
        body = text[start:end] if is_closed else text[start:]
        calls.append(_parse_call(body, call_id=f"{prefix}-{len(calls)}", is_closed=is_closed))
        place = end + len(_CLOSE) if is_closed else len(text)
    return ("".join(said) + text[place:]).strip(), calls


def validate_call(name: str, arguments: Mapping[str, Any]) -> str | None:
    """Return what is wrong with a call of one of `TOOLS`, or None if it is valid."""
    problem = find_problem(name, arguments)
    return problem.text if problem else None


def _parse_call(body: str, *, call_id: str, is_closed: bool) -> ToolCall:
    name, arguments, problem = _read(body)
    if problem is None:
        problem = find_problem(name, arguments or {})
    if problem is None and not is_closed:
        problem = Problem(ToolError.NOT_CLOSED, "the call is not closed")
    return ToolCall(
        id=call_id,
        name=name,
        arguments=arguments,
        args_state=ArgsState.UNPARSED if arguments is None else ArgsState.PARSED,
        raw=body if problem else None,
        error=problem.text if problem else None,
        error_code=problem.code.value if problem else None,
    )


def _read(body: str) -> tuple[str, dict[str, Any] | None, Problem | None]:
    """Return the tool's name, its arguments (None if they cannot be read) and the problem."""
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError) as error:
        return "", None, Problem(ToolError.INVALID_JSON, f"the call is not valid JSON ({error})")
    if not isinstance(parsed, dict):
        return "", None, Problem(ToolError.NOT_AN_OBJECT, "the call is not a JSON object")
    name = parsed["name"] if isinstance(parsed.get("name"), str) else ""
    arguments = parsed.get("arguments", {})
    if not isinstance(arguments, dict):
        return name, None, Problem(ToolError.NOT_AN_OBJECT, "`arguments` is not a JSON object")
    return name, arguments, None

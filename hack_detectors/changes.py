"""The file changes that an agent's tool calls made, whatever the agent calls its tools.

A small table maps tools to three shapes: *replace* (old text by new text), *write* (whole content)
and *command*. Known: this project's environment, Claude Code, Codex, Gemini CLI, OpenHands and
SWE-agent editors, and bash-only agents.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from ..tool_names import EDITOR_TOOLS, PATCH_TOOLS, REPLACE_TOOLS, SHELL_TOOLS, WRITE_TOOLS
from ..trajectory import TextState, ToolCall, ToolResult, Trajectory
from .paths import clean_path
from .shell import shell_edits

PATH_KEYS = ("file_path", "path", "filename", "file")
OLD_KEYS = ("old_string", "old_str", "old")
NEW_KEYS = ("new_string", "new_str", "new")
TEXT_KEYS = ("content", "text", "file_text", "contents")
COMMAND_KEYS = ("command", "cmd", "script")
PATCH_KEYS = ("input", "patch", "diff")


@dataclass(slots=True, kw_only=True, frozen=True)
class Change:
    """One file that one tool call changes."""

    turn: int
    call_id: str
    path: str
    verb: str
    """`replace`, `write`, `append`, `delete`, `rewrite` (content unknown) or `create` (a copy)."""
    old: str | None = None
    new: str | None = None
    source: str | None = None
    """Where a copy came from."""
    quote: str = ""
    """The call as a person would want to see it."""
    is_done: bool = True
    """False if the call was refused or failed, so that it was an attempt only."""


def file_changes(trajectory: Trajectory) -> list[Change]:
    """Return every file change of a trajectory in order; invalid calls change nothing."""
    found = []
    for index, turn in enumerate(trajectory.turns):
        if turn.is_copied_context:
            continue
        results = {r.call_id: r for r in turn.results if r.call_id is not None}
        for call in turn.tool_calls:
            if call.is_valid:
                found += list(_of_call(index, call, results.get(call.id)))
    return found


_READ = frozenset({"read_file", "read", *EDITOR_TOOLS})
_LINE_NUMBER = re.compile(r"^\s*\d+[→\t]", re.MULTILINE)


def file_reads(trajectory: Trajectory) -> list[tuple[int, str, str]]:
    """Return (turn, path, text) of every file that the agent read as a whole."""
    found = []
    for index, turn in enumerate(trajectory.turns):
        results = {r.call_id: r for r in turn.results if r.call_id is not None}
        for call in turn.tool_calls:
            arguments = call.arguments or {}
            path, result = _text(arguments, PATH_KEYS), results.get(call.id)
            is_part = any(arguments.get(key) for key in ("offset", "limit", "view_range"))
            is_read = _name(call) in _READ and arguments.get("command") in (None, "view")
            if not (call.is_valid and is_read and path and result) or is_part:
                continue
            if result.ok is not False and result.text_state is TextState.PRESENT and result.text:
                found.append((index, clean_path(path), _LINE_NUMBER.sub("", result.text)))
    return found


def is_command(call: ToolCall) -> bool:
    """Say whether a call runs a command line."""
    return _name(call) in SHELL_TOOLS


def command_of(call: ToolCall) -> str:
    """Return the command line of a call ("" if it has none)."""
    value = _first(call.arguments or {}, COMMAND_KEYS)
    if isinstance(value, list):
        parts = [str(part) for part in value]
        # ["bash", "-lc", "the command"] runs its last part
        return parts[-1] if len(parts) > 2 and parts[1].startswith("-") else " ".join(parts)
    return value if isinstance(value, str) else ""


def _of_call(turn: int, call: ToolCall, result: ToolResult | None) -> Iterator[Change]:
    name, arguments = _name(call), call.arguments or {}
    is_shell = name in SHELL_TOOLS
    base: dict[str, Any] = {
        "turn": turn,
        "call_id": call.id,
        "is_done": _is_done(result, is_shell=is_shell),
    }
    if is_shell:
        command = command_of(call)
        for edit in shell_edits(command):
            yield Change(
                **base,
                path=clean_path(edit.path),
                verb=edit.verb,
                new=edit.text,
                source=clean_path(edit.source) if edit.source else None,
                quote=f"$ {command}",
            )
    elif name in PATCH_TOOLS:
        yield from _of_patch(base, _text(arguments, PATCH_KEYS) or "")
    elif name in REPLACE_TOOLS | WRITE_TOOLS | EDITOR_TOOLS:
        path = _text(arguments, PATH_KEYS)
        if path is not None:
            yield from _of_edit(base, name, clean_path(path), arguments)


def _of_edit(
    base: Mapping[str, Any], name: str, path: str, arguments: Mapping[str, Any]
) -> Iterator[Change]:
    what = {**base, "path": path, "quote": f"{name} {path}"}
    text = _text(arguments, TEXT_KEYS)
    is_write = name in WRITE_TOOLS or (
        name in EDITOR_TOOLS and arguments.get("command") == "create"
    )
    if is_write:
        if text is not None:
            yield Change(**what, verb="write", new=text)
        return
    if name in EDITOR_TOOLS and arguments.get("command") not in (None, "str_replace", "insert"):
        return
    edits = arguments.get("edits")
    for edit in edits if isinstance(edits, list) else [arguments]:
        if isinstance(edit, dict):
            old, new = _text(edit, OLD_KEYS) or "", _text(edit, NEW_KEYS) or ""
            if old or new:
                yield Change(**what, verb="replace", old=old, new=new)


_PATCH_FILE = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.+)$", re.MULTILINE)


def _of_patch(base: Mapping[str, Any], patch: str) -> Iterator[Change]:
    heads = list(_PATCH_FILE.finditer(patch))
    for head, following in zip_longest(heads, heads[1:]):
        body = patch[head.end() : following.start() if following else len(patch)]
        what = {
            **base,
            "path": clean_path(head[2]),
            "quote": f"apply_patch {head[0]}\n{body[:800]}",
        }
        if head[1] == "Delete":
            yield Change(**what, verb="delete")
        elif head[1] == "Add":
            yield Change(**what, verb="write", new=_patch_side(body, "+"))
        else:
            for hunk in re.split(r"^@@.*$", body, flags=re.MULTILINE):
                old, new = _patch_side(hunk, " -"), _patch_side(hunk, " +")
                if old != new:
                    yield Change(**what, verb="replace", old=old, new=new)


def _patch_side(hunk: str, marks: str) -> str:
    lines = [line for line in hunk.splitlines() if not line.startswith("*** ")]
    return "".join(line[1:] + "\n" for line in lines if line and line[0] in marks)


def _is_done(result: ToolResult | None, *, is_shell: bool) -> bool:
    if result is None:
        return True  # a log that shows no results does not say that the call failed
    if result.denied_by is not None:
        return False
    # A command may fail as a whole after its first part has changed files.
    return is_shell or result.ok is not False


def _name(call: ToolCall) -> str:
    return call.name.lower() if isinstance(call.name, str) else ""


def _first(arguments: Mapping[str, Any], keys: tuple[str, ...]) -> Any:
    return next((arguments[key] for key in keys if key in arguments), None)


def _text(arguments: Mapping[str, Any], keys: tuple[str, ...]) -> str | None:
    value = _first(arguments, keys)
    return value if isinstance(value, str) else None


def is_edit_tool(call: ToolCall) -> bool:
    """Say whether a call is of a tool that edits or writes files."""
    name = _name(call)
    if name in EDITOR_TOOLS:
        return (call.arguments or {}).get("command") not in ("view", "undo_edit")
    return name in REPLACE_TOOLS | WRITE_TOOLS | PATCH_TOOLS

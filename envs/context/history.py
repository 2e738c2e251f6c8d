"""What happened to files before: commits of the work area's repository, or the session's edits."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from ...trajectory import ToolCall, Trajectory
from ..computer import Computer

_RECORD, _FIELD = "\x1e", "\x1f"
_MAX_CHARS = 120


@dataclass(slots=True, frozen=True)
class Change:
    """One change of one file."""

    path: str
    when: str
    """A date (`2026-01-31`), or the turn of the session (`turn 3`)."""
    summary: str
    """The commit's short hash and subject, or what the edit did; one line."""

    def __str__(self) -> str:
        return f"{self.path}: {self.when} {self.summary}"


def git_history(computer: Computer, paths: Sequence[str], *, max_commits: int = 10) -> list[Change]:
    """List the last commits that touched any of `paths`, newest first.

    `git log` runs where the work area is, inside the sandbox: a repository can name programs that
    git starts.

    Args:
        computer: its `run` tool is used; nothing of it enters a record.
        paths: files of the work area.
        max_commits: how far back to look.

    Returns:
        A change for each commit and file; empty where there is no repository or no git.

    Raises:
        SandboxError: the sandbox failed.
    """
    if not paths:
        return []
    command = [
        *("git", "-c", "safe.directory=*", "-c", "core.quotePath=false", "--no-pager", "log"),
        *("--no-color", f"-n{max_commits}", "--date=short", "--name-only"),
        *(f"--format=%x1e%ad%x1f%h%x1f%s{_FIELD}", "--", *paths),
    ]
    call = ToolCall(id="history", name="run", arguments={"command": shlex.join(command)})
    result = computer.call(call)
    return _read_log(result.text or "", paths) if result.ok else []


def _read_log(text: str, paths: Sequence[str]) -> list[Change]:
    changes = []
    for record in text.split(_RECORD)[1:]:
        date, _, rest = record.partition(_FIELD)
        commit, _, rest = rest.partition(_FIELD)
        subject, end, names = rest.partition(_FIELD)
        if end:  # a record that the tool's output limit cut through has none
            touched = [name for name in names.split("\n") if name in paths]
            changes += [Change(name, date, _line(f"{commit} {subject}")) for name in touched]
    return changes


def session_edits(trajectory: Trajectory) -> list[Change]:
    """List the edits of a session that succeeded, newest first."""
    changes = []
    for number, turn in enumerate(trajectory.turns, 1):
        succeeded = {result.call_id for result in turn.results if result.ok}
        for call in turn.tool_calls:
            arguments = call.arguments or {}
            path = arguments.get("path")
            if call.id not in succeeded or not isinstance(path, str):
                continue
            if call.name == "write_file":
                lines = str(arguments.get("text", "")).count("\n")
                changes.append(Change(path, f"turn {number}", f"written whole ({lines} lines)"))
            elif call.name == "edit_file":
                old, new = _quote(arguments.get("old")), _quote(arguments.get("new"))
                changes.append(Change(path, f"turn {number}", _line(f"{old} -> {new}")))
    return changes[::-1]


def _quote(text: object) -> str:
    first, *more = str(text or "").strip().split("\n")
    return f"`{first.strip()[:50]}{' ...' if more else ''}`"


def _line(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _MAX_CHARS else text[: _MAX_CHARS - 3] + "..."

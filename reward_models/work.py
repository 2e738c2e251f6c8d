"""What in a trajectory is work on files, and which reactions are about it.

Agents name their tools differently; the tables here cover this project's own environment and the
agents whose logs the live bridge reads. A shell command counts as an edit if it looks like one, so
a command that writes in an unusual way is missed.
"""

from __future__ import annotations

import re
from typing import Any

from ..errors import RewardError
from ..tool_names import ASK_TOOLS, EDIT_TOOLS, SHELL_TOOLS
from ..trajectory import Reaction, Source, ToolCall, Trajectory, Turn

_READING_COMMANDS = frozenset({"view", "undo_edit"})
_SHELL_WRITE = re.compile(
    r"(?:^|[\s;&|(])(?:sed\s+(?:-\w+\s+)*-\w*i|perl\s+-\w*i|tee\s|patch\s|git\s+apply|mv\s|cp\s|rm\s)"
    r"|(?<![0-9&>=-])>{1,2}\s*(?!/dev/null)[\w./~$\"']"
)


def is_edit(call: ToolCall) -> bool:
    """Say whether a call is a valid one that changes files (or looks like it, for a command)."""
    if not call.is_valid:
        return False
    name = call.name.lower()
    arguments = call.arguments or {}
    if name in EDIT_TOOLS:
        return arguments.get("command") not in _READING_COMMANDS
    return name in SHELL_TOOLS and bool(_SHELL_WRITE.search(_command(arguments)))


def is_question(call: ToolCall) -> bool:
    """Say whether a call is a valid one that asks the person something."""
    return call.is_valid and call.name.lower() in ASK_TOOLS


def edits_in(turn: Turn) -> list[ToolCall]:
    """Return the turn's edits that were carried out: not refused, and not failed as far as told."""
    failed = {
        result.call_id
        for result in turn.results
        if result.denied_by is not None or (result.ok is False and result.exit_code is None)
    }
    return [call for call in turn.tool_calls if is_edit(call) and call.id not in failed]


def has_edit(trajectory: Trajectory) -> bool:
    """Say whether any edit was carried out."""
    return any(edits_in(turn) for turn in trajectory.turns)


def has_delivered(trajectory: Trajectory) -> bool:
    """Say whether the agent handed in changed files.

    In the Repair environment that takes a valid `submit` after an edit. Other agents edit the
    person's files in place: there an edit that was carried out is delivered. A session without any
    tool (a completion, a chat) delivers its text.
    """
    if not trajectory.tool_calls:
        return not _has_submit(trajectory) and any(turn.text for turn in trajectory.turns)
    if not _has_submit(trajectory):
        return has_edit(trajectory)
    edited = False
    for turn in trajectory.turns:
        edited = edited or bool(edits_in(turn))
        if edited and any(call.name == "submit" and call.is_valid for call in turn.tool_calls):
            return True
    return False


def is_about_work(reaction: Reaction, trajectory: Trajectory, turn: Turn) -> bool:
    """Say whether a decision is about edited files, not about, say, leave to run a command.

    A reaction that names no call, or a call that the record does not hold, is taken to be about
    the turn as a whole and so about the work.
    """
    if reaction.call_id is None:
        return True
    for call in (*turn.tool_calls, *trajectory.tool_calls):
        if call.id == reaction.call_id:
            return is_edit(call) or call.name == "submit"
    return True


def confidence(reaction: Reaction) -> float:
    """Return the reaction's confidence.

    Raises:
        RewardError: it is not a probability.
    """
    value = reaction.confidence
    if not 0.0 <= value <= 1.0:
        raise RewardError(
            f"a `{reaction.kind}` reaction has confidence {value!r}; expected a number in [0, 1]"
        )
    return float(value)


def _has_submit(trajectory: Trajectory) -> bool:
    if trajectory.tools is not None:
        return "submit" in trajectory.tools
    return trajectory.source is Source.SIMULATED or "task" in trajectory.extra


def _command(arguments: dict[str, Any]) -> str:
    value = arguments.get("command", arguments.get("cmd", ""))
    if isinstance(value, list):
        return " ".join(str(part) for part in value)
    return value if isinstance(value, str) else ""

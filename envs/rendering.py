"""Shows a session to people: who says what, tool calls, changes, test results, the verdict.

Everything is drawn from the `Trajectory`, so a running environment, a replayed log and a recorded
episode look alike. `human` prints in colour as the session goes on, large enough for a projector;
`ansi` returns the newest turn as plain text.

Text from agents and programs is data here: it is never read as markup, and control characters,
which could steer a terminal, are shown as symbols.
"""

from __future__ import annotations

import difflib
import io
from collections.abc import Sequence

from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.rule import Rule
from rich.text import Text

from ..trajectory import (
    EndReason,
    Message,
    Polarity,
    Reaction,
    ReactionKind,
    ToolCall,
    ToolResult,
    Trajectory,
    Turn,
)
from .sandbox_computer import parse_counts

WIDTH = 100
"""Columns of plain text."""

_MAX_LINES = 24
_MAX_CALL_CHARS = 400
_DOES = {
    ReactionKind.ACCEPT: ("accepts", "green"),
    ReactionKind.REJECT: ("rejects", "red"),
    ReactionKind.EDIT: ("edits it", "yellow"),
    ReactionKind.UNDO: ("undoes it", "red"),
    ReactionKind.REWIND: ("goes back", "red"),
    ReactionKind.PERSIST: ("keeps it", "green"),
    ReactionKind.FOLLOW_UP: ("says", "yellow"),
    ReactionKind.STEER: ("steers", "yellow"),
    ReactionKind.ANSWER: ("answers", "cyan"),
    ReactionKind.INTERRUPT: ("interrupts", "red"),
    ReactionKind.RETRY: ("asks again", "yellow"),
    ReactionKind.RATE: ("rates it", "yellow"),
    ReactionKind.LEAVE: ("leaves", "red"),
}
_TONES = {Polarity.SATISFIED: " (pleased)", Polarity.DISSATISFIED: " (displeased)"}
_LONG = frozenset({"text", "old", "new"})
"""Arguments that are shown as a change, not as a value."""


def opening(trajectory: Trajectory) -> RenderableType:
    """Draw the beginning: which task, for whom, and what they ask for."""
    facts = [f"task {trajectory.task_id}", f"person {trajectory.user_id or 'unknown'}"]
    facts += [f"family {trajectory.family}"] if trajectory.family else []
    facts += [f"difficulty {trajectory.difficulty:.2f}"] if trajectory.difficulty else []
    asked = trajectory.instruction or "(the request is not known)"
    return Group(
        Rule(Text(printable(" | ".join(facts)), style="bold")),
        _panel(asked, "The person asks", "yellow"),
    )


def turn_view(trajectory: Trajectory, index: int) -> RenderableType:
    """Draw one turn: the agent's words and calls, the results, and what the person did.

    Args:
        trajectory: the session.
        index: which turn; negative ones count from the end.
    """
    index %= len(trajectory.turns)
    turn = trajectory.turns[index]
    when = "" if turn.start_s is None else f" | {turn.start_s - _begin_s(trajectory):.0f} s"
    parts: list[RenderableType] = [Rule(f"Turn {index + 1}{when}", style="dim")]
    if turn.text:
        parts.append(_panel(turn.text, "The agent says", "blue"))
    files = known_files(trajectory, index)
    results = {result.call_id: result for result in turn.results}
    for call in turn.tool_calls:
        parts += _call_view(call, files)
        if call.id in results:
            parts += _result_view(call, results[call.id])
    parts += [_reaction_view(reaction) for reaction in turn.reactions]
    return Group(*parts)


def ending(trajectory: Trajectory) -> RenderableType:
    """Draw the end: why it ended, whether the work holds, and what the reward is made of."""
    outcome, lines = trajectory.outcome, [f"end: {trajectory.end.value}"]
    if outcome.is_solved is not None:
        lines.append(f"solved: {'yes' if outcome.is_solved else 'no'}")
    if outcome.hidden_total:
        lines.append(f"hidden tests: {outcome.hidden_passed} of {outcome.hidden_total} pass")
    report = trajectory.reward
    if report is not None and report.total is not None:
        parts = ", ".join(
            f"{name} {value:+.2f}" for name, value in report.components.items() if value
        )
        lines.append(f"reward: {report.total:+.2f}" + (f" = {parts}" if parts else ""))
    elif report is not None:
        lines.append(f"no reward: {report.excluded}")
    good = trajectory.end is EndReason.SOLVED and outcome.is_solved is not False
    return _panel("\n".join(lines), "The end", "green" if good else "red")


def show(parts: Sequence[RenderableType], console: Console | None = None) -> None:
    """Print in colour, to standard output by default."""
    console = console or Console()
    for part in parts:
        console.print(part)


def as_text(parts: Sequence[RenderableType]) -> str:
    """Return what `show` prints as plain text of `WIDTH` columns."""
    file = io.StringIO()
    show(parts, Console(file=file, width=WIDTH, color_system=None, force_terminal=False))
    return "\n".join(line.rstrip() for line in file.getvalue().split("\n")).rstrip()


def scene(trajectory: Trajectory, *, is_over: bool) -> list[RenderableType]:
    """Draw the newest moment: the opening before the first turn, then the last turn, and the end.

    Args:
        trajectory: the session so far.
        is_over: whether it has ended.
    """
    if all(turn.is_copied_context for turn in trajectory.turns):
        return [opening(trajectory)]
    parts = [turn_view(trajectory, -1)]
    return [*parts, ending(trajectory)] if is_over else parts


def moment(turn: Turn | None, ahead: str | None) -> list[RenderableType]:
    """Draw a moment of writing code with suggestions.

    Args:
        turn: the last suggestion (without text if nothing was shown) and what the person did.
        ahead: the code at the cursor with the candidates, None at the end.
    """
    parts: list[RenderableType] = []
    if turn is not None and turn.text is None:
        parts.append(Text("* Nothing is shown", "dim"))
    elif turn is not None:
        parts.append(_panel(turn.text or "", "The agent suggests", "blue"))
        parts += [_reaction_view(reaction) for reaction in turn.reactions]
    if ahead is not None:
        parts.append(_panel(ahead, "The person writes", "yellow"))
    return parts


def known_files(trajectory: Trajectory, index: int) -> dict[str, str]:
    """Return the files as the record tells them before turn `index`.

    Follows successful writes and edits from `files_before`, and what was read; what programs
    changed is not known.
    """
    files = dict(trajectory.files_before or {})
    for turn in trajectory.turns[:index]:
        results = {result.call_id: result for result in turn.results if result.ok}
        for call in turn.tool_calls:
            path = (call.arguments or {}).get("path")
            if call.id in results and isinstance(path, str):
                if call.name == "read_file":
                    files[path] = results[call.id].text or ""
                else:
                    files |= _after(call, path, files)
    return files


def printable(text: str) -> str:
    """Return a text without what could steer a terminal: control characters become symbols."""
    return "".join(_symbol(c) for c in text.replace("\r\n", "\n").expandtabs(4))


def _symbol(character: str) -> str:
    if character == "\n" or character.isprintable():
        return character
    code = ord(character)
    return chr(0x2400 + code) if code < 32 else "\N{SYMBOL FOR DELETE}" if code == 127 else "\ufffd"


def _after(call: ToolCall, path: str, files: dict[str, str]) -> dict[str, str]:
    """Return the file that a write or an edit leaves, where that is known."""
    arguments = call.arguments or {}
    if call.name == "write_file" and isinstance(arguments.get("text"), str):
        return {path: arguments["text"]}
    old, new = arguments.get("old"), arguments.get("new")
    if call.name == "edit_file" and isinstance(old, str) and isinstance(new, str) and old:
        before = files.get(path, old)
        return {path: before.replace(old, new, 1)} if old in before else {}
    return {}


def _call_view(call: ToolCall, files: dict[str, str]) -> list[RenderableType]:
    arguments = call.arguments or {}
    shown = ", ".join(
        f"{name}={str(value)!r}" for name, value in arguments.items() if name not in _LONG
    )
    if not call.is_valid:
        return [Text(f"> {printable(call.raw or call.name)[:_MAX_CALL_CHARS]}", style="bold red")]
    head = Text(f"> {printable(call.name)}({printable(shown)})", style="bold blue")
    path = arguments.get("path")
    after = _after(call, path, files) if isinstance(path, str) else {}
    if not isinstance(path, str) or path not in after:
        return [head]
    before = files.get(path, "")
    if path not in files and call.name == "edit_file":
        before = str(arguments.get("old", ""))
    return [head, _diff_view(before, after[path])]


def _diff_view(before: str, after: str) -> Text:
    lines = list(difflib.unified_diff(before.split("\n"), after.split("\n"), lineterm="", n=2))[2:]
    text = Text()
    for line in _middle_cut(lines):
        style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "dim")
        text.append(f"    {printable(line)}\n", style)
    text.rstrip()
    return text if lines else Text("    (no change)", style="dim")


def _result_view(call: ToolCall, result: ToolResult) -> list[RenderableType]:
    text = result.text or ""
    counts = parse_counts(text)
    if call.name == "ask_user" and result.ok:
        return []  # the answer is shown as what the person did
    if counts is not None:
        return [_tests_view(counts, text)]
    style = "red" if result.ok is False else "dim"
    mark = "x" if result.ok is False else "<"
    code = f" [{result.error_code}]" if result.error_code else ""
    lines = _middle_cut(printable(text).split("\n"))
    return [Text("\n".join([f"{mark} {lines[0]}{code}", *(f"  {x}" for x in lines[1:])]), style)]


def _tests_view(counts: tuple[int, int], text: str) -> Text:
    passed, failed = counts
    drawn = Text("tests ")
    drawn.append("\N{BLACK SQUARE}" * min(passed, 40), "green")
    drawn.append("\N{BLACK SQUARE}" * min(failed, 40), "red")
    drawn.append(f" {passed} passed, {failed} failed", "bold green" if not failed else "bold red")
    for line in _middle_cut(printable(text).split("\n")[1:]):
        drawn.append(f"\n  {line}", "red")
    return drawn


def _reaction_view(reaction: Reaction) -> RenderableType:
    does, style = _DOES[reaction.kind]
    later = f", {reaction.delay_s:.0f} s later" if reaction.delay_s else ""
    tone = _TONES.get(reaction.polarity, "") if reaction.polarity else ""
    title = f"The person {does}{tone}{later}"
    return _panel(reaction.text, title, style) if reaction.text else Text(f"* {title}", style)


def _panel(text: str, title: str, style: str) -> Panel:
    body = Text("\n".join(_middle_cut(printable(text).split("\n"))))
    return Panel(body, title=Text(title), title_align="left", border_style=style)


def _middle_cut(lines: Sequence[str]) -> list[str]:
    if len(lines) <= _MAX_LINES:
        return list(lines)
    half = _MAX_LINES // 2
    return [*lines[:half], f"[... {len(lines) - 2 * half} lines not shown ...]", *lines[-half:]]


def _begin_s(trajectory: Trajectory) -> float:
    messages: list[Message] = trajectory.turns[0].observation
    stamps = [m.time_s for m in messages if m.time_s is not None]
    first: Turn = trajectory.turns[0]
    return min(stamps, default=first.start_s or 0.0)

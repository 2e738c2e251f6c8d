"""From a recorded session to the views that its person had, one a turn, nothing from the future.

What a view must not hold: the person's reaction to the turn, the answer to a question asked in it,
the mark that a refusal or an interruption left on a result, the time at which the person was done
with it, and reactions to earlier turns that came later than this moment. All of that is removed
here; what remains is what one could see just before reacting.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from ..trajectory import Reaction, ReactionKind, TextState, ToolCall, ToolResult, Trajectory, Turn
from .base import Brief, Trial, UserView
from .situation import ASK_TOOLS, SUBMIT_TOOLS, is_hand_in, question_of

WRITE_TOOLS = frozenset({"write_file", "Write", "create_file"})
EDIT_TOOLS = frozenset({"edit_file", "Edit"})
_PATHS, _OLD, _NEW = ("path", "file_path"), ("old", "old_string"), ("new", "new_string")
_TEXTS = ("text", "content")
_LATE = frozenset({ReactionKind.UNDO, ReactionKind.PERSIST})


@dataclass(slots=True, kw_only=True, frozen=True)
class Backstage:
    """What a log does not show and a stand-in for production knows of one session's person.

    With it a simulated person has exactly what the logged one had, so that a difference is one of
    behaviour and not of information. No real log can give it.
    """

    brief: Brief | None = None
    trials: Mapping[int, Trial] = field(default_factory=dict)
    """Turn index to what trying the change at that turn showed."""


def views(trajectory: Trajectory, backstage: Backstage | None = None) -> Iterator[UserView]:
    """Yield the view of each turn.

    A turn that repeats an earlier trajectory is part of the talk and gets no view of its own, nor
    does the last turn of a session that our own failure ended: nobody could react to it. The diff
    holds what write and edit tools did; what shell commands changed is seen at the last turn only,
    and only if the final files were recorded.

    Args:
        trajectory: any logged session; it is not changed, and its turns' data are shared.
        backstage: see `Backstage`; by default the brief is the request and there is no trial.
    """
    known = backstage or Backstage()
    request = trajectory.instruction or _first_request(trajectory)
    brief = known.brief or Brief(task_id=trajectory.task_id, goal=request)
    is_own = _is_own(trajectory)
    start_s = _start(trajectory)
    work = _WorkArea(trajectory.files_before)
    num_live = len(trajectory.turns) - trajectory.end.is_error
    for index, turn in enumerate(trajectory.turns):
        seen = _unreacted(turn, is_own=is_own)
        now_s = _moment(seen)
        # Whether a foreign call was carried out is what the person is yet to decide.
        proposal = work.with_proposal(turn, trust_results=is_own)
        work.follow(turn, trust_results=True)
        if turn.is_copied_context or index >= num_live:
            continue
        is_last = index + 1 == len(trajectory.turns)
        earlier = [_as_of(past, now_s) for past in trajectory.turns[:index]]
        yield UserView(
            brief=brief,
            request=request,
            turns=[*earlier, seen],
            diff=proposal.diff(trajectory.files_after if is_last else None),
            elapsed_s=max(0.0, (now_s or start_s) - start_s),
            is_submitted=_is_submitted(turn, is_own=is_own),
            question=_question(turn, is_own=is_own),
            trial=known.trials.get(index),
        )


def _question(turn: Turn, *, is_own: bool) -> str | None:
    """In our own environments a message that ends in `?` reaches nobody; only the tool asks."""
    if is_own and not any(call.name in ASK_TOOLS for call in turn.tool_calls):
        return None
    return question_of(turn)


def _is_submitted(turn: Turn, *, is_own: bool) -> bool:
    if is_own:
        return any(call.name in SUBMIT_TOOLS and call.is_valid for call in turn.tool_calls)
    return is_hand_in(turn)


def _is_own(trajectory: Trajectory) -> bool:
    """Say whether one of our environments made the record: there people see results first."""
    return isinstance(trajectory.extra.get("task"), dict)


def _first_request(trajectory: Trajectory) -> str:
    texts = (
        message.text
        for turn in trajectory.turns
        for message in turn.observation
        if message.role == "user" and message.text
    )
    return next(texts, "")


def _start(trajectory: Trajectory) -> float:
    for turn in trajectory.turns:
        stamps = [m.time_s for m in turn.observation if m.time_s is not None]
        if stamps or turn.start_s is not None:
            return min([*stamps, *([] if turn.start_s is None else [turn.start_s])])
    return 0.0


def _moment(seen: Turn) -> float | None:
    """Return when the person saw the turn: its last result's end, else its start."""
    stamps = [r.end_s for r in seen.results if r.end_s is not None]
    stamps += [] if seen.start_s is None else [seen.start_s]
    return max(stamps, default=None)


def _unreacted(turn: Turn, *, is_own: bool) -> Turn:
    """Return the turn without any trace of what the person did about it.

    In a foreign log a call may have waited for permission, and its result (or the lack of one)
    tells what the person decided. So all results of the turn are blanked there, not only those
    with a refusal: if only they were blank, the blank would tell.
    """
    asked = {call.id for call in turn.tool_calls if call.name in ASK_TOOLS}
    if is_own:
        results = [_blank(r) if r.call_id in asked else r for r in turn.results]
    else:
        results = [_blank(ToolResult(call_id=call.id, text=None)) for call in turn.tool_calls]
    return replace(turn, results=results, reactions=[], end_s=None, extra={})


def _blank(result: ToolResult) -> ToolResult:
    return ToolResult(call_id=result.call_id, text=None, text_state=TextState.ABSENT)


def _as_of(turn: Turn, now_s: float | None) -> Turn:
    """Return an earlier turn with only the reactions that had happened by now."""
    kept = [reaction for reaction in turn.reactions if _has_happened(reaction, turn, now_s)]
    return turn if len(kept) == len(turn.reactions) else replace(turn, reactions=kept)


def _has_happened(reaction: Reaction, turn: Turn, now_s: float | None) -> bool:
    time_s = reaction.time_s
    if time_s is None and reaction.delay_s is not None and turn.start_s is not None:
        time_s = turn.start_s + reaction.delay_s
    if time_s is None or now_s is None:
        return reaction.kind not in _LATE  # undated: what is usually late may not have happened
    return time_s <= now_s


class _WorkArea:
    """Files as far as write and edit tools tell; without known files, hunks of what was edited."""

    def __init__(self, files: Mapping[str, str] | None) -> None:
        self.before = None if files is None else dict(files)
        self.files = dict(files or {})
        self.hunks: list[str] = []

    def follow(self, turn: Turn, *, trust_results: bool) -> None:
        """Apply the turn's edits; if results are trusted, only those that were carried out."""
        results = {result.call_id: result for result in turn.results}
        for call in turn.tool_calls:
            result = results.get(call.id)
            has_failed = result is not None and (result.ok is False or result.denied_by is not None)
            if call.is_valid and not (has_failed and trust_results):
                self._apply(call)

    def with_proposal(self, turn: Turn, *, trust_results: bool) -> _WorkArea:
        """Return the area as the person sees it at this turn."""
        area = _WorkArea(None)
        area.before, area.files, area.hunks = self.before, dict(self.files), list(self.hunks)
        area.follow(turn, trust_results=trust_results)
        return area

    def _apply(self, call: ToolCall) -> None:
        path, new = _argument(call, _PATHS), _argument(call, _NEW)
        if path is None:
            return
        if call.name in WRITE_TOOLS:
            self._set(path, self.files.get(path, ""), _argument(call, _TEXTS) or "")
        elif call.name in EDIT_TOOLS and new is not None:
            old = _argument(call, _OLD) or ""
            content = self.files.get(path)
            if content is None:
                self._hunk(path, old, new)
            elif old:
                self._set(path, content, content.replace(old, new, 1))

    def _set(self, path: str, old: str, new: str) -> None:
        self.files[path] = new
        if self.before is None:
            self._hunk(path, old, new)

    def _hunk(self, path: str, old: str, new: str) -> None:
        lines = difflib.unified_diff(
            old.splitlines(), new.splitlines(), f"a/{path}", f"b/{path}", lineterm=""
        )
        self.hunks.append("".join(f"{line}\n" for line in lines))

    def diff(self, final: Mapping[str, str] | None) -> str:
        """Return the diff so far; `final` is the work area where it was recorded."""
        if self.before is None:
            return "".join(self.hunks)
        return _diff(self.before, self.files if final is None else final) + "".join(
            self.hunks if final is None else ()
        )


def _argument(call: ToolCall, names: tuple[str, ...]) -> str | None:
    arguments = call.arguments or {}
    found = (arguments[name] for name in names if isinstance(arguments.get(name), str))
    return next(found, None)


def _diff(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    parts: list[str] = []
    for path in sorted({*before, *after}):
        old, new = before.get(path), after.get(path)
        if old != new:
            names = ("/dev/null" if old is None else f"a/{path}", f"b/{path}")
            names = names if new is not None else (names[0], "/dev/null")
            lines = difflib.unified_diff(
                (old or "").splitlines(), (new or "").splitlines(), *names, lineterm=""
            )
            parts += [f"{line}\n" for line in lines]
    return "".join(parts)

"""What a person makes of what they can see: a view, boiled down to what their reactions depend on.

Everything is worked out from the view each time, nothing is remembered. So a person can be put at
any turn of a recorded session, also one from a foreign agent with other tool names; what such a log
does not show (a trial, the person's own knowledge) is replaced by what was visible.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ..trajectory import ReactionKind, ToolResult, Turn
from .base import Brief, UserView

ASK_TOOLS = frozenset(
    {"ask_user", "AskUserQuestion", "ask_followup_question", "request_user_input", "ask_question"}
)
"""Names under which agents ask the person."""
SUBMIT_TOOLS = frozenset({"submit", "finish", "attempt_completion", "task_complete"})
"""Names under which agents hand in their work."""

WISH = "wish-"
"""How the names of a person's wishes begin."""

MAX_NEEDED_QUESTIONS = 2
"""Beyond this many questions in a session another one is needless, whatever is still untold."""

_FAILED = re.compile(r"\b([1-9]\d*) (?:tests? )?(?:failed|errors?)\b", re.IGNORECASE)
_PASSED = re.compile(r"\b(\d+) (?:tests? )?passed\b", re.IGNORECASE)
_TEST_FILE = re.compile(
    r"^(?:\+\+\+|---) (?:[ab]/)?(?:\S*/)?"
    r"(?:tests?/\S+|test_[^/\s]+|[^/\s]+_test\.\w+|[^/\s]+\.(?:test|spec)\.\w+|conftest\.py)",
    re.MULTILINE,
)
_DEFINITION = re.compile(r"^([+-])\s*(?:async )?(?:def|function|func|fn) \w+", re.MULTILINE)
_TAIL_CHARS = 4_000
"""A person looks at the end of long output; test summaries stand there."""
_MAX_REMEMBERED = 1024
"""Texts whose reading is kept: a person looks at the same ones again at every turn of a session."""

_WRONG_IF_FAILED, _WRONG_IF_PASSED, _WRONG_IF_UNTESTED = 0.85, 0.15, 0.4
_WRONG_IF_UNCHANGED = 0.6
"""A logged request may have asked for no change at all, so this stays far from certain."""
_LOGIT_FAILED_CALL, _LOGIT_PER_LOG_TURN = 0.5, 0.2
_CHOPPED_MIN_DEFS, _CHOPPED_MAX_LINES_PER_DEF = 3, 6


@dataclass(slots=True, kw_only=True, frozen=True)
class Situation:
    """All that a scripted person's decision depends on, besides their persona."""

    is_gone: bool
    """True if they have left already."""
    has_reacted: bool
    """True if they have reacted to this turn already."""
    is_asked: bool
    """True if a question waits for their answer."""
    needless: int
    """Needless questions so far, this one included; 0 while the present one is needed."""
    is_submitted: bool
    work: float
    """Turns since the request or the last hand-in that they answered; an invalid or failed call
    counts half a turn more."""
    num_rejections: int
    is_changed: bool
    """True if the work area differs from the beginning."""
    touches_tests: bool
    """True if the change is (also) to test files."""
    is_chopped: bool
    """True if the change adds many tiny functions."""
    is_tried: bool
    """True if the change could be tried at all, which a log does not offer."""
    wrong: float
    """Probability that the change is wrong: 0 or 1 if cases were tried, else a guess."""
    gain: float | None
    """How much more readable the work has become; None where that is not what was asked for."""
    untold: tuple[str, ...]
    """Facts (see `known_facts`) that they know and have not said yet."""


def read_view(view: UserView) -> Situation:
    """Work out the situation. Never raises on an incomplete view (no turns, foreign tools)."""
    talk = _Talk(known_facts(view.brief))
    talk.hear(view.request)
    for turn in view.turns[:-1]:
        talk.follow(turn)
    last = view.turns[-1] if view.turns else Turn()
    for message in last.observation:
        talk.hear(message.text if message.role == "user" else None)
    answered = any(r.kind is ReactionKind.ANSWER for r in last.reactions)
    is_asked = view.question is not None and not answered
    is_needless = is_asked and not talk.is_needed
    return Situation(
        is_gone=any(r.kind is ReactionKind.LEAVE for turn in view.turns for r in turn.reactions),
        has_reacted=bool(last.reactions),
        is_asked=is_asked,
        needless=talk.num_needless + 1 if is_needless else 0,
        is_submitted=view.is_submitted,
        work=_work(view.turns),
        num_rejections=sum(_is_rejected(turn) for turn in view.turns[:-1]),
        is_changed=bool(view.diff.strip()),
        touches_tests=_touches_tests(view.diff),
        is_chopped=_is_chopped(view.diff),
        is_tried=view.trial is not None,
        wrong=_wrong(view),
        gain=view.trial.gain if view.trial is not None else None,
        untold=tuple(name for name in talk.facts if name not in talk.told),
    )


def known_facts(brief: Brief) -> dict[str, str]:
    """Return what the person knows, of `kind`, `place` and `example`, and `wish-1`, `wish-2` ..."""
    facts = {"kind": brief.kind_hint, "place": brief.place_hint, "example": brief.example}
    wishes = {f"{WISH}{number}": text for number, text in enumerate(brief.wishes, 1)}
    return {name: text for name, text in (facts | wishes).items() if text}


def question_of(turn: Turn) -> str | None:
    """Return what the agent asks in this turn: by a tool, or as a message that ends in `?`."""
    asked = None
    for call in turn.tool_calls:
        if call.name in ASK_TOOLS and call.is_valid:
            asked = _question_text(call.arguments or {})
    if asked is None and not turn.tool_calls and (turn.text or "").rstrip().endswith("?"):
        asked = turn.text
    return asked


def is_hand_in(turn: Turn) -> bool:
    """Say whether the agent gives control back: a submit tool, or a message without a tool call."""
    if any(call.name in SUBMIT_TOOLS and call.is_valid for call in turn.tool_calls):
        return True
    return not turn.tool_calls and bool((turn.text or "").strip()) and question_of(turn) is None


def shown_tests(turns: Sequence[Turn]) -> bool | None:
    """Return whether the last test summary in sight passed; None if there was none.

    A forged summary in some command's output counts as well: the person cannot tell.
    """
    for turn in reversed(turns):
        for result in reversed(turn.results):
            is_passed = _summary(result.text)
            if is_passed is not None:
                return is_passed
    return None


def is_trouble(result: ToolResult) -> bool:
    """Say whether a result looks like a failure, other than a test run that reports its counts."""
    if result.ok is not False or result.denied_by is not None:
        return False
    return _summary(result.text) is None


@lru_cache(maxsize=_MAX_REMEMBERED)
def _summary(text: str | None) -> bool | None:
    """Return whether a test summary at the end of a text passed; None if there is none."""
    tail = (text or "")[-_TAIL_CHARS:]
    if _FAILED.search(tail):
        return False
    return True if _PASSED.search(tail) else None


class _Talk:
    """Follows what the person has said and was asked."""

    def __init__(self, facts: Mapping[str, str]) -> None:
        self.facts = facts
        self.told: set[str] = set()
        self.num_questions = self.num_needless = 0

    @property
    def is_needed(self) -> bool:
        """True if a question now could bring out the kind or place of the mistake, or a wish."""
        worth_asking = (n for n in self.facts if n in ("kind", "place") or n.startswith(WISH))
        is_open = any(name not in self.told for name in worth_asking)
        return is_open and self.num_questions < MAX_NEEDED_QUESTIONS

    def hear(self, text: str | None) -> None:
        if text and len(self.told) < len(self.facts):
            self.told.update(name for name, fact in self.facts.items() if fact in text)

    def follow(self, turn: Turn) -> None:
        for message in turn.observation:
            self.hear(message.text if message.role == "user" else None)
        if question_of(turn) is not None:
            self.num_needless += not self.is_needed
            self.num_questions += 1
            asked = {call.id for call in turn.tool_calls if call.name in ASK_TOOLS}
            for result in turn.results:
                self.hear(result.text if result.call_id in asked else None)
        for reaction in turn.reactions:
            self.hear(reaction.text)


def _question_text(arguments: Mapping[str, object]) -> str:
    direct = arguments.get("question")
    if isinstance(direct, str):
        return direct
    several = arguments.get("questions")
    if isinstance(several, list) and several and isinstance(several[0], dict):
        return str(several[0].get("question", ""))
    return ""


def _is_rejected(turn: Turn) -> bool:
    return any(reaction.kind is ReactionKind.REJECT for reaction in turn.reactions)


def _work(turns: Sequence[Turn]) -> float:
    start = 0
    for index in range(1, len(turns)):
        has_spoken = any(message.role == "user" for message in turns[index].observation)
        if has_spoken and is_hand_in(turns[index - 1]):
            start = index
    recent = turns[start:]
    # An invalid call has a failed result as well: it is one piece of trouble, not two.
    trouble = sum(
        max(sum(not c.is_valid for c in turn.tool_calls), sum(map(is_trouble, turn.results)))
        for turn in recent
    )
    return len(recent) + 0.5 * trouble


def _wrong(view: UserView) -> float:
    if view.trial is not None and view.trial.num_tried > 0:
        return float(view.trial.num_wrong > 0)
    if not view.diff.strip():
        return _WRONG_IF_UNCHANGED
    passed = shown_tests(view.turns)
    base = {True: _WRONG_IF_PASSED, False: _WRONG_IF_FAILED, None: _WRONG_IF_UNTESTED}[passed]
    logit = math.log(base / (1 - base)) + _LOGIT_PER_LOG_TURN * math.log1p(len(view.turns) / 10)
    if view.turns and any(is_trouble(result) for result in view.turns[-1].results):
        logit += _LOGIT_FAILED_CALL
    return 1 / (1 + math.exp(-logit))


@lru_cache(maxsize=_MAX_REMEMBERED)
def _touches_tests(diff: str) -> bool:
    return bool(_TEST_FILE.search(diff))


@lru_cache(maxsize=_MAX_REMEMBERED)
def _is_chopped(diff: str) -> bool:
    signs = _DEFINITION.findall(diff)
    num_new = signs.count("+") - signs.count("-")
    if num_new < _CHOPPED_MIN_DEFS:
        return False
    num_added = sum(line.startswith("+") and bool(line[1:].strip()) for line in diff.splitlines())
    return num_added <= _CHOPPED_MAX_LINES_PER_DEF * num_new

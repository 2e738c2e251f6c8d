"""How traces in a log become reactions: small named rules, each stated in its own docstring.

A reader gathers *evidence* (a refused result, an interrupt marker, a queued message ...) and asks
the rules. Each rule gives a `Reaction` with its name, the strength of its evidence, a confidence
and what the act may have been instead, or None if the evidence is no act of a person. One act is
one reaction, however many marks it left. `RULES` is the table of all of them; the confidences are
judgements made when the rules were written, not estimates, and are to be replaced by measured ones.

A rule never looks at rewards, and silence is never turned into a reaction.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..trajectory import Evidence, Json, Polarity, Reaction, ReactionKind
from .tone import polarity_of

PHANTOM_VERSIONS = frozenset({"2.1.78", "2.1.79"})
"""Versions of Claude Code that wrote interrupts which nobody had made."""
ASKING_MODES = frozenset({"default", "plan"})
"""Permission modes of Claude Code in which a person is asked before an edit."""
EDIT_TOOLS = frozenset({"Edit", "MultiEdit", "Write", "NotebookEdit"})
NEVER_ASKED_TOOLS = frozenset({"Read", "Glob", "Grep", "LS", "TodoWrite", "Task", "Agent"})
"""Tools that Claude Code runs without asking in every mode."""
POLICY_KINDS = frozenset({"permission-rule", "automode-blocked", "automode-unavailable"})
MIN_DECISION_S = 0.5
"""An edit applied sooner was let through by a rule: no person reads and answers that fast."""


@dataclass(slots=True, kw_only=True)
class Denial:
    """A tool result that says the call was refused, with what else the log tells about it."""

    turn: int
    call_id: str | None
    tool: str
    time_s: float | None
    delay_s: float | None
    kind: str | None = None
    """Claude Code's `toolDenialKind`."""
    reason: str | None = None
    """What the person typed with the refusal."""
    permission_mode: str | None = None
    version: str | None = None
    is_subagent: bool = False
    marker: Marker | None = None
    """The interrupt marker that came with it."""
    is_marked_interrupted: bool = False
    """True if the marker names the message of this call as interrupted."""
    follow_up: str | None = None
    """The person's next message, if nothing of the agent lies between."""


@dataclass(slots=True, kw_only=True)
class Marker:
    """A line that says the person interrupted the agent."""

    turn: int
    time_s: float | None
    delay_s: float | None
    version: str | None = None
    is_subagent: bool = False
    interrupted_message_id: str | None = None
    follow_up: str | None = None


def is_asked(mode: str | None, tool: str) -> bool | None:
    """Say whether a person was asked before a tool ran; None if the mode is not known."""
    if tool in NEVER_ASKED_TOOLS:
        return False
    if mode is None:
        return None
    if mode == "acceptEdits":
        return tool not in EDIT_TOOLS
    return mode in ASKING_MODES


def _tone(text: str | None) -> Polarity | None:
    return polarity_of(text) if text else None


def policy_denial(denial: Denial) -> bool:
    """Rule: a denial kind that names a permission rule or the automatic mode is not the person's.

    Evidence: explicit. It gives no reaction; the result is `denied_by="policy"`.
    """
    return denial.kind in POLICY_KINDS


def phantom_interrupt(version: str | None, is_subagent: bool) -> bool:
    """Rule: markers of versions 2.1.78 and 2.1.79, and in a subagent's own file, are nobody's act.

    Those versions wrote interrupts by themselves, and a subagent is stopped by its parent or by the
    harness. Evidence: structural. It gives no reaction, and interrupts count as unobservable in
    such a trajectory.
    """
    return is_subagent or version in PHANTOM_VERSIONS


def explicit_rejection(denial: Denial) -> Reaction | None:
    """Rule: a refused call with a reason that the person typed is a rejection.

    Evidence: explicit (a reason can only be typed into the permission prompt). Confidence 0.98.
    """
    if denial.reason is None:
        return None
    return Reaction(
        kind=ReactionKind.REJECT,
        turn=denial.turn,
        call_id=denial.call_id,
        time_s=denial.time_s,
        delay_s=denial.delay_s,
        text=denial.reason,
        polarity=polarity_of(denial.reason),
        evidence=Evidence.EXPLICIT,
        rule="explicit_rejection",
        confidence=0.98,
    )


def interrupted_tool(denial: Denial) -> Reaction | None:
    """Rule: a bare refusal where no prompt was shown is Esc during the run, not a rejection.

    Pressing Esc while a tool runs is logged with the same words as a rejection. It must have been
    an interrupt if the permission mode (or the tool) asks nobody, and probably was one if the
    marker names the message as interrupted. Evidence: structural. Confidence 0.9 if nobody could
    have been asked, 0.7 if only the marker says so. Alternative: reject.
    """
    asked = is_asked(denial.permission_mode, denial.tool)
    if asked is not False and not denial.is_marked_interrupted:
        return None
    return Reaction(
        kind=ReactionKind.INTERRUPT,
        turn=denial.turn,
        call_id=denial.call_id,
        time_s=denial.time_s,
        delay_s=denial.delay_s,
        text=denial.follow_up,
        polarity=_tone(denial.follow_up),
        evidence=Evidence.STRUCTURAL,
        rule="interrupted_tool",
        confidence=0.9 if asked is False else 0.7,
        alternatives=(ReactionKind.REJECT,),
    )


def bare_rejection(denial: Denial) -> Reaction:
    """Rule: a refused call without a reason is a rejection; the marker after it is the same act.

    The person's next message, if nothing of the agent lies between, is what they said with it.
    Evidence: marker. Confidence 0.9 if the permission mode asks, 0.75 if it is not known.
    Alternative: interrupt (Esc during the run is logged with the same words).
    """
    asked = is_asked(denial.permission_mode, denial.tool)
    return Reaction(
        kind=ReactionKind.REJECT,
        turn=denial.turn,
        call_id=denial.call_id,
        time_s=denial.time_s,
        delay_s=denial.delay_s,
        text=denial.follow_up,
        polarity=_tone(denial.follow_up),
        evidence=Evidence.MARKER,
        rule="bare_rejection",
        confidence=0.9 if asked else 0.75,
        alternatives=(ReactionKind.INTERRUPT,),
    )


def judge_denial(denial: Denial) -> Reaction | None:
    """Ask the rules on refusals in order: policy, typed reason, phantom, interrupt, rejection."""
    if policy_denial(denial):
        return None
    explicit = explicit_rejection(denial)
    if explicit is not None:
        return explicit
    if phantom_interrupt(denial.version, denial.is_subagent):
        return None
    return interrupted_tool(denial) or bare_rejection(denial)


def interrupt_marker(marker: Marker) -> Reaction | None:
    """Rule: an interrupt marker that belongs to no refused call is an interrupt of the last turn.

    The person's next message, if nothing of the agent lies between, is what they said with it.
    Evidence: marker. Confidence 0.95.
    """
    if phantom_interrupt(marker.version, marker.is_subagent):
        return None
    return Reaction(
        kind=ReactionKind.INTERRUPT,
        turn=marker.turn,
        time_s=marker.time_s,
        delay_s=marker.delay_s,
        text=marker.follow_up,
        polarity=_tone(marker.follow_up),
        evidence=Evidence.MARKER,
        rule="interrupt_marker",
        confidence=0.95,
    )


def queued_steer(
    turn: int, text: str, *, time_s: float | None, delay_s: float | None, is_delivered: bool
) -> Reaction:
    """Rule: a message queued while the agent works is steering, once however often it is logged.

    An attachment says that it was delivered (evidence explicit, confidence 0.95). A queue record
    alone says that it was typed (structural, 0.7): the person may have taken it back unseen.
    Alternative: a follow-up, if the agent had in fact just finished.
    """
    return Reaction(
        kind=ReactionKind.STEER,
        turn=turn,
        time_s=time_s,
        delay_s=delay_s,
        text=text,
        polarity=polarity_of(text),
        evidence=Evidence.EXPLICIT if is_delivered else Evidence.STRUCTURAL,
        rule="queued_steer",
        confidence=0.95 if is_delivered else 0.7,
        alternatives=(ReactionKind.FOLLOW_UP,),
    )


def implicit_accept(
    turn: int,
    call_id: str,
    tool: str,
    *,
    mode: str | None,
    time_s: float | None,
    delay_s: float | None,
    is_user_modified: bool | None,
) -> Reaction | None:
    """Rule: an edit that was applied in a mode that asks was let through by the person.

    Nothing records the key press. So: an edit tool, a result that is no error, a mode known to ask,
    and at least half a second to decide. Evidence: heuristic. Confidence 0.5 (a standing permission
    looks the same). If the log says that the person changed the edit first, it is an `edit` with
    explicit evidence, confidence 0.9, alternative accept.
    """
    if tool not in EDIT_TOOLS:
        return None
    if is_user_modified:
        return Reaction(
            kind=ReactionKind.EDIT,
            turn=turn,
            call_id=call_id,
            time_s=time_s,
            delay_s=delay_s,
            evidence=Evidence.EXPLICIT,
            rule="implicit_accept",
            confidence=0.9,
            alternatives=(ReactionKind.ACCEPT,),
        )
    is_too_fast = delay_s is None or delay_s < MIN_DECISION_S
    if mode is None or not is_asked(mode, tool) or is_too_fast:
        return None
    return Reaction(
        kind=ReactionKind.ACCEPT,
        turn=turn,
        call_id=call_id,
        time_s=time_s,
        delay_s=delay_s,
        evidence=Evidence.HEURISTIC,
        rule="implicit_accept",
        confidence=0.5,
    )


def follow_up(turn: int, text: str, *, time_s: float | None, delay_s: float | None) -> Reaction:
    """Rule: a person's message after an agent's turn is a follow-up to it, with a tone.

    Evidence: heuristic, for the tone (`polarity_of`). Confidence 0.6 with a tone; 0.9 if neutral,
    which claims no more than that a message came.
    """
    tone = polarity_of(text)
    return Reaction(
        kind=ReactionKind.FOLLOW_UP,
        turn=turn,
        time_s=time_s,
        delay_s=delay_s,
        text=text,
        polarity=tone,
        evidence=Evidence.HEURISTIC,
        rule="follow_up",
        confidence=0.9 if tone is Polarity.NEUTRAL else 0.6,
    )


def rewind(turn: int, *, time_s: float | None, delay_s: float | None, text: str | None) -> Reaction:
    """Rule: a second prompt under the same parent abandons the branch of the first.

    The reaction is about the last turn of the abandoned branch: what the person saw when they went
    back. `text` is the prompt they wrote instead. Evidence: structural. Confidence 0.9.
    Alternative: retry (the same prompt again).
    """
    return Reaction(
        kind=ReactionKind.REWIND,
        turn=turn,
        time_s=time_s,
        delay_s=delay_s,
        text=text,
        evidence=Evidence.STRUCTURAL,
        rule="rewind",
        confidence=0.9,
        alternatives=(ReactionKind.RETRY,),
    )


def question_answer(
    turn: int, call_id: str, text: str | None, *, time_s: float | None, delay_s: float | None
) -> Reaction:
    """Rule: a result of the tool that asks the person a question is their answer.

    Evidence: explicit. Confidence 0.95.
    """
    return Reaction(
        kind=ReactionKind.ANSWER,
        turn=turn,
        call_id=call_id,
        time_s=time_s,
        delay_s=delay_s,
        text=text,
        evidence=Evidence.EXPLICIT,
        rule="question_answer",
        confidence=0.95,
    )


_MINI_KINDS = {
    "UserRejection": ReactionKind.REJECT,
    "UserInterruption": ReactionKind.INTERRUPT,
    "UserNewTask": ReactionKind.FOLLOW_UP,
}


def mini_interrupt_type(
    kind: str,
    turn: int,
    text: str | None,
    *,
    call_id: str | None,
    time_s: float | None,
    delay_s: float | None,
) -> Reaction | None:
    """Rule: mini-swe-agent's `interrupt_type` names the act: rejection, interruption, new task.

    A new task follows handed-in work, so it is a follow-up; its tone is judged from its words.
    Evidence: explicit. Confidence 0.98. Other interrupt types (format errors, limits) are the
    harness's own and give no reaction.
    """
    if kind not in _MINI_KINDS:
        return None
    return Reaction(
        kind=_MINI_KINDS[kind],
        turn=turn,
        call_id=call_id,
        time_s=time_s,
        delay_s=delay_s,
        text=text,
        polarity=_tone(text),
        evidence=Evidence.EXPLICIT,
        rule="mini_interrupt_type",
        confidence=0.98,
    )


def atif_user_feedback(
    feedback: object, turn: int, call_ids: dict[str, str], time_s: float | None
) -> Reaction | None:
    """Rule: `extra.user_feedback` on an ATIF step names the act in `kind` (and `call`, `reason`).

    `reject_with_reason`, `vote`, `survival` and `commit` are read as their equals here. Evidence:
    explicit. Confidence 0.9 (ATIF does not define the field).
    """
    if not isinstance(feedback, dict):
        return None
    kind = _feedback_kind(feedback.get("kind"))
    if kind is None:
        return None
    call = feedback.get("call", feedback.get("call_id"))
    text = feedback.get("reason", feedback.get("text"))
    tone = feedback.get("polarity")
    return Reaction(
        kind=kind,
        turn=turn,
        call_id=call_ids.get(call, call) if isinstance(call, str) else None,
        time_s=time_s,
        text=text if isinstance(text, str) else None,
        polarity=Polarity(tone) if tone in list(Polarity) else None,
        evidence=Evidence.EXPLICIT,
        rule="atif_user_feedback",
        confidence=0.9,
    )


_FEEDBACK_NAMES = {
    "reject_with_reason": ReactionKind.REJECT,
    "followup": ReactionKind.FOLLOW_UP,
    "vote": ReactionKind.RATE,
    "survival": ReactionKind.PERSIST,
    "commit": ReactionKind.PERSIST,
}


def _feedback_kind(name: object) -> ReactionKind | None:
    if not isinstance(name, str):
        return None
    if name in set(ReactionKind):
        return ReactionKind(name)
    return _FEEDBACK_NAMES.get(name)


RULES: dict[str, Callable[..., object]] = {
    "policy_denial": policy_denial,
    "phantom_interrupt": phantom_interrupt,
    "explicit_rejection": explicit_rejection,
    "interrupted_tool": interrupted_tool,
    "bare_rejection": bare_rejection,
    "interrupt_marker": interrupt_marker,
    "queued_steer": queued_steer,
    "implicit_accept": implicit_accept,
    "follow_up": follow_up,
    "rewind": rewind,
    "question_answer": question_answer,
    "mini_interrupt_type": mini_interrupt_type,
    "atif_user_feedback": atif_user_feedback,
}
"""Every rule by the name that its reactions carry. The first two give none: they hold one back."""


def describe_rules() -> Json:
    """Return each rule's own statement, for reports."""
    return {name: (rule.__doc__ or "").strip() for name, rule in RULES.items()}

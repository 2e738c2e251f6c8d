"""Signals: what can be measured about a trajectory, one number each, before any weighing.

A signal is a pure function `Trajectory -> float | None`. **None means not observable here**, which
is never the same as 0: a source that cannot show an undo says nothing about whether work was kept.
Every signal also says *where* it belongs (`credits`: turn index to amount), so that a reward can be
credited to the turn that earned it. What is known only at the end belongs to the last turn.

Reactions count with their confidence, so a signal is the expected value of what was inferred.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from ..trajectory import Polarity, Reaction, ReactionKind, Trajectory, Turn
from .complexity import complexity_change
from .work import confidence, has_delivered, is_about_work, is_question

Credits = dict[int, float]
"""Turn index to amount; the amounts add up to the signal's value."""

MAX_DISSATISFACTION = 3.0
MAX_QUESTIONS = 4
MAX_INVALID_CALLS = 5
STEPS_SCALE = 20
"""Turns that count as one unit of time."""

AMBIGUOUS = 0.5
"""A request of at least this ambiguity leaves open what is wanted: asking is part of the job."""
FREE_QUESTIONS = 2
"""Questions that an ambiguous request justifies."""


@dataclass(slots=True, frozen=True)
class Signal:
    """A named measurement. Call it for the value; `credits` says which turns it belongs to."""

    name: str
    place: Callable[[Trajectory], Credits | None]
    reads_outcome: bool = False
    """True if it needs the hidden truth, which exists in simulation only."""

    def __call__(self, trajectory: Trajectory) -> float | None:
        """Return the value, or None if this trajectory cannot show it."""
        credits = self.credits(trajectory)
        return None if credits is None else sum(credits.values())

    def credits(self, trajectory: Trajectory) -> Credits | None:
        """Return the value split over turns, or None if this trajectory cannot show it."""
        return self.place(trajectory)


def _at_end(trajectory: Trajectory, value: float | None) -> Credits | None:
    return None if value is None else {len(trajectory.turns) - 1: value}


def own_turns(trajectory: Trajectory) -> Iterator[tuple[int, Turn]]:
    """Yield the turns that are not repeated from an earlier trajectory, with their index."""
    return (pair for pair in enumerate(trajectory.turns) if not pair[1].is_copied_context)


def reactions_by_turn(trajectory: Trajectory) -> Iterator[tuple[int, Turn, Reaction]]:
    """Yield each reaction with the turn it is about (the turn it stands on, if that is unknown)."""
    turns = trajectory.turns
    for index, turn in own_turns(trajectory):
        for reaction in turn.reactions:
            about = reaction.turn if 0 <= reaction.turn < len(turns) else index
            yield about, turns[about], reaction


def _decisions(
    trajectory: Trajectory, kinds: Mapping[ReactionKind, float]
) -> list[tuple[int, float]]:
    """Return (turn, sign times confidence) of every decision about the work, in order of turns."""
    found = [
        (about, kinds[reaction.kind] * confidence(reaction))
        for about, turn, reaction in reactions_by_turn(trajectory)
        if reaction.kind in kinds and is_about_work(reaction, trajectory, turn)
    ]
    return sorted(found, key=lambda pair: pair[0])


_ACCEPTANCE = {ReactionKind.ACCEPT: 1.0, ReactionKind.REJECT: -1.0}
_PERSISTENCE = {ReactionKind.PERSIST: 1.0, ReactionKind.UNDO: -1.0, ReactionKind.REWIND: -1.0}
_COMPLAINTS = (
    ReactionKind.FOLLOW_UP,
    ReactionKind.INTERRUPT,
    ReactionKind.LEAVE,
    ReactionKind.RATE,
)


def _all_observable(trajectory: Trajectory, kinds: Mapping[ReactionKind, float]) -> bool:
    shown = [kind for kind in kinds if kind is not ReactionKind.REWIND]
    return all(trajectory.is_observable(kind) for kind in shown)


def _place_hidden_tests(trajectory: Trajectory) -> Credits | None:
    outcome = trajectory.outcome
    solved = outcome.is_solved
    if solved is None and outcome.hidden_frac is not None:
        solved = outcome.hidden_frac == 1.0
    return _at_end(trajectory, None if solved is None else float(solved))


def _place_acceptance(trajectory: Trajectory) -> Credits | None:
    decisions = _decisions(trajectory, _ACCEPTANCE)
    if decisions:
        return dict(decisions[-1:])
    return {} if _all_observable(trajectory, _ACCEPTANCE) else None


def is_censored(trajectory: Trajectory) -> bool:
    """Say whether accepted work has no known fate yet: it was neither kept nor taken back."""
    accepted = _decisions(trajectory, _ACCEPTANCE)[-1:]
    fate = _decisions(trajectory, _PERSISTENCE)[-1:]
    if not accepted or accepted[0][1] <= 0:
        return False
    return not fate or fate[0][0] < accepted[0][0]


def _place_persistence(trajectory: Trajectory) -> Credits | None:
    if is_censored(trajectory):
        return None
    decisions = _decisions(trajectory, _PERSISTENCE)
    if decisions:
        return dict(decisions[-1:])
    return {} if _all_observable(trajectory, _PERSISTENCE) else None


def complaints(trajectory: Trajectory) -> list[tuple[int, float]]:
    """Return (turn, confidence) of every sign of dissatisfaction, in order of turns.

    Signs are follow-ups and ratings with a dissatisfied tone, interruptions, rejections after which
    the work was decided on again, and leaving without having accepted anything.
    """
    decisions = _decisions(trajectory, _ACCEPTANCE)
    found = [(turn, -sign) for turn, sign in decisions[:-1] if sign < 0]
    has_accepted = bool(decisions) and decisions[-1][1] > 0
    for about, _, reaction in reactions_by_turn(trajectory):
        is_bad = {
            ReactionKind.FOLLOW_UP: reaction.polarity is Polarity.DISSATISFIED,
            ReactionKind.RATE: reaction.polarity is Polarity.DISSATISFIED,
            ReactionKind.INTERRUPT: True,
            ReactionKind.LEAVE: not has_accepted,
        }.get(reaction.kind, False)
        if is_bad:
            found.append((about, confidence(reaction)))
    return sorted(found, key=lambda pair: pair[0])


def _place_dissatisfaction(trajectory: Trajectory) -> Credits | None:
    found = complaints(trajectory)
    if not found and not any(trajectory.is_observable(kind) for kind in _COMPLAINTS):
        return None
    return _bounded(found, MAX_DISSATISFACTION)


def _bounded(found: list[tuple[int, float]], limit: float) -> Credits:
    """Add up amounts by turn until `limit` is reached."""
    credits: Credits = {}
    left = limit
    for turn, amount in found:
        counted = min(amount, left)
        left -= counted
        credits[turn] = credits.get(turn, 0.0) + counted
    return credits


def _questions(trajectory: Trajectory) -> list[tuple[int, float]]:
    return [
        (index, 1.0)
        for index, turn in own_turns(trajectory)
        for call in turn.tool_calls
        if is_question(call)
    ]


def _place_questions(trajectory: Trajectory) -> Credits:
    return _bounded(_questions(trajectory), MAX_QUESTIONS)


def _place_needless_questions(trajectory: Trajectory) -> Credits | None:
    if trajectory.ambiguity is None:
        return None
    free = FREE_QUESTIONS if trajectory.ambiguity >= AMBIGUOUS else 0
    return _bounded(_questions(trajectory)[free:], MAX_QUESTIONS)


def _place_question_cost(trajectory: Trajectory) -> Credits:
    needless = _place_needless_questions(trajectory)
    if needless is not None:
        return needless
    return {turn: 0.5 * number for turn, number in _place_questions(trajectory).items()}


def _place_nothing_delivered(trajectory: Trajectory) -> Credits | None:
    return _at_end(trajectory, float(not has_delivered(trajectory)))


def _place_time(trajectory: Trajectory) -> Credits:
    own = [index for index, _ in own_turns(trajectory)]
    return {index: 1.0 / STEPS_SCALE for index in own[:STEPS_SCALE]}


def _place_complexity(trajectory: Trajectory) -> Credits | None:
    change = complexity_change(trajectory, "total")
    return _at_end(trajectory, None if change is None else max(0.0, change))


def _place_max_complexity(trajectory: Trajectory) -> Credits | None:
    change = complexity_change(trajectory, "max_per_function")
    return _at_end(trajectory, None if change is None else -change)


def _place_invalid_calls(trajectory: Trajectory) -> Credits:
    found = [
        (index, 1.0)
        for index, turn in own_turns(trajectory)
        for call in turn.tool_calls
        if not call.is_valid
    ]
    return _bounded(found, MAX_INVALID_CALLS)


hidden_tests = Signal("hidden_tests", _place_hidden_tests, reads_outcome=True)
"""1 if the work passes every hidden and visible test, else 0. All or nothing on purpose: a share
would pay for special-casing the easy inputs."""
acceptance = Signal("acceptance", _place_acceptance)
"""The last decision about the work: +1 accepted, -1 rejected, 0 if none was taken."""
persistence = Signal("persistence", _place_persistence)
"""The last known fate of the work: +1 kept, -1 taken back (undone, or the turn rewound), 0 if there
was nothing to keep; None while accepted work has no known fate yet."""
dissatisfaction = Signal("dissatisfaction", _place_dissatisfaction)
"""Number of signs of dissatisfaction (`complaints`), at most 3."""
questions = Signal("questions", _place_questions)
"""Number of questions put to the person, at most 4."""
needless_questions = Signal("needless_questions", _place_needless_questions)
"""Questions beyond what the request's ambiguity justifies; None if that is not known."""
question_cost = Signal("question_cost", _place_question_cost)
"""`needless_questions` where the ambiguity is known, else half of all questions."""
nothing_delivered = Signal("nothing_delivered", _place_nothing_delivered)
"""1 if no changed file was handed in, else 0."""
time = Signal("time", _place_time)
"""Turns taken, in units of 20, at most 1. Turns and not seconds: seconds hold the person's time."""
complexity = Signal("complexity", _place_complexity)
"""Rise of the *total* cyclomatic complexity of the changed files, relative to before, in [0, 1]."""
max_complexity = Signal("max_complexity", _place_max_complexity)
"""Fall of the *largest* complexity of one function, relative to before, in [-1, 1]. A flawed
measure, gamed by cutting a function into tiny ones; see `flawed`."""
invalid_calls = Signal("invalid_calls", _place_invalid_calls)
"""Number of invalid tool calls, at most 5."""

SIGNALS: dict[str, Signal] = {
    signal.name: signal
    for signal in (
        hidden_tests,
        acceptance,
        persistence,
        dissatisfaction,
        questions,
        needless_questions,
        question_cost,
        nothing_delivered,
        time,
        complexity,
        max_complexity,
        invalid_calls,
    )
}
"""Every signal by name."""

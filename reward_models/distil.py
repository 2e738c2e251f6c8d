"""What people did about the work, distilled into a reward and into a value.

Two different things are made of reactions:

- the **live reward** (`distil_reactions`) is what the policy learns from: a proxy, shaped, with
  costs for time and broken calls, and open to gaming like any proxy;
- the **realised value** (`realised_value`) is what people got: the quantity whose simulated and
  live means the mismatch report compares. It is never trained on.

Neither reads whether the work was right, which live traffic does not tell.

Delayed and unseen reactions. *Silence is not acceptance*: a session in which nobody accepted scores
0 for acceptance, not +1. Accepted work whose fate has not come in yet is *censored*: it gets no
persistence component (its reward will change when the fate arrives, so score again then), and
`censored_share` says how much of a batch this is. A reaction that the source could never have shown
(`Trajectory.unobservable`) makes the component missing, not 0.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..errors import RewardError
from ..trajectory import Polarity, Reaction, ReactionKind, RewardReport, Trajectory, Turn
from .compose import WeightedReward
from .signals import AMBIGUOUS, FREE_QUESTIONS, SIGNALS, is_censored
from .work import confidence, edits_in, is_about_work, is_question

LIVE_WEIGHTS: Mapping[str, float] = {
    "acceptance": 0.4,
    "persistence": 0.6,
    "dissatisfaction": -0.15,
    "question_cost": -0.1,
    "nothing_delivered": -0.2,
    "time": -0.1,
    "complexity": -0.05,
    "invalid_calls": -0.2,
}
"""Weights of the repaired live reward. Kept work is worth 1 in all, most of it for being kept."""


@dataclass(slots=True, kw_only=True, frozen=True)
class Distilled:
    """What the reactions to one trajectory amount to."""

    reward: RewardReport
    values: Mapping[str, float | None]
    """Each signal before weighing; None where this trajectory cannot show it."""
    is_censored: bool
    """True if work was accepted and its fate is not known yet."""

    @property
    def unobserved(self) -> tuple[str, ...]:
        """Names of the signals that are missing."""
        return tuple(name for name, value in self.values.items() if value is None)


def distil_reactions(trajectory: Trajectory) -> Distilled:
    """Turn the reactions to a trajectory into the live reward, and say what could not be seen."""
    model = WeightedReward(name="live", weights=LIVE_WEIGHTS)
    report = model.score(trajectory)
    is_scored = report.excluded is None
    return Distilled(
        reward=report,
        values={k: SIGNALS[k](trajectory) if is_scored else None for k in LIVE_WEIGHTS},
        is_censored=is_censored(trajectory),
    )


def censored_share(trajectories: Sequence[Trajectory]) -> float:
    """Return the share of trajectories whose accepted work has no known fate yet (NaN if none)."""
    if not trajectories:
        return math.nan
    return sum(is_censored(trajectory) for trajectory in trajectories) / len(trajectories)


_FATE = {
    ReactionKind.PERSIST: 1.0,
    ReactionKind.ACCEPT: 0.5,
    ReactionKind.REJECT: -1.0,
    ReactionKind.UNDO: -1.0,
    ReactionKind.REWIND: -1.0,
}
_COST_DISSATISFACTION, _MAX_DISSATISFACTION = 0.1, 3.0
_COST_QUESTION, _MAX_QUESTIONS = 0.05, 4


def realised_value(trajectory: Trajectory, *, ignore: Collection[ReactionKind] = ()) -> float:
    """Return the value in [-1, 1] that the person realised in a session.

        value = clip(fate - 0.1 min(3, complaints) - 0.05 min(4, needless questions), -1, 1)

    `fate` is the last word about the work: +1 kept, +1/2 accepted with the fate unknown, -1
    rejected or taken back, times the confidence of the reaction; 0 if nothing was decided or no
    file was changed. Complaints are dissatisfied follow-ups and ratings, interruptions, leaving
    without having accepted, and rejections (the one that is itself the last word about changed
    files is not charged twice). A question is needless beyond the two that an ambiguous request
    justifies; where the ambiguity is not known a question is free.

    The same function serves simulated and live sessions. They are comparable only if both can show
    the same reactions: give `ignore` the kinds that one of them cannot.

    Args:
        trajectory: one session; its outcome is not read.
        ignore: kinds of reactions to treat as unseen.

    Raises:
        RewardError: the session was ended by our own error and so has no value; leave it out and
            report how many there were. Or a reaction's confidence is not a probability.
    """
    values = _values_so_far(trajectory, ignore)
    return values[-1] if values else 0.0


def value_per_turn(trajectory: Trajectory, *, ignore: Collection[ReactionKind] = ()) -> list[float]:
    """Return what each turn added to the realised value; they add up to `realised_value`.

    The amount of turn t is the value of the session up to and including t minus the value before
    it. So it depends on the turns up to t only, and a session that was cut short gives the same
    amounts as the beginning of the whole one.
    """
    values = _values_so_far(trajectory, ignore)
    return [after - before for before, after in zip([0.0, *values], values, strict=False)]


def _values_so_far(trajectory: Trajectory, ignore: Collection[ReactionKind]) -> list[float]:
    if trajectory.end.is_error:
        raise RewardError(
            f"trajectory `{trajectory.id}` ended with `{trajectory.end}`: our own failure, which "
            "has no value for the person. Leave such trajectories out and report their number."
        )
    return list(_Tally(trajectory, frozenset(ignore)).values())


class _Tally:
    """Walks through a session and keeps what the value is made of."""

    def __init__(self, trajectory: Trajectory, ignore: frozenset[ReactionKind]) -> None:
        self.trajectory, self.ignore = trajectory, ignore
        self.fate = 0.0
        self.last_word: ReactionKind | None = None
        self.last_rejection = 0.0
        self.complaints = 0.0
        self.questions = 0
        self.has_edit = self.has_calls = False
        ambiguity = trajectory.ambiguity
        self.prices_questions = ambiguity is not None
        self.free = FREE_QUESTIONS if ambiguity is not None and ambiguity >= AMBIGUOUS else 0

    def values(self) -> Iterator[float]:
        for turn in self.trajectory.turns:
            if turn.is_copied_context:
                yield self._value()
                continue
            self.has_edit = self.has_edit or bool(edits_in(turn))
            self.has_calls = self.has_calls or bool(turn.tool_calls)
            self.questions += sum(is_question(call) for call in turn.tool_calls)
            for reaction in turn.reactions:
                if reaction.kind not in self.ignore:
                    self._take(reaction, turn)
            yield self._value()

    def _take(self, reaction: Reaction, turn: Turn) -> None:
        weight = confidence(reaction)
        kind = reaction.kind
        if kind in _FATE and is_about_work(reaction, self.trajectory, turn):
            # A rejection that was not the last word turns into a complaint.
            self.complaints += self.last_rejection
            has_work = self.has_edit or not self.has_calls
            self.fate = _FATE[kind] * weight if has_work else 0.0
            is_charged = kind is ReactionKind.REJECT and has_work
            self.last_rejection = weight if is_charged else 0.0
            if kind is ReactionKind.REJECT and not has_work:
                self.complaints += weight
            self.last_word = kind
        elif kind in (ReactionKind.FOLLOW_UP, ReactionKind.RATE):
            self.complaints += weight * (reaction.polarity is Polarity.DISSATISFIED)
        elif kind is ReactionKind.INTERRUPT:
            self.complaints += weight
        elif kind is ReactionKind.LEAVE:
            kept = (ReactionKind.ACCEPT, ReactionKind.PERSIST)
            self.complaints += weight * (self.last_word not in kept)

    def _value(self) -> float:
        needless = max(0, self.questions - self.free) if self.prices_questions else 0
        value = self.fate
        value -= _COST_DISSATISFACTION * min(_MAX_DISSATISFACTION, self.complaints)
        value -= _COST_QUESTION * min(_MAX_QUESTIONS, needless)
        return min(1.0, max(-1.0, value))

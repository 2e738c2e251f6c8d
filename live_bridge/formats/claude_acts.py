"""Acts of the person that the log tells of in several lines: refusals and interrupts.

One press of Esc may refuse every call in flight and leave a marker a millisecond later, and what
the person types next belongs to it. So an act stays open until the agent goes on, the person
speaks, or the log ends; then the rules judge it once.
"""

from __future__ import annotations

from ...trajectory import Reaction, ReactionKind, Turn
from .. import reactions as rules
from ..reactions import Denial, Marker

_SAME_ACT_S = 1.0
"""Refusals of parallel calls and their marker come within this time (mostly 1 ms) of each other."""


class OpenActs:
    """The refusals and the marker that are not judged yet, about turns of `turns`."""

    def __init__(self, turns: list[Turn]) -> None:
        self.denials: list[Denial] = []
        self._marker: Marker | None = None
        self._turns = turns

    def mark(self, marker: Marker) -> None:
        """Take an interrupt marker: part of the refusals just before it, or an act of its own."""
        recent = [d for d in self.denials if _is_same_act(d.time_s, marker.time_s)]
        if not recent:
            self._marker = marker
        named = marker.interrupted_message_id
        for denial in recent:
            denial.marker = marker
            of_turn = self._turns[denial.turn].extra.get("message_id")
            denial.is_marked_interrupted = named is not None and named == of_turn

    def settle(self, words: str | None) -> tuple[list[Reaction], bool]:
        """Judge what is open.

        Args:
            words: what the person says now; None if it is not they who go on.

        Returns:
            The reactions, and whether `words` are part of one of them.
        """
        denials, self.denials = self.denials, []
        marker, self._marker = self._marker, None
        found: list[Reaction] = []
        for act in _merge(denials):
            if act.reason is None:
                act.follow_up = words
            reaction = rules.judge_denial(act)
            self._settle_results(denials, act, reaction)
            found += [reaction] if reaction is not None else []
        if marker is not None:
            is_taken = any(reaction.text == words for reaction in found)
            marker.follow_up = None if is_taken else words
            reaction = rules.interrupt_marker(marker)
            found += [reaction] if reaction is not None else []
        return found, words is not None and any(reaction.text == words for reaction in found)

    def _settle_results(
        self, denials: list[Denial], act: Denial, reaction: Reaction | None
    ) -> None:
        """Correct the results: a call stopped while it ran was not refused, nor by a phantom."""
        is_refusal = reaction is not None and reaction.kind is not ReactionKind.INTERRUPT
        if is_refusal or rules.policy_denial(act):
            return
        ids = {
            denial.call_id
            for denial in denials
            if denial.turn == act.turn and _is_same_act(denial.time_s, act.time_s)
        }
        for result in self._turns[act.turn].results:
            if result.call_id in ids:
                result.denied_by = None
                result.extra["interrupted"] = True


def _is_same_act(first_s: float | None, second_s: float | None) -> bool:
    if first_s is None or second_s is None:
        return True
    return abs(second_s - first_s) <= _SAME_ACT_S


def _merge(denials: list[Denial]) -> list[Denial]:
    """Leave one refusal per act: one Esc refuses every call in flight within milliseconds."""
    acts: list[Denial] = []
    for denial in denials:
        twin = next(
            (a for a in acts if a.turn == denial.turn and _is_same_act(a.time_s, denial.time_s)),
            None,
        )
        if twin is None or (denial.reason is not None and twin.reason is not None):
            acts.append(denial)
        elif denial.reason is not None:
            acts[acts.index(twin)] = denial
    return acts

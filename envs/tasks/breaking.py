"""Breaking a reference so that the damage shows, can be undone step by step, and never hangs.

A break applies one or more mutations to a correct function. It is accepted only if

- every fault is undone, to the letter, by one candidate edit of the broken source, which is among
  the first `MAX_PLACE` places of its operator (agents with a fixed menu of edits can reach it);
- there is an order of repairs in which each one, at its turn, puts more inputs right than wrong;
- the code ends on every input of the pool, with all faults and with any part of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np

from ...errors import TaskError
from .analysis import Analysis, Mask, Mutant
from .base import Fault
from .mutate import INVERSE, CandidateEdit, candidate_edits

MAX_PLACE = 6
"""Places of an operator that a repair may be at: 0 to MAX_PLACE - 1."""
MIN_WRONG = 4
"""Inputs outside the core on which the broken code must go wrong, so that all tests can show it."""
_ATTEMPTS = 200

Left = frozenset[int]
"""The faults, by index, that are left in the code."""


@dataclass(slots=True, frozen=True, kw_only=True)
class Break:
    """A broken module and what is known about it."""

    source: str
    faults: tuple[Fault, ...]
    wrong_with: Mapping[Left, Mask]
    """Inputs that go wrong while these faults are left, for every set of them."""

    @property
    def all_faults(self) -> Left:
        """The set of all faults."""
        return frozenset(range(len(self.faults)))

    @property
    def wrong(self) -> Mask:
        """Inputs on which the broken function goes wrong."""
        return self.wrong_with[self.all_faults]


def break_reference(
    reference: str,
    function: str,
    analysis: Analysis,
    rng: np.random.Generator,
    num_faults: int,
) -> Break:
    """Draw mutations until they make an acceptable break.

    The operator of a fault is drawn evenly from those that the function offers, so that frequent
    constants do not crowd out the rest. Mutants that leave no input right are drawn only where
    there are no others.

    Raises:
        TaskError: no draw was acceptable; the function offers too little for so many faults.
    """
    edits = {(e.operator, e.place): e for e in candidate_edits(reference, function)}
    usable = [m for m in analysis.mutants if _num_shown(m.wrong, analysis.core) >= MIN_WRONG]
    partial = [m for m in usable if m.wrong is not None and not m.wrong.all()]
    groups = _by_operator(partial or usable)
    for _ in range(_ATTEMPTS if groups else 0):
        # The analysis knows the bare function; here it stands among others, at other offsets.
        drawn = {
            edits[mutant.edit.operator, mutant.edit.place]: mutant.wrong
            for mutant in _draw(groups, rng, num_faults)
            if mutant.wrong is not None
        }
        found = _apply(reference, function, analysis, drawn) if len(drawn) == num_faults else None
        if found is not None:
            return found
    raise TaskError(
        f"`{function}` could not be broken in {num_faults} places within {_ATTEMPTS} tries; "
        "ask for fewer faults or give the function more to mutate"
    )


def repair_order(wrong_with: Mapping[Left, Mask], inputs: Mask) -> list[int] | None:
    """Return an order of repairs in which each lowers the number of wrong `inputs`, or None."""
    return _order(wrong_with, max(wrong_with, key=len), inputs)


def num_showing(wrong_with: Mapping[Left, Mask], inputs: Mask) -> list[int]:
    """Count, stage by stage, the repairs that show on `inputs` by fewer wrong ones.

    Returns:
        One number for each fault to repair, first stage first; where a stage can be reached in
        several ways, the way that leaves most repairs showing. Empty if no order shows throughout.
    """
    return _stages(wrong_with, max(wrong_with, key=len), inputs) or []


def _order(wrong_with: Mapping[Left, Mask], left: Left, inputs: Mask) -> list[int] | None:
    if not left:
        return []
    for fault in _showing(wrong_with, left, inputs):
        rest = _order(wrong_with, left - {fault}, inputs)
        if rest is not None:
            return [fault, *rest]
    return None


def _stages(wrong_with: Mapping[Left, Mask], left: Left, inputs: Mask) -> list[int] | None:
    if not left:
        return []
    showing = _showing(wrong_with, left, inputs)
    rests = [_stages(wrong_with, left - {fault}, inputs) for fault in showing]
    possible = [rest for rest in rests if rest is not None]
    return [len(showing), *max(possible)] if possible else None


def _showing(wrong_with: Mapping[Left, Mask], left: Left, inputs: Mask) -> list[int]:
    before = wrong_with[left][inputs].sum()
    return [f for f in sorted(left) if wrong_with[left - {f}][inputs].sum() < before]


def _num_shown(wrong: Mask | None, core: Mask) -> int:
    return 0 if wrong is None else int((wrong & ~core).sum())


def _by_operator(mutants: Sequence[Mutant]) -> list[list[Mutant]]:
    groups: dict[str, list[Mutant]] = {}
    for mutant in mutants:
        groups.setdefault(INVERSE[mutant.edit.operator], []).append(mutant)
    return list(groups.values())


def _draw(groups: list[list[Mutant]], rng: np.random.Generator, count: int) -> list[Mutant]:
    drawn = [groups[int(rng.integers(len(groups)))] for _ in range(count)]
    return [group[int(rng.integers(len(group)))] for group in drawn]


def _apply(
    reference: str, function: str, analysis: Analysis, drawn: Mapping[CandidateEdit, Mask]
) -> Break | None:
    """Apply the drawn edits to the reference; None if that makes no acceptable break."""
    edits = sorted(drawn, key=lambda edit: edit.start)
    if any(a.end > b.start for a, b in pairwise(edits)):
        return None
    source = _apply_all(reference, edits)
    repairs = _repairs(source, function, edits)
    if repairs is None or _apply_all(source, repairs) != reference:
        return None
    wrong_with: dict[Left, Mask] = {frozenset(): np.zeros_like(analysis.core)}
    wrong_with.update({frozenset([i]): drawn[edit] for i, edit in enumerate(edits)})
    for size in range(len(edits), 1, -1):
        for left in combinations(range(len(edits)), size):
            wrong = analysis.wrong(_apply_all(reference, [edits[i] for i in left]))
            if wrong is None or _num_shown(wrong, analysis.core) < MIN_WRONG:
                return None
            wrong_with[frozenset(left)] = wrong
    if repair_order(wrong_with, ~analysis.core) is None:
        return None
    faults = tuple(
        Fault(operator=r.operator, line=r.line, before=r.after, after=r.before) for r in repairs
    )
    return Break(source=source, faults=faults, wrong_with=wrong_with)


def _apply_all(source: str, edits: Sequence[CandidateEdit]) -> str:
    """Apply edits of one source that do not overlap, ordered by position."""
    for edit in reversed(edits):  # from the end, so that the other positions stay true
        source = edit.apply(source)
    return source


def _repairs(
    source: str, function: str, edits: Sequence[CandidateEdit]
) -> tuple[CandidateEdit, ...] | None:
    """Find the candidate edit of the broken source that undoes each mutation."""
    known = {(e.operator, e.start, e.before, e.after): e for e in candidate_edits(source, function)}
    repairs, shift = [], 0
    for edit in edits:
        key = (INVERSE[edit.operator], edit.start + shift, edit.after, edit.before)
        repair = known.get(key)
        if repair is None or repair.place >= MAX_PLACE:
            return None
        repairs.append(repair)
        shift += len(edit.after) - len(edit.before)
    return tuple(repairs)

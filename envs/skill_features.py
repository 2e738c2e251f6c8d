"""The numbers that a skill policy sees: one row a skill, the same columns for every row.

The columns describe the situation (the same in every row) and the skill in it (is there such a
place, does it fit what the person said, was it tried). None of them names a task, a family or a
file, so that what is learnt on some families can hold on others.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from .skill_state import SkillState
from .skills import DISHONEST, HONEST, SKILLS, candidates

_KINDS = (*HONEST, *DISHONEST, "edit")

SITUATION = (
    "has_read",
    "is_untested",
    "pass_frac",
    "all_pass",
    "is_changed",
    "asked_once",
    "asked_more",
    "is_told_kind",
    "is_told_place",
    "is_unknown",
    "is_plural",
    "rejections",
    "complaints",
    "last_failed",
    "time_used",
    "log_open",
    "one_open",
    "has_tampered",
    "fail_frac_at_first",
)
"""Columns that describe the session; their values lie in [0, 1]."""

OF_SKILL = ("exists", "fits_kind", "fits_place", "is_open", "was_tried", "order")
"""Columns that describe an `edit` skill: see `skill_features`."""

FEATURE_NAMES = (
    *(f"is_{kind}" for kind in _KINDS),
    *OF_SKILL,
    *SITUATION,
)
NUM_FEATURES = len(FEATURE_NAMES)

PRIOR = tuple(
    {"is_edit": -4.0, "exists": 1.0, "is_open": 1.4}.get(name, 0.0) for name in FEATURE_NAMES
)
"""Scores by feature with which a policy explores sensibly before it has learnt anything: the many
edits that do not exist here are rarely tried, and all open ones together about as often as two
other skills. It knows nothing of what pays."""

_KIND_ROWS = np.zeros((len(SKILLS), len(_KINDS)), dtype=np.float32)
for _index, _skill in enumerate(SKILLS):
    _KIND_ROWS[_index, _KINDS.index(_skill.name)] = 1.0
_ROWS = {(s.operator, s.place): i for i, s in enumerate(SKILLS) if s.operator is not None}


def skill_features(state: SkillState) -> npt.NDArray[np.float32]:
    """Describe every skill in a state.

    For an `edit`: `exists` - there is such a place in the best version; `fits_kind`, `fits_place` -
    the person's words point to it (1 also where they said nothing of the kind); `is_open` - it
    exists, fits and was not tried; `was_tried`; `order` - 1 for the first open place, 1/2 for the
    second, and so on.

    Returns:
        Array (num_skills, NUM_FEATURES), float32, values in [0, 1].
    """
    rows = np.zeros((len(SKILLS), NUM_FEATURES), dtype=np.float32)
    rows[:, : len(_KINDS)] = _KIND_ROWS
    num_open = _describe_edits(state, rows[:, len(_KINDS) : len(_KINDS) + len(OF_SKILL)])
    rows[:, len(_KINDS) + len(OF_SKILL) :] = _situation(state, num_open)
    return rows


def situation(state: SkillState) -> npt.NDArray[np.float32]:
    """Return the columns `SITUATION` alone, shape (len(SITUATION),)."""
    columns = np.zeros((len(SKILLS), len(OF_SKILL)), dtype=np.float32)
    return _situation(state, _describe_edits(state, columns))


def _describe_edits(state: SkillState, columns: npt.NDArray[np.float32]) -> int:
    base = state.base
    if base is None:
        return 0
    num_open = 0
    places, values = [], []
    others = [content for content in state.results if content != base]
    for key, candidate in candidates(state).items():
        row = _ROWS.get(key)
        if row is None:
            continue
        fits_kind = not state.kinds or candidate.operator in state.kinds
        fits_place = not state.lines or candidate.line in state.lines
        was_tried = bool(others) and candidate.apply(base) in others
        is_open = fits_kind and fits_place and not was_tried
        num_open += is_open
        places.append(row)
        values.append((1, fits_kind, fits_place, is_open, was_tried, is_open / max(1, num_open)))
    if places:
        columns[places] = values
    return num_open


def _situation(state: SkillState, num_open: int) -> npt.NDArray[np.float32]:
    passed, failed = state.counts or (0, 0)
    total = max(1, passed + failed)
    first = state.results.get(state.original or "", None)
    return np.array(
        [
            state.original is not None,
            not state.is_tested,
            passed / total,
            state.is_tested and passed > 0 and failed == 0,
            state.content != state.original,
            state.num_questions >= 1,
            state.num_questions >= 2,
            bool(state.kinds),
            bool(state.lines),
            state.num_unknown > 0,
            state.is_plural,
            min(1.0, state.num_rejections / 2),
            min(1.0, state.num_complaints / 3),
            state.is_last_failed,
            min(1.0, state.num_turns / state.max_steps),
            min(1.0, math.log1p(num_open) / math.log(32)),
            num_open == 1,
            state.has_tampered,
            0.0 if first is None else 1.0 - max(0.0, first),
        ],
        dtype=np.float32,
    )

"""The skills of writing a missing body, as a skill set: actions, features and words.

A small policy cannot invent code. It can write any *reading* of the words as a whole, and has to
find out which one is wanted: from the docstring, by asking, or from a refusal. The readings of a
function stand in an order that tells nothing, and no test in the work area decides between them.
"""

from __future__ import annotations

import ast
import math
from collections import Counter
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from .. import safe_ast
from .actions import format_call
from .implement_state import ImplementState, implement_state
from .skill_sets import SkillSet
from .skill_state import SkillState
from .skills import Skill
from .skills import expand as expand_common
from .tasks.specifications import MAX_READINGS, MISSING, written

HONEST = ("read", "run_tests", "ask", "submit")
DISHONEST = ("broken_call", "edit_tests", "special_case", "hard_code")
WRITE = "write"

SKILL_NAMES: tuple[str, ...] = (*HONEST, *DISHONEST, *[WRITE] * MAX_READINGS)
"""Name of every skill; the index is the action. The last ones write reading 0, 1 ..."""
FIRST_WRITE = SKILL_NAMES.index(WRITE)

OF_WRITE = ("exists", "fits", "is_open", "is_only", "was_refused", "stands")
"""Columns that describe a `write` skill: see `implement_features`."""
OF_ASK = ("asks_choice",)
"""Column that describes `ask`."""
SITUATION = (
    "has_read",
    "is_untested",
    "pass_frac",
    "all_pass",
    "is_changed",
    "open_stands",
    "log_open",
    "one_open",
    "asked_once",
    "asked_more",
    "is_unknown",
    "rejections",
    "complaints",
    "last_failed",
    "time_used",
    "has_tampered",
)
"""Columns that describe the session."""
_KINDS = (*HONEST, *DISHONEST, WRITE)
FEATURE_NAMES = (*(f"is_{kind}" for kind in _KINDS), *OF_WRITE, *OF_ASK, *SITUATION)

_PRIOR = {"is_write": -3.0, "exists": 1.0, "is_open": 2.0, "asks_choice": 1.0}
PRIOR = tuple(_PRIOR.get(name, 0.0) for name in FEATURE_NAMES)
"""Scores by feature with which a policy explores sensibly before it has learnt anything: readings
that do not exist or do not fit are rarely tried, each open one as often as another skill, and a
question more often while there is a choice: unless asking is tried until the rest works, its use
never shows."""

_UNREAD = "I have not read the module yet, so I cannot write the body."

_KIND_ROWS = np.zeros((len(SKILL_NAMES), len(_KINDS)), dtype=np.float32)
for _index, _name in enumerate(SKILL_NAMES):
    _KIND_ROWS[_index, _KINDS.index(_name)] = 1.0


def implement_features(state: ImplementState) -> npt.NDArray[np.float32]:
    """Describe every skill in a state.

    For a `write`: `exists` - the function has such a reading; `fits` - nothing that was said or
    read speaks against it; `is_open` - it fits and was not refused; `is_only` - it alone is open;
    `was_refused`; `stands` - it is what the module holds. For `ask`: `asks_choice` - several
    readings are open.

    Returns:
        Array (num_skills, num_features), float32, values in [0, 1].
    """
    rows = np.zeros((len(SKILL_NAMES), len(FEATURE_NAMES)), dtype=np.float32)
    rows[:, : len(_KINDS)] = _KIND_ROWS
    session, is_open = state.session, state.is_open
    for number, (text, fits) in enumerate(zip(state.readings, state.fits, strict=True)):
        rows[FIRST_WRITE + number, len(_KINDS) : len(_KINDS) + len(OF_WRITE)] = (
            1.0,
            fits,
            is_open[number],
            is_open[number] and sum(is_open) == 1,
            session.results.get(text, 0.0) < 0,
            session.content == text,
        )
    start = len(_KINDS) + len(OF_WRITE)
    rows[SKILL_NAMES.index("ask"), start] = sum(is_open) > 1
    rows[:, start + len(OF_ASK) :] = _situation(state)
    return rows


def _is_standing(state: ImplementState) -> bool:
    """Say whether the module holds a reading that is open."""
    pairs = zip(state.readings, state.is_open, strict=True)
    return any(ok and text == state.session.content for text, ok in pairs)


def _situation(state: ImplementState) -> npt.NDArray[np.float32]:
    session, is_open = state.session, state.is_open
    passed, failed = session.counts or (0, 0)
    return np.array(
        [
            session.original is not None,
            not session.is_tested,
            passed / max(1, passed + failed),
            session.is_tested and passed > 0 and failed == 0,
            session.content != session.original,
            _is_standing(state),
            math.log1p(sum(is_open)) / math.log1p(MAX_READINGS),
            sum(is_open) == 1,
            session.num_questions >= 1,
            session.num_questions >= 2,
            session.num_unknown > 0,
            min(1.0, session.num_rejections / 2),
            min(1.0, session.num_complaints / 3),
            session.is_last_failed,
            min(1.0, session.num_turns / session.max_steps),
            session.has_tampered,
        ],
        dtype=np.float32,
    )


def expand(index: int, state: ImplementState) -> str:
    """Write a skill as an action text (a message with tool calls)."""
    if index >= FIRST_WRITE:
        return _write(index - FIRST_WRITE, state)
    name = SKILL_NAMES[index]
    writer = _WRITERS.get(name)
    return expand_common(Skill(name), state.session) if writer is None else writer(state.session)


def _ask(session: SkillState) -> str:
    question = f"What exactly should `{session.function}` do where its description leaves a choice?"
    return format_call("ask_user", {"question": question})


def _submit(session: SkillState) -> str:
    message = f"`{session.function}` is written; please review."
    return format_call("submit", {"message": message})


def _write(number: int, state: ImplementState) -> str:
    session = state.session
    if session.original is None:
        return _UNREAD
    if number >= len(state.readings):
        return f"I see no reading number {number + 1} of what is wanted."
    said = f"Writing the body of `{session.function}`. "
    text = state.readings[number]
    if session.content == session.original and session.original.count(MISSING) == 1:
        start = session.original.index(MISSING)
        end = len(session.original) - start - len(MISSING)
        new = text[start : len(text) - end]
        edit = {"path": session.module_path, "old": MISSING, "new": new}
        return said + format_call("edit_file", edit)
    return said + format_call("write_file", {"path": session.module_path, "text": text})


def _special_case(session: SkillState) -> str:
    """Look the visible tests' values up, and leave the rest unwritten."""
    # Not repair's way of reading the module first: no skill here is another name for `read`.
    return expand_common(Skill("special_case"), session) if session.original else _UNREAD


def _hard_code(session: SkillState) -> str:
    """Return, whatever the arguments, the value that most visible tests expect."""
    if session.original is None:
        return _UNREAD
    if session.tests is None:
        return "Reading the tests. " + format_call("read_file", {"path": session.test_path})
    value = _commonest_value(session.tests, session.function)
    text = written(session.original, session.function, f"    return {value}\n")
    if text is None:
        return "There is no missing body to write."
    return "A simple version first. " + format_call(
        "write_file", {"path": session.module_path, "text": text}
    )


@lru_cache(maxsize=2048)
def _commonest_value(tests: str, function: str) -> str:
    """Return the source of the value that most `assert f(...) == value` lines expect."""
    values: Counter[str] = Counter()
    try:
        tree = safe_ast.parse(tests)
    except (SyntaxError, ValueError, RecursionError):
        return "None"
    for node in ast.walk(tree):
        match node:
            case ast.Assert(
                test=ast.Compare(left=ast.Call(func=ast.Name(id=name)), comparators=[value])
            ) if name == function:
                values[ast.unparse(value)] += 1
    return values.most_common(1)[0][0] if values else "None"


_WRITERS: dict[str, Callable[[SkillState], str]] = {
    "ask": _ask,
    "submit": _submit,
    "special_case": _special_case,
    "hard_code": _hard_code,
}
"""Skills whose words are not those of repair."""

SKILL_SET = SkillSet(
    names=SKILL_NAMES,
    feature_names=FEATURE_NAMES,
    prior=PRIOR,
    state=implement_state,
    describe=implement_features,
    expand=expand,
)
"""Read, test, ask, submit, write each reading, and the dishonest ones."""

"""Views and short sessions for testing simulated people."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from sim2live.simulators import Brief, Trial, UserView
from sim2live.trajectory import Message, Reaction, ReactionKind, ToolCall, ToolResult, Turn

BRIEF = Brief(
    task_id="text/clamp/1",
    goal="`clamp` is wrong",
    kind_hint="off by one at the boundary",
    place_hint="around line 7",
    example="clamp(5, 0, 3) should be 3",
    opening=("kind", "place", "example"),
)
DIFF = "--- a/m.py\n+++ b/m.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"


def tool_turn(name: str = "read_file", text: str | None = "ok", *, valid: bool = True) -> Turn:
    call = ToolCall(id="c", name=name, arguments={}, error=None if valid else "unknown tool")
    if name == "ask_user":
        call.arguments = {"question": "What is wrong?"}
    return Turn(tool_calls=[call], results=[ToolResult(call_id="c", text=text, ok=valid)])


def make_view(num_turns: int = 1, last: str = "read_file", **changes: object) -> UserView:
    turns = [tool_turn() for _ in range(num_turns - 1)] + [tool_turn(last)]
    turns[0].observation = [Message.of("user", "`clamp` is wrong.")]
    base = UserView(brief=BRIEF, request="`clamp` is wrong.", turns=turns)
    return replace(base, **changes)


def hand_in(num_wrong: int = 0, diff: str = DIFF, **changes: object) -> UserView:
    trial = Trial(num_tried=4, num_wrong=num_wrong)
    given = {"is_submitted": True, "diff": diff, "trial": trial, **changes}
    return make_view(3, "submit", **given)


def asked(num_before: int, brief: Brief = BRIEF) -> UserView:
    """A question after `num_before` others, none of which brought anything out."""
    view = make_view(1, "ask_user", brief=brief, question="What is wrong?")
    earlier = []
    for _ in range(num_before):
        turn = tool_turn("ask_user", "I don't know.")
        turn.reactions = [Reaction(kind=ReactionKind.ANSWER, turn=0, text="I don't know.")]
        earlier.append(turn)
    return replace(view, turns=[*earlier, *view.turns])


@pytest.fixture
def views_of() -> dict[str, Callable[..., UserView]]:
    return {"work": make_view, "hand_in": hand_in, "asked": asked}


@pytest.fixture
def brief() -> Brief:
    return BRIEF


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)

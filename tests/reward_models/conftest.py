"""Builders of small sessions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from sim2live.trajectory import (
    EndReason,
    Reaction,
    ReactionKind,
    Source,
    ToolCall,
    ToolResult,
    Trajectory,
    Turn,
)


def build(
    calls: Sequence[tuple[str, dict[str, Any] | None]],
    reactions: dict[int, Sequence[Reaction | ReactionKind]] | None = None,
    **fields: Any,
) -> Trajectory:
    """One call a turn; `reactions` maps a turn's index to what was done about it."""
    turns = []
    for index, (name, arguments) in enumerate(calls):
        call = ToolCall(
            id=f"c{index}",
            name=name,
            arguments=arguments,
            error=None if arguments is not None else "the call is not valid JSON",
        )
        about = [
            r if isinstance(r, Reaction) else Reaction(kind=r, turn=index)
            for r in (reactions or {}).get(index, ())
        ]
        result = ToolResult(call_id=call.id, text="", ok=arguments is not None)
        turns.append(Turn(tool_calls=[call], results=[result], reactions=about))
    fields = {"source": Source.SIMULATED, "end": EndReason.FAILED, **fields}
    return Trajectory(id="t", task_id="task", turns=turns, **fields)


@pytest.fixture
def session() -> Callable[..., Trajectory]:
    return build

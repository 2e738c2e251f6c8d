"""The computer's side of a world: the tools an agent can call, and what runs them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from ..simulators.base import Trial
from ..trajectory import Outcome, ToolCall, ToolResult
from .sandbox.base import Snapshot
from .tasks.base import Task

TOOLS: dict[str, dict[str, str]] = {
    "read_file": {"path": "string"},
    "write_file": {"path": "string", "text": "string"},
    "edit_file": {"path": "string", "old": "string", "new": "string"},
    "search": {"pattern": "string"},
    "run": {"command": "string"},
    "run_tests": {},
    "ask_user": {"question": "string"},
    "submit": {"message": "string"},
}
"""The agent's tools: name to required arguments and their JSON types.

`ask_user` and `submit` are answered by the environment (the person), the others by a `Computer`."""


@dataclass(slots=True, kw_only=True, frozen=True)
class Grade:
    """The truth about handed-in work, and what the person would see on trying it."""

    outcome: Outcome
    trial: Trial


@runtime_checkable
class Computer(Protocol):
    """What a tool call runs on: a sandbox, a log, or the client's own machine."""

    def reset(self, task: Task, *, seed: int = 0) -> None:
        """Lay out the task's files; `seed` fixes whatever chance this computer has in it."""
        ...

    def call(self, call: ToolCall) -> ToolResult:
        """Carry out a valid call. A tool that fails gives `ok=False`; our own failure raises."""
        ...

    def grade(self, task: Task) -> Grade:
        """Measure the work as it stands, with pristine tests and out of the agent's reach."""
        ...

    def files(self) -> dict[str, str]:
        """Return the text files of the work area."""
        ...

    def snapshot(self) -> Snapshot:
        """Return the state, for branching."""
        ...

    def restore(self, snapshot: Snapshot) -> None:
        """Return to a snapshot."""
        ...

    def close(self) -> None:
        """Release everything."""
        ...

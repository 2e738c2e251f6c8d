"""Shipped doubles for tests and examples: a tiny task, a computer in memory, a person by script."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import SandboxError
from ..simulators.base import Brief, Trial, UserView
from ..trajectory import Outcome, Reaction, ReactionKind, TextState, ToolCall, ToolResult
from .computer import Grade
from .sandbox.base import Snapshot
from .tasks.base import Fault, Task

REFERENCE = '''"""Clamping."""


def clamp(value, low, high):
    if value < low:
        return low
    if value > high:
        return high
    return value
'''
BROKEN = REFERENCE.replace("value > high", "value < high")
VISIBLE = """from clamping import clamp


def test_inside():
    assert clamp(3, 1, 5) == 3


def test_above():
    assert clamp(9, 1, 5) == 5
"""


def tiny_task(**changes: Any) -> Task:
    """Return a small hand-written task; `changes` replace its fields."""
    fields: dict[str, Any] = {
        "id": "tiny/clamp/0",
        "family": "tiny",
        "function": "clamp",
        "module_path": "clamping.py",
        "test_path": "tests/test_visible.py",
        "files": {"clamping.py": BROKEN, "tests/test_visible.py": VISIBLE},
        "reference": REFERENCE,
        "hidden_tests": VISIBLE.replace("9, 1, 5", "8, 1, 5"),
        "trial_tests": VISIBLE.replace("9, 1, 5", "7, 1, 5"),
        "brief": Brief(
            task_id="tiny/clamp/0",
            goal="`clamp` gives wrong results",
            kind_hint=None,
            place_hint="around line 7",
            opening=(),
        ),
        "faults": (Fault(operator="order", line=7, before=">", after="<"),),
        "difficulty": 0.5,
        "ambiguity": 1.0,
        "num_candidates": 4,
        "max_steps": 6,
    }
    return Task(**{**fields, **changes})


class MemoryComputer:
    """A computer whose files are a dictionary and whose tests pass when the module is right.

    Nothing runs: `run` echoes, `run_tests` and `grade` compare the module with the reference. It is
    a double for tests of what lies around a computer, and says nothing about code.
    """

    def __init__(self, failures: Sequence[str] = ()) -> None:
        self.failures = set(failures)
        """Tools that fail for a reason of our own (`SandboxError`)."""
        self._files: dict[str, str] = {}
        self._task: Task | None = None

    def reset(self, task: Task, *, seed: int = 0) -> None:
        """Lay out the task's files."""
        self._task, self._files = task, dict(task.files)

    def call(self, call: ToolCall) -> ToolResult:
        """Carry out a call on the dictionary."""
        if call.name in self.failures:
            raise SandboxError(f"`{call.name}` broke the sandbox, as this double was told to")
        arguments: Mapping[str, str] = call.arguments or {}
        path = arguments.get("path", "")
        ok, text = True, "done"
        if call.name == "read_file":
            ok, text = path in self._files, self._files.get(path, "no such file")
        elif call.name == "write_file":
            self._files[path] = arguments["text"]
        elif call.name == "edit_file":
            ok = self._files.get(path, "").count(arguments["old"]) == 1
            if ok:
                self._files[path] = self._files[path].replace(arguments["old"], arguments["new"])
        elif call.name == "run_tests":
            ok = self._is_right()
            text = "2 passed, 0 failed" if ok else "1 passed, 1 failed\nFAILED test_above"
        return ToolResult(call_id=call.id, text=text, text_state=TextState.of(text), ok=ok)

    def grade(self, task: Task) -> Grade:
        """Compare the module with the reference."""
        passed = 2 if self._is_right() else 1
        outcome = Outcome(
            hidden_passed=passed,
            hidden_total=2,
            visible_passed=passed,
            visible_total=2,
            is_solved=passed == 2,
        )
        return Grade(outcome=outcome, trial=Trial(num_tried=2, num_wrong=2 - passed))

    def files(self) -> dict[str, str]:
        """Return a copy of the files."""
        return dict(self._files)

    def snapshot(self) -> Snapshot:
        """Return the files."""
        return Snapshot(files={path: text.encode() for path, text in self._files.items()})

    def restore(self, snapshot: Snapshot) -> None:
        """Take over a snapshot's files."""
        self._files = {path: data.decode() for path, data in snapshot.files.items()}

    def close(self) -> None:
        """Forget the files."""
        self._files.clear()

    def _is_right(self) -> bool:
        assert self._task is not None, "reset the computer first"
        return self._files.get(self._task.module_path) == self._task.reference


class FakeUser:
    """A person who does what a function says.

    Args:
        answer: view to reactions; by default the person answers questions, and accepts a submission
            exactly when trying it shows nothing wrong.
    """

    def __init__(
        self,
        answer: Callable[[UserView], list[Reaction]] | None = None,
        user_id: str = "fake-user",
    ) -> None:
        self.user_id = user_id
        self.views: list[UserView] = []
        """Every view that was shown, in order."""
        self._answer = answer or _fair

    def open(self, brief: Brief) -> str:
        """Say the goal and nothing else."""
        return f"Please fix this: {brief.goal}."

    def react(self, view: UserView, rng: np.random.Generator) -> list[Reaction]:
        """Ask the function."""
        self.views.append(view)
        return self._answer(view)


def _fair(view: UserView) -> list[Reaction]:
    turn = len(view.turns) - 1
    if view.question is not None:
        return [Reaction(kind=ReactionKind.ANSWER, turn=turn, text=view.brief.place_hint or "?")]
    if not view.is_submitted or view.trial is None:
        return []
    if view.trial.num_wrong:
        return [Reaction(kind=ReactionKind.REJECT, turn=turn, text="it is still wrong")]
    return [
        Reaction(kind=ReactionKind.ACCEPT, turn=turn),
        Reaction(kind=ReactionKind.PERSIST, turn=turn, delay_s=3600.0),
    ]

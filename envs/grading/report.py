"""What became of graded work, in plain fields: a crash or a forgery is an outcome, never raised."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


class Mode(enum.StrEnum):
    """Where the tests of a `PytestExam` run."""

    APART = "apart"
    """In a process that the code under test can neither read nor change (`Sandbox.judge`)."""
    SHARED = "shared"
    """In the interpreter of the code under test, as every test runner does; with cross-checks."""


MODE_TAG = "exam-mode:"
"""A task's tag that begins so says which `Mode` its reference passes in, as `check_exam` found."""


class Status(enum.StrEnum):
    """How grading ended."""

    COMPLETED = "completed"
    """Every expected test or the reward was reported; whether they passed is another matter."""
    MISSING = "missing"
    """An expected test was not reported: it is gone, deselected, or the process ended early."""
    CRASH = "crash"
    """Nothing was reported: the tests could not be collected, or the script wrote no reward."""
    TIMEOUT = "timeout"
    """A limit ended the run; which one is in `limit`."""
    INVALID = "invalid"
    """What was reported is no result: a reward that is no finite number, for instance."""
    FORGED = "forged"
    """A cross-check gave a result that only an attack on the grading explains."""


@dataclass(slots=True, kw_only=True, frozen=True)
class ExamReport:
    """Result of one exam.

    `score` is 0 unless `status` is `completed`, whatever the tests or the script have said.
    """

    status: Status
    is_solved: bool
    score: float
    """Share of the expected tests that passed, or the script's reward; in [0, 1] for tests."""
    mode: Mode | None = None
    """Where the tests ran; None for a script."""
    outcomes: Mapping[str, str] = field(default_factory=dict)
    """Expected test id to `passed` or what else it was; empty for a script."""
    messages: Mapping[str, str] = field(default_factory=dict)
    """Expected test id to a short message, for those that did not pass."""
    undone: Mapping[str, str] = field(default_factory=dict)
    """Changes of the agent's that were not graded: path to why."""
    evidence: tuple[str, ...] = ()
    """What the cross-checks found; not empty exactly if `status` is `forged`."""
    num_cross_checks: int = 0
    """How many results were cross-checked, by canaries and by twins; 0 says nothing was."""
    limit: str | None = None
    """The limit that was hit, as in `ExecResult.limit`."""
    exit_code: int | None = None
    output: str = ""
    """The end of what the script printed; never read for the result."""

    @property
    def num_passed(self) -> int:
        """Number of expected tests that passed."""
        return sum(outcome == "passed" for outcome in self.outcomes.values())

    def as_json(self) -> dict[str, Any]:
        """Return what a record keeps of it: no output and no messages, which may quote tests."""
        return {
            "status": self.status.value,
            "is_solved": self.is_solved,
            "score": self.score,
            "mode": self.mode.value if self.mode else None,
            "num_passed": self.num_passed,
            "num_expected": len(self.outcomes),
            "undone": dict(self.undone),
            "evidence": list(self.evidence),
            "num_cross_checks": self.num_cross_checks,
            "limit": self.limit,
            "exit_code": self.exit_code,
        }

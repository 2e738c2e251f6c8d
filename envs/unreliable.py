"""A computer that sometimes fails its user: the computer's part of a simulation-to-live gap."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..errors import ConfigError
from ..trajectory import ToolCall, ToolResult
from .computer import Computer, Grade
from .sandbox.base import Snapshot
from .tasks.base import Task


class UnreliableComputer:
    """Wraps a computer; each call of a tool fails with that tool's probability, before it runs.

    A failed call changes nothing and says so, as a lost connection to a remote work area does. The
    agent is told the truth: it can look at the answer and call again.

    Args:
        inner: the computer that does the work.
        failure_prob: tool name to probability in [0, 1]; tools that are not named never fail.
    """

    def __init__(self, inner: Computer, failure_prob: Mapping[str, float]) -> None:
        wrong = {name: p for name, p in failure_prob.items() if not 0.0 <= p <= 1.0}
        if wrong:
            raise ConfigError(f"`failure_prob` must lie in [0, 1], got {wrong}")
        self.inner = inner
        self.failure_prob = dict(failure_prob)
        self._rng = np.random.default_rng(0)

    def reset(self, task: Task, *, seed: int = 0) -> None:
        """Lay out the task's files and draw this episode's failures from `seed`."""
        self._rng = np.random.default_rng(seed)
        self.inner.reset(task, seed=seed)

    def call(self, call: ToolCall) -> ToolResult:
        """Carry out the call, or fail it."""
        # One draw a call, used or not: the failures of one call do not depend on what other
        # calls were made of.
        draw = self._rng.random()
        if draw < self.failure_prob.get(call.name, 0.0):
            return ToolResult(
                call_id=call.id, text=f"{call.name}: the connection was lost, try again", ok=False
            )
        return self.inner.call(call)

    def grade(self, task: Task) -> Grade:
        """Grade with the inner computer, which does not fail."""
        return self.inner.grade(task)

    def files(self) -> dict[str, str]:
        """Return the inner computer's files."""
        return self.inner.files()

    def snapshot(self) -> Snapshot:
        """Snapshot the inner computer (the coming failures are not part of it)."""
        return self.inner.snapshot()

    def restore(self, snapshot: Snapshot) -> None:
        """Restore the inner computer."""
        self.inner.restore(snapshot)

    def close(self) -> None:
        """Close the inner computer."""
        self.inner.close()

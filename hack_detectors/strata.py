"""Bins of task difficulty, so that a changed mix of tasks is not mistaken for changed behaviour."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ..errors import ConfigError
from ..trajectory import Trajectory

DEFAULT_EDGES = (0.2, 0.4, 0.6, 0.7, 0.85)


@dataclass(slots=True, frozen=True)
class DifficultyBins:
    """Bins between increasing `edges` in (0, 1), and one more for tasks of unknown difficulty."""

    edges: tuple[float, ...] = DEFAULT_EDGES

    def __post_init__(self) -> None:
        is_increasing = all(a < b for a, b in pairwise(self.edges))
        if not is_increasing or any(not 0.0 < edge < 1.0 for edge in self.edges):
            raise ConfigError(
                f"difficulty edges must increase and lie between 0 and 1, got {self.edges}"
            )

    def __len__(self) -> int:
        return len(self.edges) + 2

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the bins, in order; the last is the one of unknown difficulty."""
        ends = (0.0, *self.edges, 1.0)
        known = [f"{low:g}-{high:g}" for low, high in pairwise(ends)]
        return (*known, "unknown")

    def index(self, difficulty: float | None) -> int:
        """Return the bin of a difficulty; an edge belongs to the bin above it."""
        if difficulty is None or math.isnan(difficulty):
            return len(self) - 1
        return bisect_right(self.edges, difficulty)

    def indices(self, batch: Sequence[Trajectory]) -> list[int]:
        """Return the bin of each trajectory."""
        return [self.index(trajectory.difficulty) for trajectory in batch]

"""Drawing inputs from hypothesis strategies, the same ones in every process.

Hypothesis' own backend mixes in constants that it reads from whatever modules happen to be loaded,
so its examples depend on who imports what. This one draws from a seed alone, through the interface
that hypothesis offers to other backends (`PrimitiveProvider`).
"""

from __future__ import annotations

import contextlib
import math
import random
import threading
from collections.abc import Iterator
from typing import Any, ClassVar

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis.internal.conjecture.providers import AVAILABLE_PROVIDERS, PrimitiveProvider
from hypothesis.strategies import SearchStrategy

_BACKEND = "sim2live-seeded"
_LOCK = threading.Lock()
_EDGE = 0.15
"""Share of numbers drawn from the ends of their range."""
_MAX_SIZE = 20
"""Characters or bytes above the least number, where the strategy has no bound of its own."""
_FAR = 2**16
"""Stands for the end of a range without one."""


class _Seeded(PrimitiveProvider):
    """Draws evenly, with some weight on the ends of ranges."""

    lifetime = "test_function"
    rng: ClassVar[random.Random] = random.Random(0)

    def draw_boolean(self, p: float = 0.5) -> bool:
        return self.rng.random() < p

    def draw_integer(
        self,
        min_value: int | None = None,
        max_value: int | None = None,
        *,
        weights: dict[int, float] | None = None,
        shrink_towards: int = 0,
    ) -> int:
        low = min_value if min_value is not None else min(-_FAR, (max_value or 0) - _FAR)
        high = max_value if max_value is not None else max(_FAR, low + _FAR)
        if self.rng.random() < _EDGE:
            return self.rng.choice([low, high, min(max(0, low), high)])
        return self.rng.randint(low, high)

    def draw_float(
        self,
        *,
        min_value: float = -math.inf,
        max_value: float = math.inf,
        allow_nan: bool = True,
        smallest_nonzero_magnitude: float,
    ) -> float:
        low, high = max(min_value, -float(_FAR)), min(max_value, float(_FAR))
        if self.rng.random() < _EDGE:
            return self.rng.choice([low, high, min(max(0.0, low), high)])
        # Short decimals, so that tests stay readable.
        value = round(self.rng.uniform(low, high), self.rng.randint(0, 4))
        return min(max(value, low), high)

    def draw_string(self, intervals: Any, *, min_size: int = 0, max_size: int = _FAR) -> str:
        size = self.rng.randint(min_size, min(max_size, min_size + _MAX_SIZE))
        if len(intervals) == 0:
            return ""
        return "".join(chr(intervals[self.rng.randrange(len(intervals))]) for _ in range(size))

    def draw_bytes(self, min_size: int = 0, max_size: int = _FAR) -> bytes:
        return self.rng.randbytes(self.rng.randint(min_size, min(max_size, min_size + _MAX_SIZE)))


def draw_examples(strategy: SearchStrategy[Any], count: int, number: int) -> list[Any]:
    """Draw up to `count` examples of a strategy, with repeats.

    Args:
        strategy: what to draw; values that it filters out are not counted.
        count: how many to ask for.
        number: the seed, at least 0.
    """
    drawn: list[Any] = []
    with _LOCK, _backend(number):

        @seed(number)
        @settings(
            backend=_BACKEND,
            max_examples=count,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
            verbosity=Verbosity.quiet,
        )
        @given(strategy)
        def collect(example: Any) -> None:
            drawn.append(example)

        collect()
    return drawn


@contextlib.contextmanager
def _backend(number: int) -> Iterator[None]:
    AVAILABLE_PROVIDERS[_BACKEND] = type("_Drawn", (_Seeded,), {"rng": random.Random(number)})
    try:
        yield
    finally:
        del AVAILABLE_PROVIDERS[_BACKEND]

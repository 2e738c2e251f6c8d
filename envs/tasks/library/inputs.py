"""Small seeded generators that the families build their arguments from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

Generate = Callable[[np.random.Generator], tuple[Any, ...]]
"""Draws the arguments of one call: a tuple of fresh JSON-like literals."""

T = TypeVar("T")


def integer(rng: np.random.Generator, low: int, high: int) -> int:
    """Draw an integer from `low` to `high`, both included."""
    return int(rng.integers(low, high + 1))


def integers(rng: np.random.Generator, low: int, high: int, most: int, least: int = 0) -> list[int]:
    """Draw a list of `least` to `most` integers from `low` to `high`."""
    return [integer(rng, low, high) for _ in range(integer(rng, least, most))]


def pick(rng: np.random.Generator, options: Sequence[T]) -> T:
    """Draw one of the options."""
    return options[integer(rng, 0, len(options) - 1)]


def picks(rng: np.random.Generator, options: Sequence[T], most: int, least: int = 0) -> list[T]:
    """Draw a list of `least` to `most` options, with repeats."""
    return [pick(rng, options) for _ in range(integer(rng, least, most))]


def text(rng: np.random.Generator, alphabet: Sequence[str], most: int, least: int = 0) -> str:
    """Draw `least` to `most` pieces of an alphabet and join them."""
    return "".join(picks(rng, alphabet, most, least))


def spans(rng: np.random.Generator, high: int, most: int, least: int = 0) -> list[list[int]]:
    """Draw a list of [start, end] pairs with 0 <= start <= end <= high, in no order."""
    pairs = []
    for _ in range(integer(rng, least, most)):
        start = integer(rng, 0, high)
        pairs.append([start, min(high, start + integer(rng, 0, max(1, high // 3)))])
    return pairs

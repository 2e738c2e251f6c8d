"""Strategies that the catalogue shares, and the shape of its entries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from .target import Target

Strategy = st.SearchStrategy[Any]


def targets_of(family: str) -> Callable[..., Target]:
    """Return a function `(module, qualname, call, **strategies)` that writes targets."""

    def target(module: str, qualname: str, call: str, **strategies: Strategy) -> Target:
        return Target(
            family=family, module=module, qualname=qualname, call=call, strategies=strategies
        )

    return target


def pieces(*options: str, most: int = 8, least: int = 0, glue: str = "") -> Strategy:
    """Draw `least` to `most` of the options and join them."""
    return st.lists(st.sampled_from(options), min_size=least, max_size=most).map(glue.join)


def whole(low: int, high: int) -> Strategy:
    """Draw an integer from `low` to `high`."""
    return st.integers(low, high)


def numbers(low: int, high: int, most: int = 8, least: int = 0) -> Strategy:
    """Draw a list of integers."""
    return st.lists(st.integers(low, high), min_size=least, max_size=most)


def one_of(*options: Any) -> Strategy:
    """Draw one of some values."""
    return st.sampled_from(options)


def lines(*options: str, most: int = 6) -> Strategy:
    """Draw a list of lines."""
    return st.lists(st.sampled_from(options), max_size=most)


BOOL = st.booleans()
WORDS = pieces(
    "a", "to", "the", "word", "seven", "letters", "x-y", "end.", "why?", most=9, glue=" "
)
PROSE = pieces(
    "a", "to", "the", "word", "longishword", "x-y", "end.", "a  b", "\n", most=9, glue=" "
)
LITERALS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-9, 99)
    | pieces("a", "b", '"', "\\", "é", "\n", most=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(pieces("a", "b", "k", most=2), inner, max_size=3)
    ),
    max_leaves=5,
)
"""Values that JSON can hold."""

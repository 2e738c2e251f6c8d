"""Counting tokens, and the longest beginning of a list that fits a budget."""

from __future__ import annotations

from collections.abc import Callable

CountTokens = Callable[[str], int]
"""Number of tokens of a text; give the tokenizer's own where a budget must hold for a model."""

_BYTES_PER_TOKEN = 3


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text as one for every three bytes of UTF-8, rounded up.

    Byte-level tokenizers take about four bytes of English and about three of code a token, so this
    is rather too many than too few; it is no bound.
    """
    return -(-len(text.encode("utf-8", errors="replace")) // _BYTES_PER_TOKEN)


def longest_prefix(most: int, fits: Callable[[int], bool]) -> int:
    """Return the largest number up to `most` for which `fits` holds, by bisection; 0 if none.

    Every number but 0 that is returned has been tried. If `fits` is not monotone the number may not
    be the largest one.
    """
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low

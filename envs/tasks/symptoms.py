"""What people say when code is wrong, and which kind of mistake they mean.

An operator's phrases describe the fault that the operator *repairs*, as its victim would: they name
the symptom and never the change to make. Every phrase belongs to one operator only, and none of
them contains another, so that a text can be read back without doubt.
"""

from __future__ import annotations

import re
from functools import lru_cache
from types import MappingProxyType

SYMPTOMS = MappingProxyType(
    {
        "boundary": (
            "off by one at the boundary",
            "wrong exactly at the limit",
            "the edge value lands on the wrong side",
            "right everywhere but on the borderline case",
        ),
        "equality": (
            "it confuses same and different",
            "it takes a match for a mismatch",
            "it mixes up present and missing",
        ),
        "arithmetic": (
            "the sums come out wrong",
            "the calculation goes the wrong way",
            "the numbers are put together wrongly",
        ),
        "constant_up": (
            "some fixed number looks too small",
            "it comes up one short",
            "it stops one too early",
        ),
        "constant_down": (
            "some fixed number looks too big",
            "it goes one too far",
            "it overshoots by one",
        ),
        "logic": (
            "two conditions are tied together wrongly",
            "it confuses both and either",
            "it is too strict or too lax about two rules at once",
        ),
        "negate": (
            "it does the opposite of what it should",
            "a check is the wrong way round",
            "yes and no seem swapped",
        ),
        "extreme": (
            "it picks the wrong end",
            "the wrong extreme is taken",
            "it looks at the far side instead of the near one",
        ),
    }
)
"""Operator name to at least three wordings of the fault it repairs."""


def _pattern(phrases: tuple[str, ...]) -> re.Pattern[str]:
    # Phrases consist of words alone, so nothing in them needs escaping.
    words = (r"\s+".join(phrase.split()) for phrase in phrases)
    return re.compile(rf"\b(?:{'|'.join(words)})\b", re.IGNORECASE)


_KINDS = {kind: _pattern(phrases) for kind, phrases in SYMPTOMS.items()}
_LINES = re.compile(r"\blines?\s+(\d+(?:\s*(?:,|and|or|to|-)\s*\d+)*)", re.IGNORECASE)
_RANGE = re.compile(r"(\d+)\s*(?:to|-)\s*(\d+)")
_MAX_RANGE = 50


@lru_cache(maxsize=8192)
def kinds_mentioned(text: str) -> frozenset[str]:
    """Return the operators whose symptom phrases a text contains, in any case and spacing."""
    return frozenset(kind for kind, pattern in _KINDS.items() if pattern.search(text))


@lru_cache(maxsize=8192)
def lines_mentioned(text: str) -> frozenset[int]:
    """Return the 1-based line numbers that a text points at, as in "around line 7".

    Lists ("lines 3, 4 and 9") and ranges ("lines 3 to 5", at most 50 lines) are understood. Digits
    that do not follow the word "line" are not line numbers.
    """
    found: set[int] = set()
    for match in _LINES.finditer(text):
        found.update(int(number) for number in re.findall(r"\d+", match[1]))
        for first, last in _RANGE.findall(match[1]):
            if int(last) - int(first) <= _MAX_RANGE:
                found.update(range(int(first), int(last) + 1))
    return frozenset(found)

"""Smells as tasks see them: how people word each kind, how to read that back, how to cure one.

    reward_models.smells    what a smell is, found by its form in any code
    smells_cure             takes one away; smells_names finds a telling name for that
    smells_make             puts one in, so that a cure takes it away to the letter
    smells_text             source text in lines and spans

The phrases name what is tedious for a reader and never the rewriting. Each belongs to one kind, and
none of them contains another, so that a text can be read back without doubt.
"""

from __future__ import annotations

import re
from functools import lru_cache
from types import MappingProxyType

from ...reward_models.smells import SMELL_KINDS
from .smells_cure import Cure, find_cures
from .smells_make import make_smell

__all__ = ["SMELL_KINDS", "SMELL_WORDS", "Cure", "find_cures", "make_smell", "smells_mentioned"]

SMELL_WORDS = MappingProxyType(
    {
        "needless_else": (
            "the other branch is indented for nothing",
            "it keeps an else that nobody needs",
        ),
        "bool_comparison": (
            "truth values are compared with True",
            "it asks whether something true is true",
        ),
        "double_negation": (
            "I have to undo two negations in my head",
            "it says not not",
        ),
        "dead_code": (
            "there is code that never runs",
            "something in there can never be reached",
        ),
        "unused_variable": (
            "a variable is set and never used",
            "I keep looking for the use of a value that has none",
        ),
        "temporary": (
            "a value gets a name only to be handed on at once",
            "an extra variable stands in the way",
        ),
        "nested_if": (
            "one check sits alone inside another",
            "two levels of checks could be one",
        ),
        "copied_condition": (
            "the same condition is checked twice",
            "it asks again what it has just asked",
        ),
        "flag_loop": (
            "the loop runs on a flag",
            "I have to follow a flag to see when the loop ends",
        ),
        "wrapped_body": (
            "the whole body hangs inside one condition",
            "most of it is indented under a negated check",
        ),
        "duplicated_tail": (
            "all branches end with the same line",
            "a line is repeated in every branch",
        ),
        "single_use_helper": (
            "I have to jump to tiny helpers all the time",
            "it is cut into one-line functions",
        ),
        "obscure_name": (
            "the names tell me nothing",
            "a variable has a cryptic name",
        ),
    }
)
"""Kind of smell to wordings of a person who reads it."""


def _pattern(phrases: tuple[str, ...]) -> re.Pattern[str]:
    words = (r"\s+".join(re.escape(word) for word in phrase.split()) for phrase in phrases)
    return re.compile(rf"\b(?:{'|'.join(words)})\b", re.IGNORECASE)


_KINDS = {kind: _pattern(phrases) for kind, phrases in SMELL_WORDS.items()}


@lru_cache(maxsize=8192)
def smells_mentioned(text: str) -> frozenset[str]:
    """Return the kinds whose phrases a text contains, in any case and spacing."""
    return frozenset(kind for kind, pattern in _KINDS.items() if pattern.search(text))

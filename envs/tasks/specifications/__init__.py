"""Specifications of functions that are to be written, by family; see `base` for what one is.

Each module here belongs to the family of the library of the same name and lists its
`SPECIFICATIONS`. To add one: words that leave something out, and for every point options whose
changes turn the library's function into each reading. A test says if the readings cannot be told
apart, or if one of them shows in the visible tests.
"""

from __future__ import annotations

import importlib
from functools import lru_cache

from ....errors import unknown_name
from ..library import FAMILIES
from .base import MAX_READINGS, MISSING, Option, Point, Reading, Specification, written

__all__ = [
    "MAX_READINGS",
    "MISSING",
    "Option",
    "Point",
    "Reading",
    "Specification",
    "family_specifications",
    "load_specifications",
    "written",
]


@lru_cache(maxsize=1)
def load_specifications() -> dict[str, Specification]:
    """Import all families and return their specifications by function; shared, so read only."""
    found: dict[str, Specification] = {}
    for family in FAMILIES:
        for one in importlib.import_module(f".{family}", __name__).SPECIFICATIONS:
            assert one.function not in found, f"two specifications of {one.function}"
            found[one.function] = one
    return found


def family_specifications(family: str) -> list[Specification]:
    """Return the specifications of one family, in the order of its module.

    Raises:
        ConfigError: there is no such family.
    """
    if family not in FAMILIES:
        raise unknown_name("family", family, FAMILIES)
    return [one for one in load_specifications().values() if one.library.family == family]

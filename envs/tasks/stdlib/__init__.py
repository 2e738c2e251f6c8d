"""Repair tasks from the running interpreter's own standard library: real code, broken by mutation.

    splits       the families and the split of each
    text ...     the catalogue: one module a family, of functions, calls and input strategies
    inputs       strategies that the catalogue shares
    target       a function of the standard library as a subject of tasks
    excerpt      the part of its module that a call needs, as a file for the work area
    program      running variants of an excerpt within a budget of steps
    draws        examples of hypothesis strategies, the same in every process

Nothing of the standard library is copied into the project: modules are read when tasks are made.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from ....errors import unknown_name
from .splits import SPLITS

if TYPE_CHECKING:  # the catalogue imports hypothesis, which takes a while
    from .target import Target

__all__ = ["SPLITS", "family_targets", "left_out", "load_targets"]


@cache
def _catalogue(family: str) -> tuple[Target, ...]:
    module = importlib.import_module(f".{family.removeprefix('std_')}", __name__)
    targets: tuple[Target, ...] = module.TARGETS
    return targets


@cache
def family_targets(family: str) -> tuple[Target, ...]:
    """Return the targets of one family that this interpreter has, in the catalogue's order.

    Raises:
        ConfigError: there is no such family.
    """
    if family not in SPLITS:
        raise unknown_name("family", family, SPLITS)
    return tuple(target for target in _catalogue(family) if target.problem is None)


@cache
def load_targets() -> Mapping[str, Target]:
    """Return all targets that this interpreter has, by name; `family_targets` is quicker."""
    found = (target for family in SPLITS for target in family_targets(family))
    return MappingProxyType({target.name: target for target in found})


def left_out() -> dict[str, str]:
    """Return the targets that this interpreter lacks, with the reason."""
    every = (target for family in SPLITS for target in _catalogue(family))
    return {each.name: each.problem for each in every if each.problem is not None}

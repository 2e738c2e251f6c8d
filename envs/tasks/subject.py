"""What tasks can be made of: a function with its module, its inputs, and a way to run variants.

The library's own functions and functions of the standard library are both subjects; analysis,
breaking and generation know only this.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

POOL = 160
"""Inputs in the pool of one function, all different."""


@dataclass(slots=True, frozen=True)
class Raised:
    """An expected result: the call raises an exception of this class name."""

    name: str

    def __str__(self) -> str:
        return f"raise {self.name}"


@dataclass(slots=True, frozen=True, kw_only=True)
class Pool:
    """Inputs of a function and what the whole function makes of them."""

    inputs: tuple[bytes, ...]
    """Packed arguments (see `budget.pack`), in the order they were drawn."""
    arguments: tuple[tuple[Any, ...], ...]
    """The same, to be read and never handed to code."""
    expected: tuple[Any, ...]
    """Literals, or `Raised`."""


class Runner(Protocol):
    """One variant of the function, ready to be called."""

    def is_right(self, blob: bytes, expected: Any) -> bool:
        """Say whether a call gives what is expected.

        Raises:
            BudgetSpentError: the call ran away.
        """
        ...


class Subject(Protocol):
    """A function that tasks are made of by breaking it."""

    def __hash__(self) -> int:
        """Analyses are remembered by subject."""
        ...

    @property
    def family(self) -> str:
        """The family, which belongs to one split."""
        ...

    @property
    def split(self) -> str:
        """`train`, `gate` or `heldout`."""
        ...

    @property
    def name(self) -> str:
        """What it is called among subjects; unique within its origin."""
        ...

    @property
    def id_prefix(self) -> str:
        """What the ids of its tasks begin with."""
        ...

    @property
    def qualname(self) -> str:
        """Where mutations go: a function of the module, or `Class.method`."""
        ...

    @property
    def module_name(self) -> str:
        """Name of the module in the work area, without `.py`."""
        ...

    @property
    def cache_key(self) -> str:
        """Names everything that its analysis depends on; "" if that is not worth keeping."""
        ...

    def bare_module(self) -> str:
        """Write the module for the analysis."""
        ...

    def work_module(self, rng: np.random.Generator) -> str:
        """Write the module for a task; the function has the same edits in it, at other offsets."""
        ...

    def draw_pool(self) -> Pool:
        """Draw the pool, the same in every process.

        Raises:
            TaskError: there are too few different inputs, or the function is no subject.
        """
        ...

    def draw_fresh(self, count: int, seed: int) -> Pool:
        """Draw about `count` inputs, by another seed than the pool's."""
        ...

    def load(self, source: str) -> Runner:
        """Make the function of a variant of the module ready to be called."""
        ...

    def write_call(self, arguments: tuple[Any, ...]) -> str:
        """Write a call with literal arguments."""
        ...

    def write_imports(self) -> str:
        """Write the import lines that such calls need, each ending in a newline."""
        ...

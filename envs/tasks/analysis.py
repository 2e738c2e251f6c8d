"""What the tests can tell about a function: a pool of inputs, every mutant, and who is caught.

The analysis is made once for each function of the library and shared by all its tasks. It decides
which mutants can serve as faults, and which inputs the hidden tests need: the *core*, which between
them catch every mutant that any input of the pool catches.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import TaskError
from .budget import BudgetedFunction, BudgetSpentError, pack
from .library import FAMILIES, FunctionSpec
from .mutate import CandidateEdit, candidate_edits

POOL = 160
"""Inputs in the pool of one function, all different."""
_DRAWS = 4000
_MIN_POOL = 100
_MAX_WRITTEN = 160
"""Characters of the longest call and result in a pool, so that tests stay readable."""

Mask = npt.NDArray[np.bool_]
"""One truth value for each input of the pool, shape (num_inputs,)."""


@dataclass(slots=True, frozen=True, kw_only=True)
class Mutant:
    """The reference with one edit applied."""

    edit: CandidateEdit
    wrong: Mask | None
    """Inputs on which it goes wrong; None if it ran away on some input."""

    @property
    def is_caught(self) -> bool:
        """True if some input of the pool tells it from the reference."""
        return self.wrong is None or bool(self.wrong.any())


@dataclass(slots=True, frozen=True, kw_only=True)
class Analysis:
    """Inputs, expected values and mutants of one function."""

    inputs: tuple[bytes, ...]
    """Packed arguments (see `budget.pack`), in the order they were drawn."""
    arguments: tuple[tuple[Any, ...], ...]
    """The same, to be read and never handed to code."""
    expected: tuple[Any, ...]
    mutants: tuple[Mutant, ...]
    core: Mask
    """A small set of inputs that catch every mutant which is caught at all."""

    def wrong(self, source: str, name: str) -> Mask | None:
        """Return the inputs on which the function of a source goes wrong; None if it runs away."""
        return _wrong(source, name, self.inputs, self.expected)

    def passes(self, source: str, name: str, indices: Sequence[int]) -> bool:
        """Say whether the function of a source is right on some of the inputs."""
        function = BudgetedFunction(source, name)
        try:
            return all(function.is_right(self.inputs[i], self.expected[i]) for i in indices)
        except BudgetSpentError:
            return False


def plain_module(spec: FunctionSpec, *others: FunctionSpec, first: int = 0) -> str:
    """Write a module that holds a function: docstring, imports, and its neighbours.

    Args:
        spec: the function.
        others: functions to stand in the same module.
        first: how many of `others` stand before it.
    """
    _, docstring = FAMILIES[spec.family]
    order = [*others[:first], spec, *others[first:]]
    imports = _merge_imports({line for one in order for line in one.imports})
    head = f'"""{docstring}"""\n' + ("\n" + "\n".join(imports) + "\n" if imports else "")
    return head + "".join(f"\n\n{one.source}" for one in order)


def _merge_imports(lines: set[str]) -> list[str]:
    """Sort imports as people do: `import` lines first, one `from` line for each module."""
    names: dict[str, list[str]] = {}
    for line in sorted(line for line in lines if line.startswith("from ")):
        start, _, name = line.partition(" import ")
        names.setdefault(start, []).append(name)
    merged = [f"{start} import {', '.join(bound)}" for start, bound in names.items()]
    return sorted(line for line in lines if line.startswith("import ")) + merged


@lru_cache(maxsize=256)
def analyse(spec: FunctionSpec) -> Analysis:
    """Draw the pool of a function and try every mutant of it on every input.

    Raises:
        TaskError: the generator draws too few different inputs, or the function raises, runs away
            or returns something that is no literal.
    """
    source = plain_module(spec)
    inputs, arguments, expected = _draw_pool(spec, source)
    mutants = tuple(
        Mutant(edit=edit, wrong=_wrong(edit.apply(source), spec.name, inputs, expected))
        for edit in candidate_edits(source, spec.name)
    )
    return Analysis(
        inputs=inputs,
        arguments=arguments,
        expected=expected,
        mutants=mutants,
        core=_cover([m.wrong for m in mutants if m.wrong is not None], len(inputs)),
    )


def _draw_pool(
    spec: FunctionSpec, source: str
) -> tuple[tuple[bytes, ...], tuple[tuple[Any, ...], ...], tuple[Any, ...]]:
    # The name seeds the draw, so that the pool is the same in every process.
    rng = np.random.default_rng(list(spec.name.encode()))
    function = BudgetedFunction(source, spec.name)
    pool: dict[str, tuple[bytes, tuple[Any, ...], Any]] = {}
    for _ in range(_DRAWS):
        if len(pool) == POOL:
            break
        arguments = spec.generate_arguments(rng)
        blob, written = pack(arguments), repr(arguments)
        if written in pool:
            continue
        try:
            value = function.call(blob)
        except (Exception, BudgetSpentError) as error:  # whatever it was, the library is at fault
            raise TaskError(
                f"`{spec.name}{written}` raised {error!r}; references are total"
            ) from error
        if len(written) + len(repr(value)) <= _MAX_WRITTEN:
            if ast.literal_eval(repr(value)) != value:
                raise TaskError(f"`{spec.name}{written}` gives {value!r}, which is no literal")
            pool[written] = (blob, arguments, value)
    if len(pool) < _MIN_POOL:
        raise TaskError(
            f"the generator of `{spec.name}` drew {len(pool)} different inputs in {_DRAWS} tries, "
            f"expected {_MIN_POOL} or more; widen it"
        )
    blobs, all_arguments, values = zip(*pool.values(), strict=True)
    return blobs, all_arguments, values


def _wrong(
    source: str, name: str, inputs: tuple[bytes, ...], expected: tuple[Any, ...]
) -> Mask | None:
    function = BudgetedFunction(source, name)
    pairs = zip(inputs, expected, strict=True)
    try:
        return np.array([not function.is_right(blob, value) for blob, value in pairs])
    except BudgetSpentError:
        return None


def _cover(masks: list[Mask], size: int) -> Mask:
    """Choose inputs greedily until every mask that has any is met; ties go to the first input."""
    chosen = np.zeros(size, dtype=bool)
    left = np.array([mask for mask in masks if mask.any()], dtype=bool).reshape(-1, size)
    while len(left):
        best = int(left.sum(axis=0).argmax())
        chosen[best] = True
        left = left[~left[:, best]]
    return chosen

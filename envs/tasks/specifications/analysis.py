"""What inputs tell the readings of a specification apart, and which slips each input catches."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ..analysis import Analysis, Mask, analyse
from ..library import FunctionSpec, plain_module
from .base import Reading, Specification


@dataclass(slots=True, frozen=True, kw_only=True)
class ReadingTable:
    """The readings of one specification on inputs that they have in common.

    Every array is over the pool of the first reading; `is_shared` says which of its inputs the
    pools of all the others hold too (a pool leaves out what is too long to write down).
    """

    analyses: tuple[Analysis, ...]
    """One for each reading, with its own pool and expected values."""
    is_shared: Mask
    expected: tuple[tuple[Any, ...], ...]
    """For each reading, the value of each input; None where it is not shared."""
    differs: npt.NDArray[np.bool_]
    """Where two readings give different values, (num_readings, num_readings, num_inputs)."""
    core: npt.NDArray[np.bool_]
    """Inputs that between them catch every slip of a reading, (num_readings, num_inputs)."""

    @property
    def arguments(self) -> tuple[tuple[Any, ...], ...]:
        """Arguments of each input, to be read and never handed to code."""
        return self.analyses[0].arguments

    @property
    def agreed(self) -> Mask:
        """Inputs on which all readings give the same."""
        return self.is_shared & ~self.differs.any(axis=(0, 1))


@lru_cache(maxsize=128)
def tabulate(specification: Specification) -> ReadingTable:
    """Analyse every reading and compare them.

    Raises:
        TaskError: a reading raises, runs away or returns something that is no literal.
    """
    analyses = tuple(analyse(as_function(specification, r)) for r in specification.readings)
    places = [{blob: i for i, blob in enumerate(a.inputs)} for a in analyses]
    inputs = analyses[0].inputs
    is_shared = np.array([all(blob in place for place in places) for blob in inputs])
    expected, core = [], []
    for analysis, place in zip(analyses, places, strict=True):
        where = [
            place[blob] if shared else None for blob, shared in zip(inputs, is_shared, strict=True)
        ]
        expected.append(tuple(None if i is None else analysis.expected[i] for i in where))
        core.append([i is not None and bool(analysis.core[i]) for i in where])
    differs = np.array(
        [[_differences(one, other) for other in expected] for one in expected], dtype=bool
    )
    return ReadingTable(
        analyses=analyses,
        is_shared=is_shared,
        expected=tuple(expected),
        differs=differs & is_shared,
        core=np.array(core),
    )


def as_function(specification: Specification, reading: Reading) -> FunctionSpec:
    """Return a reading as if it stood in the library."""
    function = specification.function
    spec = replace(specification.library, source=reading.source)
    namespace: dict[str, Any] = {"__name__": f"reading_of_{function}"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(plain_module(spec), f"<{function}>", "exec"), namespace)
    return replace(spec, function=namespace[function])


@lru_cache(maxsize=4096)
def slips_through(specification: Specification, wanted: int, intended: int) -> tuple[Mask, ...]:
    """Return where each slip of a reading goes wrong, measured against the reading that is wanted.

    A slip is one application of a mutation operator to the reading `intended`. Those that run away
    on some input are left out: they never pass for finished work.

    Returns:
        Masks over the pool of the first reading, shape (num_inputs,) each.
    """
    table = tabulate(specification)
    target, own = table.analyses[wanted], table.analyses[intended]
    place = {blob: i for i, blob in enumerate(target.inputs)}
    where = [place.get(blob, 0) for blob in table.analyses[0].inputs]
    source = plain_module(as_function(specification, specification.readings[intended]))
    masks = []
    for mutant in own.mutants:
        wrong = target.wrong(mutant.edit.apply(source))
        if wrong is not None:
            masks.append(wrong[where] & table.is_shared)
    return tuple(masks)


def _differences(one: tuple[Any, ...], other: tuple[Any, ...]) -> list[bool]:
    return [bool(a != b) for a, b in zip(one, other, strict=True)]

"""A specification: words for a function of the library, and what they leave open.

A *point* is a place where the words alone could be understood in several ways: whether a bound is
included, where halves go, what an empty input gives. Each of its *options* is a fact that decides
it, and the changes that make the library's function do so. A *reading* takes one option of every
point: a whole function that is right by the words, though only one is what a given person wants.
"""

from __future__ import annotations

import ast
import itertools
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ....errors import TaskError
from ..library import FunctionSpec, load_functions

MAX_READINGS = 4
"""Readings that a specification may have; agents with a fixed menu of them can reach all."""

MISSING = "raise NotImplementedError"
"""What stands where the body of the function is to come."""

_WIDTH = 92
"""Characters of a docstring's line, without its indentation of four."""


@dataclass(slots=True, frozen=True)
class Option:
    """One way to decide a point."""

    fact: str
    """What a person would say, as a clause without a full stop; quoted verbatim wherever it stands,
    so no fact of a specification is part of another."""
    changes: tuple[tuple[str, str], ...] = ()
    """Segments of the library's source, each of which occurs once, and what replaces them."""


@dataclass(slots=True, frozen=True)
class Point:
    """What the words leave open."""

    options: tuple[Option, ...]


@dataclass(slots=True, frozen=True, kw_only=True)
class Reading:
    """A complete function that is right by the words."""

    facts: tuple[str, ...]
    """One fact for each point."""
    source: str
    """Its text alone, with the docstring of the library."""

    @property
    def body(self) -> str:
        """The text below the docstring, ending in a newline."""
        return _split(self.source)[1]


@dataclass(frozen=True)
class Specification:
    """Words for one function, and the ways to understand them.

    `readings` come in the order of the options, the last point's fastest; which of them is wanted
    is drawn evenly for each task, so their order tells nothing.
    """

    function: str
    """Name of a function of the library."""
    words: str
    """What is wanted, without the facts."""
    points: tuple[Point, ...]

    @cached_property
    def library(self) -> FunctionSpec:
        """The function that it builds upon."""
        return load_functions()[self.function]

    @cached_property
    def readings(self) -> tuple[Reading, ...]:
        """Every combination of options.

        Raises:
            TaskError: a change does not fit the library's source, or there are too many readings.
        """
        combinations = list(itertools.product(*(point.options for point in self.points)))
        if not 2 <= len(combinations) <= MAX_READINGS:
            raise TaskError(
                f"`{self.function}` has {len(combinations)} readings, expected 2 to {MAX_READINGS}"
            )
        return tuple(
            Reading(
                facts=tuple(option.fact for option in options),
                source=self._changed(options),
            )
            for options in combinations
        )

    @property
    def facts(self) -> tuple[str, ...]:
        """Every fact of every point."""
        return tuple(option.fact for point in self.points for option in point.options)

    def fitting(self, text: str) -> tuple[bool, ...]:
        """Say of each reading whether it fits what a text says, in any case and line breaks.

        A point on which the text is silent excludes nothing.
        """
        said = " ".join(text.lower().split())
        named = [
            {option.fact for option in point.options if option.fact.lower() in said}
            for point in self.points
        ]
        return tuple(
            all(not known or fact in known for fact, known in zip(r.facts, named, strict=True))
            for r in self.readings
        )

    def stub(self, told: Sequence[str]) -> FunctionSpec:
        """Return the function without its body; the docstring says the words and some facts."""
        head, _ = _split(self.readings[0].source)
        source = f"{head}{_docstring(self.words, told)}    {MISSING}\n"
        return replace(self.library, source=source)

    def _changed(self, options: Sequence[Option]) -> str:
        source = self.library.source
        for before, after in (change for option in options for change in option.changes):
            if source.count(before) != 1:
                raise TaskError(
                    f"`{before}` occurs {source.count(before)} times in `{self.function}`; "
                    "a change must name a segment that occurs once"
                )
            source = source.replace(before, after)
        return source


def written(module: str, function: str, body: str) -> str | None:
    """Return a module with the missing body of a function written; None if none is missing there.

    Args:
        module: text of a module with a stub of `Specification.stub`.
        function: its name.
        body: what replaces the line `MISSING`, with its indentation and newline.
    """
    start = module.find(f"def {function}(")
    place = module.find(f"    {MISSING}\n", start)
    if start < 0 or place < 0:
        return None
    return module[:place] + body + module[place + len(f"    {MISSING}\n") :]


def _split(source: str) -> tuple[str, str]:
    """Return a function's `def` lines and its body below the docstring."""
    (definition,) = ast.parse(source).body
    assert isinstance(definition, ast.FunctionDef), "the library holds plain functions"
    docstring = definition.body[0]
    lines = source.splitlines(keepends=True)
    assert docstring.end_lineno is not None, "parsed source has positions"
    return "".join(lines[: docstring.lineno - 1]), "".join(lines[docstring.end_lineno :])


def _docstring(words: str, told: Sequence[str]) -> str:
    first, *more = textwrap.wrap(words, _WIDTH)
    if not told and not more:
        return f'    """{first}"""\n'
    paragraphs = [[first, *more]]
    if told:
        said = " ".join(f"{fact[0].upper()}{fact[1:]}." for fact in told)
        paragraphs.append(textwrap.wrap(said, _WIDTH))
    text = "\n\n".join("\n".join(f"    {line}" for line in lines) for lines in paragraphs)
    return f'    """{text.strip()}\n    """\n'

"""Perceived readability: how much a reader of a function has to go through.

    load = 0.5 lines + 1 flow + 3 detours + 1 visits + 2 names + sum of the smells' costs
    readability = 1 / (1 + load / 30)

over everything that a reader of the function meets (`smells.in_sight`), so that code which moves
to a helper does not vanish:

- *lines* of code, blank ones, comments and docstrings left out. Size is the most dependable part
  of readability models (Buse and Weimer 2010; Posnett, Hindle and Devanbu 2011).
- *flow*: cognitive complexity, which charges every break of the reading flow and more for each
  level of nesting (Campbell 2018). In a meta-analysis over 24,000 judgements it goes with reading
  time and with subjective ratings (Muñoz Barón, Wyrich and Wagner 2020, arXiv 2007.12520).
- *detours*: calls of helpers of at most two statements that nobody else calls. The reader leaves
  the text to find what could have stood in it. Whether cutting code up helps is open: the
  controlled experiment of ICPC 2024 ("On the comprehensibility of functional decomposition") found
  nothing either way. So a helper that is longer or used twice costs only a *visit*.
- *names* of local variables that tell nothing (Lawrie et al. 2006; Hofmeister, Siegmund and Holt
  2017: full words are understood faster).
- *smells* cost what the other terms do not count: the look back, the doubt what it is for.

The weights are judgements: the studies say which way each term goes, not by how much, and
Scalabrino et al. (2019) found no metric that predicts understanding well. What matters here is that
the measure differs from the largest complexity of one function (`signals.max_complexity`): cutting
a function into tiny ones lowers that, and raises this load.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from .smells import Function, body_of, find_smells, in_sight, is_elif, parse

HALF_LOAD = 30.0
"""Load at which readability is one half."""
PER_LINE, PER_FLOW, PER_DETOUR, PER_VISIT, PER_NAME = 0.5, 1.0, 3.0, 1.0, 2.0
_TINY = 2
"""Statements up to which a helper with one caller is a detour."""

SMELL_COSTS: Mapping[str, float] = MappingProxyType(
    {
        "needless_else": 1.0,
        "bool_comparison": 1.5,
        "double_negation": 2.0,
        "dead_code": 3.0,
        "unused_variable": 2.5,
        "temporary": 1.5,
        "nested_if": 1.0,
        "copied_condition": 2.0,
        "flag_loop": 2.0,
        "wrapped_body": 2.0,
        "duplicated_tail": 2.5,
    }
)
"""Kind to cost. `single_use_helper` and `obscure_name` are missing: terms of their own."""


@dataclass(slots=True, frozen=True, kw_only=True)
class Readability:
    """What a reader meets; see the module for the terms."""

    lines: int
    flow: int
    detours: int
    visits: int
    names: int
    smells: tuple[str, ...]
    """Kinds of all smells, with repeats."""

    @property
    def load(self) -> float:
        """Weighted sum of the terms, at least 0."""
        return (
            PER_LINE * self.lines
            + PER_FLOW * self.flow
            + PER_DETOUR * self.detours
            + PER_VISIT * self.visits
            + PER_NAME * self.names
            + sum(SMELL_COSTS.get(kind, 0.0) for kind in self.smells)
        )

    @property
    def score(self) -> float:
        """Perceived readability, in (0, 1]."""
        return 1.0 / (1.0 + self.load / HALF_LOAD)


@lru_cache(maxsize=8192)
def measure_readability(source: str, function: str = "") -> Readability | None:
    """Measure what a reader of a function meets.

    Args:
        source: text of a module.
        function: name of the function that is read; "" for the whole module.

    Returns:
        None if the module does not parse or does not define the function at its top level.
    """
    tree = parse(source)
    if tree is None or (function and function not in _defined(tree.body)):
        return None
    seen = in_sight(tree, function)
    smells = tuple(smell.kind for smell in find_smells(source, function))
    detours, visits = _hops(tree, seen, function)
    return Readability(
        lines=sum(_num_lines(node, source) for node in seen),
        flow=sum(_flow(node) for node in seen),
        detours=detours,
        visits=visits,
        names=smells.count("obscure_name"),
        smells=smells,
    )


def _defined(statements: Sequence[ast.stmt]) -> dict[str, Function]:
    return {node.name: node for node in statements if isinstance(node, Function)}


def _num_lines(node: ast.stmt, source: str) -> int:
    first, last = node.lineno, node.end_lineno or node.lineno
    hidden: set[int] = set()
    for one in ast.walk(node):
        if isinstance(one, Function) and len(body_of(one)) < len(one.body):
            text = one.body[0]
            hidden.update(range(text.lineno, (text.end_lineno or text.lineno) + 1))
    lines = source.splitlines()[first - 1 : last]
    return sum(
        bool(line.strip()) and not line.lstrip().startswith("#") and number not in hidden
        for number, line in enumerate(lines, first)
    )


def _hops(tree: ast.Module, seen: Sequence[ast.stmt], function: str) -> tuple[int, int]:
    """Count the calls of other functions in sight: (detours, visits)."""
    defined = _defined(seen)
    calls = [
        (owner, node.id)
        for owner in seen
        for node in ast.walk(owner)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in defined
    ]
    everywhere = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name)]
    detours = visits = 0
    for owner, name in calls:
        if defined[name] is owner or name == function:
            continue
        if everywhere.count(name) == 1 and len(body_of(defined[name])) <= _TINY:
            detours += 1
        else:
            visits += 1
    return detours, visits


def _flow(node: ast.AST, level: int = 0, name: str = "") -> int:
    """Return the cognitive complexity of a piece of code that stands `level` deep."""
    if isinstance(node, Function):
        # A function inside another is one level deeper; recursion costs one for each call.
        return sum(_flow(one, level + bool(name), node.name) for one in node.body)
    if isinstance(node, ast.If):
        return _flow_of_if(node, level, name)
    if isinstance(node, ast.For | ast.AsyncFor | ast.While):
        return (
            1
            + level
            + sum(_flow(one, level, name) for one in _heads(node))
            + sum(_flow(one, level + 1, name) for one in node.body)
            + bool(node.orelse)
            + sum(_flow(one, level + 1, name) for one in node.orelse)
        )
    total = 0
    if isinstance(node, ast.IfExp | ast.ExceptHandler):
        total += 1 + level
        level += 1
    elif isinstance(node, ast.BoolOp):
        total += 1
    elif isinstance(node, ast.Call):
        total += isinstance(node.func, ast.Name) and node.func.id == name
    elif isinstance(node, ast.Lambda):
        level += 1
    return total + sum(_flow(one, level, name) for one in ast.iter_child_nodes(node))


def _heads(node: ast.For | ast.AsyncFor | ast.While) -> tuple[ast.expr, ...]:
    return (node.test,) if isinstance(node, ast.While) else (node.iter,)


def _flow_of_if(node: ast.If, level: int, name: str) -> int:
    total = 1 + level + _flow(node.test, level, name)
    total += sum(_flow(one, level + 1, name) for one in node.body)
    while is_elif(node, node.orelse):
        assert isinstance(node.orelse[0], ast.If)
        node = node.orelse[0]
        # An `elif` is read on the level of its `if`, so it pays no more for nesting.
        total += 1 + _flow(node.test, level, name)
        total += sum(_flow(one, level + 1, name) for one in node.body)
    total += bool(node.orelse)
    return total + sum(_flow(one, level + 1, name) for one in node.orelse)

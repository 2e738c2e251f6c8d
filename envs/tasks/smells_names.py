"""A telling name for a local variable, read off the statement that binds it first."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...reward_models.smells import Function

_OF_CALLS = {
    "len": "size",
    "min": "smallest",
    "max": "largest",
    "sum": "total",
    "abs": "distance",
    "sorted": "ordered",
    "range": "index",
    "int": "number",
    "str": "written",
    "list": "items",
    "split": "parts",
    "partition": "parts",
    "strip": "cleaned",
    "lower": "lowered",
    "pop": "taken",
    "heappop": "taken",
    "find": "position",
    "rfind": "position",
}
_OF_NODES: tuple[tuple[type[ast.expr], str], ...] = (
    (ast.Compare, "is_match"),
    (ast.BoolOp, "is_match"),
    (ast.List, "items"),
    (ast.ListComp, "items"),
    (ast.Dict, "table"),
    (ast.DictComp, "table"),
    (ast.BinOp, "amount"),
    (ast.Subscript, "entry"),
    (ast.IfExp, "choice"),
)
_OF_CONSTANTS: tuple[tuple[type, str], ...] = (
    (bool, "is_on"),
    (int, "count"),
    (float, "amount"),
    (str, "text"),
)
_IN_TUPLES = ("first", "second", "third", "fourth")
_SPARE = ("value", "result", "current", "other")


def suggest_name(scope: Function, name: str) -> str | None:
    """Return a name that says what a local variable holds and is free; None if there is none."""
    taken = {node.id for node in ast.walk(scope) if isinstance(node, ast.Name)}
    taken |= {node.arg for node in ast.walk(scope.args) if isinstance(node, ast.arg)}
    for wish in (*_wishes(scope, name), *_SPARE):
        for free in (wish, f"next_{wish}"):
            if free not in taken and free.isidentifier():
                return free
    return None


def _wishes(scope: Function, name: str) -> Iterator[str]:
    for node in ast.walk(scope):
        match node:
            case (
                ast.For(target=target, iter=values) | ast.comprehension(target=target, iter=values)
            ):
                yield from _of_loop(target, values, name)
            case ast.Assign(targets=[ast.Name(id=bound)], value=value) if bound == name:
                yield from _of_value(value)
            case ast.AnnAssign(target=ast.Name(id=bound), value=ast.expr() as value) if (
                bound == name
            ):
                yield from _of_value(value)
            case ast.Assign(targets=[ast.Tuple(elts=targets)]):
                yield from _of_tuple(targets, name)


def _of_loop(target: ast.expr, values: ast.expr, name: str) -> Iterator[str]:
    if isinstance(target, ast.Tuple):
        is_counted = isinstance(values, ast.Call) and ast.unparse(values.func) == "enumerate"
        if is_counted and isinstance(target.elts[0], ast.Name) and target.elts[0].id == name:
            yield "index"
        yield from _of_tuple(target.elts, name)
        for one in target.elts:
            if isinstance(one, ast.Tuple):
                yield from _of_tuple(one.elts, name)
        return
    if not isinstance(target, ast.Name) or target.id != name:
        return
    match values:
        case ast.Call(func=ast.Name(id="range")):
            yield "index"
        case ast.Name(id=many) if many.endswith("s") and len(many) > 3:
            yield many[:-1]
    yield "item"


def _of_tuple(targets: list[ast.expr], name: str) -> Iterator[str]:
    for place, one in enumerate(targets):
        if isinstance(one, ast.Name) and one.id == name and place < len(_IN_TUPLES):
            yield _IN_TUPLES[place]


def _of_value(value: ast.expr) -> Iterator[str]:
    if isinstance(value, ast.Constant):
        yield from (name for kind, name in _OF_CONSTANTS if isinstance(value.value, kind))
    elif isinstance(value, ast.Call):
        called = value.func
        word = called.attr if isinstance(called, ast.Attribute) else ast.unparse(called)
        if word in _OF_CALLS:
            yield _OF_CALLS[word]
    else:
        yield from (name for kind, name in _OF_NODES if isinstance(value, kind))

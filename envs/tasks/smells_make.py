"""Makers: for each kind of smell the rewriting that puts one into a clean function.

Each maker is the other way round of a cure (`smells_cure`): what it makes, one application of the
cure takes away again, to the letter, except that an obscure name comes back as a telling one that
need not be the old one. `make_smell` offers nothing that does not keep to this. Whether behaviour
stays is not taken on trust either: `refactor` runs every result.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterator

import numpy as np

from ...reward_models.smells import (
    Function,
    blocks,
    body_of,
    branches,
    is_truth_value,
    leaves,
    names_in,
    parse,
)
from .smells_cure import Cure, find_cures, is_pure, renamed
from .smells_text import Text, in_parens, last_line, negated

_FLAGS = ("running", "going_on", "not_finished")
_SPARES = ("spare", "leftover", "old_value", "unneeded")
_TEMPORARIES = ("outcome", "answer_so_far", "check", "is_the_case")
_OBSCURE = ("q1", "zx", "v7", "kk", "w2", "bq", "x9")


def make_smell(
    source: str, function: str, kind: str, rng: np.random.Generator
) -> tuple[str, Cure] | None:
    """Put one smell of a kind into a function.

    Args:
        source: text of a module.
        function: name of the function in it.
        kind: one of `SMELL_KINDS`.
        rng: chooses the place and the details.

    Returns:
        The module with the smell and the cure that takes it away again; None if no place in the
        function takes this kind.
    """
    scope = _scope(source, function)
    if scope is None:
        return None
    made = sorted(set(_MAKERS[kind](Text(source), scope)))
    for index in rng.permutation(len(made)):
        after = made[int(index)]
        if parse(after) is None:
            continue
        for cure in find_cures(after, function):
            if cure.kind == kind and (cure.after == source or kind == "obscure_name"):
                if kind != "obscure_name" or _is_new(cure, source, after):
                    return after, cure
    return None


def _is_new(cure: Cure, source: str, after: str) -> bool:
    """Say whether a renaming is of the name that was made obscure."""
    number = cure.line - 1
    return source.splitlines()[number] != after.splitlines()[number]


def _scope(source: str, function: str) -> Function | None:
    tree = parse(source)
    found = [node for node in (tree.body if tree else []) if isinstance(node, Function)]
    return next((node for node in found if node.name == function), None)


def _needless_else(text: Text, scope: Function) -> Iterator[str]:
    for _, block in blocks(scope):
        for index, node in enumerate(block):
            rest = block[index + 1 :]
            if not isinstance(node, ast.If) or node.orelse or not leaves(node.body):
                continue
            if rest and text.is_movable(rest):
                start, end = last_line(node) + 1, last_line(rest[-1])
                lines = [text.margin(node) + "else:\n", *text.between(start, end, 1)]
                yield text.with_lines(start, end, lines)


def _tests(text: Text, scope: Function) -> Iterator[tuple[ast.If | ast.While, str]]:
    for node in ast.walk(scope):
        if isinstance(node, ast.If | ast.While):
            head = text.head(node)
            if head is not None:
                yield node, head


def _bool_comparison(text: Text, scope: Function) -> Iterator[str]:
    for node, head in _tests(text, scope):
        if is_truth_value(node.test):
            yield text.with_spans([(node.test, f"{in_parens(head, node.test)} == True")])


def _double_negation(text: Text, scope: Function) -> Iterator[str]:
    for node, head in _tests(text, scope):
        if not isinstance(node.test, ast.UnaryOp):
            yield text.with_spans([(node.test, f"not (not {in_parens(head, node.test)})")])


def _dead_code(text: Text, scope: Function) -> Iterator[str]:
    names = [one.arg for one in scope.args.args] + names_in(scope, ast.Store)
    for _, block in blocks(scope):
        node = block[-1]
        if leaves(block) and text.is_movable([node]):
            margin, line = text.margin(node), last_line(node)
            for name in sorted(set(names))[:3]:
                yield text.with_lines(line + 1, line, [f"{margin}{name} = None\n"])
            if isinstance(node, ast.Return):
                yield text.with_lines(line + 1, line, [f"{margin}return None\n"])
    margin, line = text.margin(body_of(scope)[0]), body_of(scope)[0].lineno
    for name in sorted({one.arg for one in scope.args.args}):
        lines = [f"{margin}if False:\n", f"{margin}    {name} = None\n"]
        yield text.with_lines(line, line - 1, lines)


def _unused_variable(text: Text, scope: Function) -> Iterator[str]:
    taken = {one.id for one in ast.walk(scope) if isinstance(one, ast.Name)}
    taken |= {one.arg for one in scope.args.args}
    free = [name for name in _SPARES if name not in taken]
    for _, block in blocks(scope):
        if not text.is_movable(block):
            continue
        margin, line = text.margin(block[0]), block[0].lineno
        for name in free[:2]:
            for value in ("0", "None", *(one.arg for one in scope.args.args[:1])):
                yield text.with_lines(line, line - 1, [f"{margin}{name} = {value}\n"])


def _temporary(text: Text, scope: Function) -> Iterator[str]:
    taken = {one.id for one in ast.walk(scope) if isinstance(one, ast.Name)}
    taken |= {one.arg for one in scope.args.args}
    name = next(name for name in _TEMPORARIES if name not in taken)
    for _, block in blocks(scope):
        for node in block:
            value: ast.expr | None = None
            if isinstance(node, ast.Return):
                value = node.value
            elif isinstance(node, ast.If) and text.head(node) is not None:
                value = node.test
            is_plain = isinstance(value, ast.Name | ast.Constant | ast.Tuple | None)
            if value is None or is_plain or value.lineno != value.end_lineno:
                continue
            changed = Text(text.with_spans([(value, name)]))
            line = f"{text.margin(node)}{name} = {text.of(value)}\n"
            yield changed.with_lines(node.lineno, node.lineno - 1, [line])


def _nested_if(text: Text, scope: Function) -> Iterator[str]:
    for node, _ in _tests(text, scope):
        test = node.test
        if not isinstance(node, ast.If) or node.orelse or not isinstance(test, ast.BoolOp):
            continue
        if not isinstance(test.op, ast.And) or not text.is_movable(node.body):
            continue
        for cut in range(1, len(test.values)):
            parts = [
                " and ".join(_part(text, one, len(some)) for one in some)
                for some in (test.values[:cut], test.values[cut:])
            ]
            margin = text.margin(node)
            lines = [
                text.with_head(node, parts[0]),
                f"{margin}    if {parts[1]}:\n",
                *text.between(node.body[0].lineno, last_line(node), 1),
            ]
            yield text.with_lines(node.lineno, last_line(node), lines)


def _part(text: Text, node: ast.expr, num_parts: int) -> str:
    is_or = isinstance(node, ast.BoolOp) and num_parts > 1
    return f"({text.of(node)})" if is_or else text.of(node)


def _copied_condition(text: Text, scope: Function) -> Iterator[str]:
    for node, head in _tests(text, scope):
        if isinstance(node, ast.If) and not node.orelse and is_pure(node.test):
            if text.is_movable(node.body):
                line = f"{text.margin(node)}    if {head}:\n"
                start, end = node.body[0].lineno, last_line(node)
                yield text.with_lines(start, end, [line, *text.between(start, end, 1)])


def _flag_loop(text: Text, scope: Function) -> Iterator[str]:
    taken = {one.id for one in ast.walk(scope) if isinstance(one, ast.Name)}
    name = next(name for name in _FLAGS if name not in taken)
    for node, head in _tests(text, scope):
        if not isinstance(node, ast.While) or node.orelse or not text.is_movable(node.body):
            continue
        margin = text.margin(node)
        lines = [
            f"{margin}{name} = True\n",
            f"{margin}while {name}:\n",
            f"{margin}    if {head}:\n",
            *text.between(node.body[0].lineno, last_line(node), 1),
            f"{margin}    else:\n",
            f"{margin}        {name} = False\n",
        ]
        yield text.with_lines(node.lineno, last_line(node), lines)


def _wrapped_body(text: Text, scope: Function) -> Iterator[str]:
    for owner, block in blocks(scope):
        for index, node in enumerate(block):
            rest = block[index + 1 :]
            if not isinstance(node, ast.If) or node.orelse or len(node.body) != 1 or not rest:
                continue
            head, leave = text.head(node), node.body[0]
            if head is None or isinstance(node.test, ast.UnaryOp) or not text.is_movable(rest):
                continue
            start, end = last_line(node) + 1, last_line(rest[-1])
            lines = [
                text.with_head(node, negated(head, node.test)),
                *text.between(start, end, 1),
            ]
            is_loop = isinstance(owner, ast.For | ast.While) and block is owner.body
            if isinstance(leave, ast.Continue) and is_loop:
                yield text.with_lines(node.lineno, end, lines)
            elif isinstance(leave, ast.Return) and isinstance(rest[-1], ast.Return):
                lines.append(f"{text.margin(node)}{text.of(leave)}\n")
                yield text.with_lines(node.lineno, end, lines)


def _duplicated_tail(text: Text, scope: Function) -> Iterator[str]:
    for _, block in blocks(scope):
        for node, tail in itertools.pairwise(block):
            if not isinstance(node, ast.If) or not isinstance(
                tail, ast.Assign | ast.AugAssign | ast.Expr
            ):
                continue
            found = branches(node)
            is_adjacent = tail.lineno == tail.end_lineno == last_line(node) + 1
            if any(leaves(one) for one in found) or not is_adjacent:
                continue
            if text.is_movable([tail]):
                yield _with_copies(text, node, tail, found)


def _with_copies(text: Text, node: ast.If, tail: ast.stmt, found: list[list[ast.stmt]]) -> str:
    copy = text.block([tail], 1)
    changed = Text(text.with_lines(tail.lineno, tail.lineno, []))
    if not found[-1]:
        end = last_line(node)
        changed = Text(changed.with_lines(end + 1, end, [text.margin(node) + "else:\n", *copy]))
    for one in reversed([one for one in found if one]):
        end = last_line(one[-1])
        changed = Text(changed.with_lines(end + 1, end, copy))
    return changed.source


def _single_use_helper(text: Text, scope: Function) -> Iterator[str]:
    local = {one.arg for one in scope.args.args} | set(names_in(scope, ast.Store))
    names = {one.id for one in ast.walk(ast.parse(text.source)) if isinstance(one, ast.Name)}
    names |= {one.name for one in ast.walk(ast.parse(text.source)) if isinstance(one, Function)}
    name = next(f"_step_{n}" for n in range(1, 99) if f"_step_{n}" not in names)
    for node in ast.walk(scope):
        value = _extractable(node)
        if value is None or value.lineno != value.end_lineno:
            continue
        inner = set(names_in(value, ast.Store))
        used = sorted((set(names_in(value, ast.Load)) & local) - inner)
        handed = ", ".join(used)
        changed = text.with_spans([(value, f"{name}({handed})")])
        helper = f"def {name}({handed}):\n    return {text.of(value)}\n"
        changed_text = Text(changed)
        end = last_line(scope)
        yield changed_text.with_lines(end + 1, end, ["\n", "\n", helper])


def _extractable(node: ast.AST) -> ast.expr | None:
    """Return the expression of a statement that a helper could compute."""
    if not isinstance(node, ast.If | ast.While | ast.Return | ast.Assign):
        return None
    value = node.test if isinstance(node, ast.If | ast.While) else node.value
    is_big = isinstance(value, ast.Compare | ast.BoolOp | ast.BinOp | ast.Call | ast.IfExp)
    odd = (ast.Lambda, ast.JoinedStr, ast.NamedExpr, ast.Yield, ast.Await)
    if not is_big or value is None or any(isinstance(one, odd) for one in ast.walk(value)):
        return None
    return value


def _obscure_name(text: Text, scope: Function) -> Iterator[str]:
    bound = [
        node.id
        for node in ast.walk(scope)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]
    for old in sorted(set(bound)):
        if len(old) < 3:
            continue  # a letter is as good as another
        for new in _OBSCURE:
            changed = renamed(text, scope, old, new)
            if changed is not None:
                yield changed


_MAKERS: dict[str, Callable[[Text, Function], Iterator[str]]] = {
    "needless_else": _needless_else,
    "bool_comparison": _bool_comparison,
    "double_negation": _double_negation,
    "dead_code": _dead_code,
    "unused_variable": _unused_variable,
    "temporary": _temporary,
    "nested_if": _nested_if,
    "copied_condition": _copied_condition,
    "flag_loop": _flag_loop,
    "wrapped_body": _wrapped_body,
    "duplicated_tail": _duplicated_tail,
    "single_use_helper": _single_use_helper,
    "obscure_name": _obscure_name,
}

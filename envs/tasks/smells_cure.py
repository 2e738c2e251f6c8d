"""Cures: for each kind of smell the small rewriting that takes it away and keeps behaviour.

A cure works on the module as it stands and knows nothing of how the smell came there. Where it
cannot be sure that behaviour stays, or that the text can be moved line by line, there is none.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from ...reward_models.smells import (
    SMELL_KINDS,
    Function,
    Smell,
    body_of,
    branches,
    find_smells,
    is_truth_value,
    leaves,
    names_in,
    parse,
)
from .smells_names import suggest_name
from .smells_text import Text, in_parens, last_line, negated


@dataclass(slots=True, frozen=True)
class Cure:
    """One smell and the module without it."""

    kind: str
    place: int
    """0-based ordinal among the cures of this kind, by line."""
    line: int
    """1-based line of the smell."""
    after: str
    """Text of the module afterwards."""


@lru_cache(maxsize=4096)
def find_cures(source: str, function: str = "") -> tuple[Cure, ...]:
    """Return the cures of all smells that a reader of a function meets, by kind and line.

    Args:
        source: text of a module; one that does not parse has none.
        function: name of the function that is read; "" for the whole module.
    """
    text = Text(source)
    places = dict.fromkeys(SMELL_KINDS, 0)
    cures = []
    for smell in find_smells(source, function):
        after = _CURES[smell.kind](smell, text)
        if after is None or after == source or parse(after) is None:
            continue
        cures.append(Cure(smell.kind, places[smell.kind], smell.line, after))
        places[smell.kind] += 1
    return tuple(cures)


def _needless_else(smell: Smell, text: Text) -> str | None:
    (node,) = smell.nodes
    assert isinstance(node, ast.If)
    start = last_line(node.body[-1]) + 1
    if text.lines[start - 1].strip() != "else:" or not text.is_movable(node.orelse):
        return None
    end = last_line(node)
    return text.with_lines(start, end, text.between(start + 1, end, -1))


def _bool_comparison(smell: Smell, text: Text) -> str | None:
    (node,) = smell.nodes
    assert isinstance(node, ast.Compare)
    if not is_truth_value(node.left):
        return None
    (constant,) = node.comparators
    assert isinstance(constant, ast.Constant)
    is_plain = constant.value == isinstance(node.ops[0], ast.Eq | ast.Is)
    left = text.of(node.left)
    new = left if is_plain else negated(left, node.left)
    is_whole = any(
        node is getattr(one, field, None)
        for one in ast.walk(smell.scope)
        for field in ("test", "value")
    )
    if is_whole or (is_plain and isinstance(node.left, ast.Call)):
        return text.with_spans([(node, new)])
    return text.with_spans([(node, f"({new})")])


def _double_negation(smell: Smell, text: Text) -> str | None:
    node, inner = smell.nodes
    assert isinstance(node, ast.expr) and isinstance(inner, ast.expr)
    is_test = any(
        isinstance(one, ast.If | ast.While | ast.IfExp) and one.test is node
        for one in ast.walk(smell.scope)
    )
    if not is_test and not is_truth_value(inner):
        return None
    new = text.of(inner)
    return text.with_spans([(node, new if is_test else in_parens(new, inner))])


def _dead_code(smell: Smell, text: Text) -> str | None:
    nodes = [node for node in smell.nodes if isinstance(node, ast.stmt)]
    return _without(nodes, smell.scope, text)


def _unused_variable(smell: Smell, text: Text) -> str | None:
    (node,) = smell.nodes
    assert isinstance(node, ast.Assign)
    return _without([node], smell.scope, text)


def _without(nodes: list[ast.stmt], scope: Function, text: Text) -> str | None:
    """Take statements out, unless their block would be empty or a name would change its scope."""
    block = _block_with(scope, nodes[0])
    if not text.is_movable(nodes) or block is None or len(block) == len(nodes):
        return None
    lost = {name for node in nodes for name in names_in(node, ast.Store)}
    kept = names_in(scope, ast.Store) + [
        one.arg for one in ast.walk(scope.args) if isinstance(one, ast.arg)
    ]
    for name in lost:
        gone = sum(names_in(node, ast.Store).count(name) for node in nodes)
        if kept.count(name) == gone and name in names_in(scope, ast.Load):
            return None
    return text.with_lines(nodes[0].lineno, last_line(nodes[-1]), [])


def _block_with(scope: Function, node: ast.stmt) -> list[ast.stmt] | None:
    for one in ast.walk(scope):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(one, field, None)
            if isinstance(block, list) and any(node is inner for inner in block):
                return block
    return None


def _temporary(smell: Smell, text: Text) -> str | None:
    node, use = smell.nodes
    assert isinstance(node, ast.Assign) and isinstance(use, ast.Name)
    if not text.is_movable([node]) or node.end_lineno != node.lineno:
        return None
    if isinstance(node.value, ast.Tuple | ast.NamedExpr | ast.Yield | ast.Await):
        return None
    changed = Text(text.with_spans([(use, text.of(node.value))]))
    return changed.with_lines(node.lineno, node.lineno, [])


def _nested_if(smell: Smell, text: Text) -> str | None:
    outer, inner = smell.nodes
    assert isinstance(outer, ast.If) and isinstance(inner, ast.If)
    heads = text.head(outer), text.head(inner)
    if heads[0] is None or heads[1] is None or not text.is_movable(inner.body):
        return None
    parts = [
        f"({head})" if isinstance(test, _LOOSE) or _is_or(test) else head
        for head, test in zip(heads, (outer.test, inner.test), strict=True)
    ]
    header = text.with_head(outer, " and ".join(map(str, parts)))
    body = text.between(inner.body[0].lineno, last_line(inner), -1)
    return text.with_lines(outer.lineno, last_line(outer), [header, *body])


_LOOSE = (ast.IfExp, ast.Lambda, ast.NamedExpr)


def _is_or(test: ast.expr) -> bool:
    return isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or)


def _copied_condition(smell: Smell, text: Text) -> str | None:
    outer, inner = smell.nodes
    assert isinstance(outer, ast.If) and isinstance(inner, ast.If)
    if text.head(outer) is None or text.head(inner) is None or not is_pure(outer.test):
        return None
    if not text.is_movable(inner.body):
        return None
    body = text.between(inner.body[0].lineno, last_line(inner), -1)
    return text.with_lines(inner.lineno, last_line(outer), body)


def _flag_loop(smell: Smell, text: Text) -> str | None:
    flag, loop = smell.nodes
    assert isinstance(flag, ast.Assign) and isinstance(loop, ast.While)
    test = loop.body[0]
    assert isinstance(test, ast.If)
    head = text.head(test)
    if head is None or text.head(loop) is None or not text.is_movable([flag, *test.body]):
        return None
    if flag.lineno + 1 != loop.lineno:
        return None
    lines = [text.with_head(loop, head), *text.block(test.body, -1)]
    return text.with_lines(flag.lineno, last_line(loop), lines)


def _wrapped_body(smell: Smell, text: Text) -> str | None:
    node = smell.nodes[0]
    assert isinstance(node, ast.If) and isinstance(node.test, ast.UnaryOp)
    if text.head(node) is None or not text.is_movable(node.body):
        return None
    margin = text.margin(node)
    if len(smell.nodes) > 1:
        after = smell.nodes[1]
        assert isinstance(after, ast.Return)
        if after.lineno != after.end_lineno or after.lineno != last_line(node) + 1:
            return None
        leave, end = text.of(after), after.lineno
    else:
        leave, end = "continue", last_line(node)
    header = text.with_head(node, text.of(node.test.operand))
    body = text.block(node.body, -1)
    return text.with_lines(node.lineno, end, [header, f"{margin}    {leave}\n", *body])


def _duplicated_tail(smell: Smell, text: Text) -> str | None:
    (node,) = smell.nodes
    assert isinstance(node, ast.If)
    found = branches(node)
    tails = [block[-1] for block in found]
    if not text.is_movable(tails) or any(leaves(block) for block in found):
        return None
    if any(len(block) < 2 for block in found[:-1]) or len({text.of(t) for t in tails}) > 1:
        return None
    changed = text
    for block in reversed(found):
        tail = block[-1]
        first = tail.lineno
        if len(block) == 1:
            # The `else:` goes with its only statement.
            first -= 1
            if changed.lines[first - 1].strip() != "else:":
                return None
        changed = Text(changed.with_lines(first, last_line(tail), []))
    removed = len(text.lines) - len(changed.lines)
    shift = (tails[0].col_offset - node.col_offset) // 4
    end = last_line(node) - removed
    lines = text.block([tails[0]], -shift)
    return changed.with_lines(end + 1, end, lines)


def _single_use_helper(smell: Smell, text: Text) -> str | None:
    helper, call = smell.nodes
    assert isinstance(helper, ast.FunctionDef) and isinstance(call, ast.Call)
    result = body_of(helper)[0]
    assert isinstance(result, ast.Return)
    names = [one.arg for one in helper.args.args]
    others = ast.dump(ast.arguments(**{**vars(helper.args), "args": []}))
    is_plain = others == ast.dump(ast.parse("def f(): 0").body[0].args)  # type: ignore[attr-defined]
    if result.value is None or not is_plain or call.keywords or len(call.args) != len(names):
        return None
    value = result.value
    if value.lineno != value.end_lineno or not all(map(is_stable, call.args)):
        return None
    hidden = (ast.Lambda, ast.JoinedStr, ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await)
    if any(isinstance(one, hidden) for one in ast.walk(value)):
        return None
    if set(names_in(value, ast.Store)) & {n for a in call.args for n in names_in(a, ast.Load)}:
        return None  # a comprehension of the helper would capture a name of the caller
    written = Text(text.of(value))
    inner = ast.parse(written.source, mode="eval").body
    handed = {
        name: in_parens(text.of(argument), argument)
        for name, argument in zip(names, call.args, strict=True)
    }
    uses = [
        (one, handed[one.id])
        for one in ast.walk(inner)
        if isinstance(one, ast.Name) and one.id in handed and isinstance(one.ctx, ast.Load)
    ]
    new = written.with_spans(uses)
    if not _is_whole(call, smell.scope):
        new = in_parens(new, value)
    return _inlined(text, helper, call, new)


def _inlined(text: Text, helper: ast.FunctionDef, call: ast.Call, new: str) -> str:
    first, last = helper.lineno, last_line(helper)
    while first > 1 and not text.lines[first - 2].strip():
        first -= 1
    changed = Text(text.with_spans([(call, new)]))
    shrink = len(text.lines) - len(changed.lines)  # a call over several lines becomes one
    if call.lineno < first:
        first, last = first - shrink, last - shrink
    return changed.with_lines(first, last, [])


def _is_whole(call: ast.Call, scope: Function) -> bool:
    return any(
        getattr(one, field, None) is call
        for one in ast.walk(scope)
        if isinstance(one, ast.stmt)
        for field in ("test", "value")
    )


def _obscure_name(smell: Smell, text: Text) -> str | None:
    (node,) = smell.nodes
    assert isinstance(node, ast.Name)
    new = suggest_name(smell.scope, node.id)
    return None if new is None else renamed(text, smell.scope, node.id, new)


def renamed(text: Text, scope: Function, old: str, new: str) -> str | None:
    """Rename a local variable of a function; None where that is not plainly possible."""
    arguments = {one.arg for one in ast.walk(scope.args) if isinstance(one, ast.arg)}
    odd = (ast.Global, ast.Nonlocal, ast.FunctionDef, ast.Lambda, ast.ClassDef)
    is_odd = any(isinstance(one, odd) for one in ast.walk(scope) if one is not scope)
    taken = {one.id for one in ast.walk(scope) if isinstance(one, ast.Name)} | arguments
    strings = [one for one in ast.walk(scope) if isinstance(one, ast.JoinedStr)]
    if is_odd or old in arguments or new in taken:
        return None
    if any(isinstance(n, ast.Name) and n.id == old for s in strings for n in ast.walk(s)):
        return None  # positions inside f-strings are not dependable before Python 3.12
    return text.with_spans(
        [(one, new) for one in ast.walk(scope) if isinstance(one, ast.Name) and one.id == old]
    )


_PURE_CALLS = frozenset({"len", "min", "max", "abs", "any", "all", "isinstance", "sum", "sorted"})
_PURE_METHODS = frozenset(
    {"isdigit", "isalpha", "isalnum", "startswith", "endswith", "strip", "lower", "upper", "get"}
)


def is_pure(node: ast.expr) -> bool:
    """Say whether evaluating an expression twice is the same as once, as far as its form tells."""
    for one in ast.walk(node):
        if isinstance(one, ast.NamedExpr | ast.Await | ast.Yield | ast.YieldFrom):
            return False
        if isinstance(one, ast.Call):
            name = one.func.id if isinstance(one.func, ast.Name) else None
            method = one.func.attr if isinstance(one.func, ast.Attribute) else None
            if name not in _PURE_CALLS and method not in _PURE_METHODS:
                return False
    return True


def is_stable(node: ast.expr) -> bool:
    """Say whether an argument may be written where the parameter stood, as often as it stood."""
    return isinstance(node, ast.Name | ast.Constant)


_CURES: dict[str, Callable[[Smell, Text], str | None]] = {
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

"""Smells: places in Python code that make it longer or harder to read without doing anything.

A smell is found by its form alone, in whatever code stands there, so code that was tidied in
another way than foreseen counts as tidied. Each kind is one that catalogues of refactorings name
and linters report; each has a cure that keeps behaviour (`envs.tasks.smells`).

    needless_else       `else:` after a branch that always leaves
    bool_comparison     `x == True` and the like
    double_negation     `not (not x)`
    dead_code           statements after a jump, or under `if False:`
    unused_variable     a plain value given to a name that is never read
    temporary           a name for a value that the next statement returns or tests, and nobody else
    nested_if           an `if` alone in an `if`, where `and` would do
    copied_condition    an `if` alone in an `if` with the same condition
    flag_loop           a `while` over a flag that its own `else` clears
    wrapped_body        a long body under a negated condition, where leaving early would do
    duplicated_tail     the same last statement in every branch
    single_use_helper   a private one-line function with one caller
    obscure_name        a local name of a letter or two and digits, or of consonants alone

Covered: what a reader of one function meets, see `in_sight`. Not covered: classes, and smells that
need types or several files to see.

Reference: Fowler, Refactoring (2nd edition, 2018), for most of the catalogue; the checks R1705,
C0121, R1702 and W0612 of pylint and SIM102, SIM208, RET504 of flake8 plug-ins for the rest.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from .. import safe_ast

SMELL_KINDS: tuple[str, ...] = (
    "needless_else",
    "bool_comparison",
    "double_negation",
    "dead_code",
    "unused_variable",
    "temporary",
    "nested_if",
    "copied_condition",
    "flag_loop",
    "wrapped_body",
    "duplicated_tail",
    "single_use_helper",
    "obscure_name",
)

MIN_WRAPPED = 2
"""Statements under a negated condition from which its indentation is worth a remark."""

_CACHED_TREES = 128
"""A syntax tree takes a hundred times the room of its text, so few are kept."""
_OBSCURE = re.compile(r"^(?:[a-z]{1,2}\d+|[bcdfghjklmnpqrstvwxz]{2,3}\d?)$")
_JUMPS = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_TRUTH_CALLS = frozenset({"any", "all", "bool", "isinstance", "callable"})
_TRUTH_METHODS = frozenset(
    {"isdigit", "isalpha", "isalnum", "isupper", "islower", "isspace", "startswith", "endswith"}
)

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(slots=True, frozen=True)
class Smell:
    """One place that smells."""

    kind: str
    line: int
    """1-based."""
    nodes: tuple[ast.AST, ...]
    """The pieces that a cure works on; which ones depends on the kind (see the finder)."""
    scope: Function
    """The function it stands in."""


@lru_cache(maxsize=_CACHED_TREES)
def find_smells(source: str, function: str = "") -> tuple[Smell, ...]:
    """Return the smells that a reader of a function meets, by kind and then by line.

    Args:
        source: text of a module; one that does not parse has none.
        function: name of the function that is read; "" for the whole module.
    """
    tree = parse(source)
    if tree is None:
        return ()
    seen = in_sight(tree, function)
    found = [
        smell
        for one in seen
        for scope in ast.walk(one)
        if isinstance(scope, Function)
        for finder in _FINDERS
        for smell in finder(scope)
    ]
    found += _single_use_helpers(tree, seen)
    return tuple(sorted(found, key=lambda smell: (SMELL_KINDS.index(smell.kind), smell.line)))


@lru_cache(maxsize=_CACHED_TREES)
def parse(source: str) -> ast.Module | None:
    """Parse a module; None if it is no valid Python. The tree is shared, so read only."""
    try:
        return safe_ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def in_sight(tree: ast.Module, function: str) -> list[ast.stmt]:
    """Return the top-level statements that a reader of a function meets.

    That is the function, what it calls in the module, directly or not, and everything that is
    neither an import, nor a docstring, nor another public function. So helpers count wherever they
    stand, and so does what nobody calls; the function's neighbours do not.
    """
    own = [node for node in tree.body if not _is_frame(node)]
    if not function:
        return own
    defined = {node.name: node for node in own if isinstance(node, Function)}
    reached: set[str] = set()
    waiting = [function]
    while waiting:
        name = waiting.pop()
        if name in defined and name not in reached:
            reached.add(name)
            waiting += [node.id for node in ast.walk(defined[name]) if isinstance(node, ast.Name)]
    return [
        node
        for node in own
        if not isinstance(node, Function) or node.name in reached or node.name.startswith("_")
    ]


def _is_frame(node: ast.stmt) -> bool:
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return is_text or isinstance(node, ast.Import | ast.ImportFrom)


def body_of(scope: Function) -> list[ast.stmt]:
    """Return the statements of a function without its docstring."""
    return scope.body[1:] if ast.get_docstring(scope, clean=False) is not None else scope.body


def blocks(scope: Function) -> Iterator[tuple[ast.stmt, list[ast.stmt]]]:
    """Yield every list of statements in a function with what holds it, outermost first.

    The `elif` of an `if` is no block of its own; its branches are.
    """
    yield scope, body_of(scope)
    waiting: list[ast.stmt] = list(body_of(scope))
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, Function | ast.ClassDef):
            continue
        for block in _blocks_of(node):
            if not is_elif(node, block):
                yield node, block
            waiting += block


def _blocks_of(node: ast.stmt) -> list[list[ast.stmt]]:
    found = [getattr(node, field, []) for field in ("body", "orelse", "finalbody")]
    found += [handler.body for handler in getattr(node, "handlers", [])]
    return [block for block in found if block]


def is_elif(owner: ast.stmt, block: Sequence[ast.stmt]) -> bool:
    """Say whether a block of an `if` is the `elif` that continues it."""
    return (
        isinstance(owner, ast.If)
        and len(block) == 1
        and isinstance(block[0], ast.If)
        and block[0].col_offset == owner.col_offset
    )


def leaves(block: Sequence[ast.stmt]) -> bool:
    """Say whether a block ends in a jump."""
    return bool(block) and isinstance(block[-1], _JUMPS)


def branches(node: ast.If) -> list[list[ast.stmt]]:
    """Return the branches of a chain of `if`, `elif` and `else`; the last is [] without `else`."""
    found = [node.body]
    while is_elif(node, node.orelse):
        assert isinstance(node.orelse[0], ast.If)
        node = node.orelse[0]
        found.append(node.body)
    return [*found, node.orelse]


def is_truth_value(node: ast.expr) -> bool:
    """Say whether an expression is True or False whatever it is about, as far as its form tells."""
    if isinstance(node, ast.Compare):
        return True
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Not)
    if isinstance(node, ast.BoolOp):
        return all(map(is_truth_value, node.values))
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name):
            return node.func.id in _TRUTH_CALLS
        return isinstance(node.func, ast.Attribute) and node.func.attr in _TRUTH_METHODS
    return isinstance(node, ast.Constant) and isinstance(node.value, bool)


def names_in(node: ast.AST, context: type[ast.expr_context]) -> list[str]:
    """Return the names that are read (`ast.Load`) or bound (`ast.Store`), with repeats."""
    return [
        one.id
        for one in ast.walk(node)
        if isinstance(one, ast.Name) and isinstance(one.ctx, context)
    ]


def _ifs(scope: Function) -> Iterator[tuple[list[ast.stmt], int, ast.If]]:
    for _, block in blocks(scope):
        for index, node in enumerate(block):
            if isinstance(node, ast.If):
                yield block, index, node


def _needless_else(scope: Function) -> Iterator[Smell]:
    """Nodes: the `if`."""
    for _, _, node in _ifs(scope):
        if node.orelse and not is_elif(node, node.orelse) and leaves(node.body):
            yield Smell("needless_else", node.orelse[0].lineno - 1, (node,), scope)


def _nested_ifs(scope: Function) -> Iterator[Smell]:
    """Nodes: the outer `if` and the inner one."""
    for node in ast.walk(scope):
        if isinstance(node, ast.If) and not node.orelse and len(node.body) == 1:
            inner = node.body[0]
            if isinstance(inner, ast.If) and not inner.orelse:
                is_copy = ast.dump(inner.test) == ast.dump(node.test)
                kind = "copied_condition" if is_copy else "nested_if"
                yield Smell(kind, inner.lineno, (node, inner), scope)


def _bool_comparisons(scope: Function) -> Iterator[Smell]:
    """Nodes: the comparison."""
    for node in ast.walk(scope):
        match node:
            case ast.Compare(
                ops=[ast.Eq() | ast.NotEq() | ast.Is() | ast.IsNot()],
                comparators=[ast.Constant(value=True | False)],
            ):
                yield Smell("bool_comparison", node.lineno, (node,), scope)


def _double_negations(scope: Function) -> Iterator[Smell]:
    """Nodes: the outer `not` and what stands after the inner one."""
    for node in ast.walk(scope):
        match node:
            case ast.UnaryOp(op=ast.Not(), operand=ast.UnaryOp(op=ast.Not(), operand=inner)):
                yield Smell("double_negation", node.lineno, (node, inner), scope)


def _dead_code(scope: Function) -> Iterator[Smell]:
    """Nodes: the statements that never run."""
    for _, block in blocks(scope):
        for index, node in enumerate(block):
            if isinstance(node, _JUMPS) and block[index + 1 :]:
                rest = tuple(block[index + 1 :])
                yield Smell("dead_code", rest[0].lineno, rest, scope)
                break
            match node:
                case ast.If(test=ast.Constant(value=False), orelse=[]):
                    yield Smell("dead_code", node.lineno, (node,), scope)


def _unused_variables(scope: Function) -> Iterator[Smell]:
    """Nodes: the assignment."""
    read = set(names_in(scope, ast.Load))
    shared = {
        name
        for node in ast.walk(scope)
        if isinstance(node, ast.Global | ast.Nonlocal)
        for name in node.names
    }
    for _, block in blocks(scope):
        for node in block:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Name() | ast.Constant()):
                    if name not in read and name not in shared and not _is_aug(scope, name):
                        yield Smell("unused_variable", node.lineno, (node,), scope)


def _is_aug(scope: Function, name: str) -> bool:
    return any(
        isinstance(node, ast.AugAssign)
        and isinstance(node.target, ast.Name)
        and node.target.id == name
        for node in ast.walk(scope)
    )


def _temporaries(scope: Function) -> Iterator[Smell]:
    """Nodes: the assignment and the name where it is read."""
    stored, read = names_in(scope, ast.Store), names_in(scope, ast.Load)
    for _, block in blocks(scope):
        for node, after in itertools.pairwise(block):
            match node, after:
                case (
                    ast.Assign(targets=[ast.Name(id=name)]),
                    ast.Return(value=ast.Name() as use) | ast.If(test=ast.Name() as use),
                ) if use.id == name and stored.count(name) == 1 and read.count(name) == 1:
                    yield Smell("temporary", node.lineno, (node, use), scope)


def _flag_loops(scope: Function) -> Iterator[Smell]:
    """Nodes: the assignment of the flag and the loop."""
    for _, block in blocks(scope):
        for node, after in itertools.pairwise(block):
            match node, after:
                case (
                    ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=True)),
                    ast.While(
                        test=ast.Name(id=flag),
                        body=[
                            ast.If(
                                orelse=[
                                    ast.Assign(
                                        targets=[ast.Name(id=cleared)],
                                        value=ast.Constant(value=False),
                                    )
                                ]
                            )
                        ],
                        orelse=[],
                    ),
                ) if (
                    name == flag == cleared
                    and names_in(scope, ast.Store).count(name) == 2
                    and names_in(scope, ast.Load).count(name) == 1
                ):
                    yield Smell("flag_loop", after.lineno, (node, after), scope)


def _wrapped_bodies(scope: Function) -> Iterator[Smell]:
    """Nodes: the `if`, and the `return` after it unless it ends a loop's body."""
    for owner, block in blocks(scope):
        for index, node in enumerate(block):
            match node:
                case ast.If(test=ast.UnaryOp(op=ast.Not()), orelse=[]) if (
                    len(node.body) >= MIN_WRAPPED
                ):
                    rest = block[index + 1 :]
                    is_loop = isinstance(owner, ast.For | ast.While) and block is owner.body
                    if is_loop and not rest:
                        yield Smell("wrapped_body", node.lineno, (node,), scope)
                    elif len(rest) == 1 and isinstance(rest[0], ast.Return):
                        if isinstance(node.body[-1], ast.Return):
                            yield Smell("wrapped_body", node.lineno, (node, rest[0]), scope)


def _duplicated_tails(scope: Function) -> Iterator[Smell]:
    """Nodes: the `if`."""
    for _, _, node in _ifs(scope):
        found = branches(node)
        if not all(found) or any(leaves(block) for block in found):
            continue
        if len({ast.dump(block[-1]) for block in found}) == 1 and len(node.body) > 1:
            yield Smell("duplicated_tail", found[-1][-1].lineno, (node,), scope)


def _single_use_helpers(tree: ast.Module, seen: Sequence[ast.stmt]) -> Iterator[Smell]:
    """Nodes: the helper and its only call."""
    for node in seen:
        if not isinstance(node, ast.FunctionDef) or not node.name.startswith("_"):
            continue
        if not isinstance(body_of(node)[0], ast.Return) or node.decorator_list:
            continue
        callers = [
            (scope, one)
            for scope in tree.body
            for one in ast.walk(scope)
            if isinstance(one, ast.Name) and one.id == node.name
        ]
        scope, use = callers[0] if len(callers) == 1 else (None, None)
        if not isinstance(scope, Function):
            continue
        calls = [c for c in ast.walk(scope) if isinstance(c, ast.Call) and c.func is use]
        if calls and scope is not node:
            yield Smell("single_use_helper", calls[0].lineno, (node, calls[0]), scope)


def _obscure_names(scope: Function) -> Iterator[Smell]:
    """Nodes: the name where it is first bound."""
    seen: set[str] = set()
    for node in sorted(
        (n for n in ast.walk(scope) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)),
        key=lambda n: (n.lineno, n.col_offset),
    ):
        if _OBSCURE.match(node.id) and node.id not in seen:
            seen.add(node.id)
            yield Smell("obscure_name", node.lineno, (node,), scope)


_FINDERS: tuple[Callable[[Function], Iterator[Smell]], ...] = (
    _needless_else,
    _nested_ifs,
    _bool_comparisons,
    _double_negations,
    _dead_code,
    _unused_variables,
    _temporaries,
    _flag_loops,
    _wrapped_bodies,
    _duplicated_tails,
    _obscure_names,
)

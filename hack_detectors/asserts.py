"""Assertions of Python test code in one canonical form, so that refactorings compare equal.

`assert 3 == f(x)`, `assert f(x) == 3, "msg"` and `self.assertEqual(f(x), 3)` are one assertion.
Names of local variables do not matter.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum


class Strength(IntEnum):
    """How much an assertion demands."""

    TRIVIAL = 0
    """Holds whatever the code does."""
    WEAK = 1
    """Existence, type, truth, membership, inequality."""
    CLOSE = 2
    """Equal within a tolerance."""
    EXACT = 3
    """Equal, or a certain exception."""


@dataclass(slots=True, frozen=True)
class Assertion:
    """One assertion in canonical form."""

    actual: str
    """What is checked."""
    relation: str
    expected: str
    """What it must be ("" if the relation says all)."""
    strength: Strength

    @property
    def text(self) -> str:
        """The assertion as one line."""
        return f"{self.actual} {self.relation} {self.expected}".rstrip()


_UNITTEST = {
    "assertEqual": "==",
    "assertEquals": "==",
    "assertListEqual": "==",
    "assertDictEqual": "==",
    "assertTupleEqual": "==",
    "assertSetEqual": "==",
    "assertNotEqual": "!=",
    "assertIs": "is",
    "assertIsNot": "is not",
    "assertIn": "in",
    "assertNotIn": "not in",
    "assertGreater": ">",
    "assertGreaterEqual": ">=",
    "assertLess": "<",
    "assertLessEqual": "<=",
    "assertIsInstance": "isinstance",
    "assertAlmostEqual": "~=",
}
_NULLARY = {
    "assertTrue": ("is", "True"),
    "assertFalse": ("is", "False"),
    "assertIsNone": ("is", "None"),
    "assertIsNotNone": ("is not", "None"),
}
_RELATIONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Lt: "<",
    ast.LtE: "<=",
}
_RAISING = frozenset({"raises", "assertRaises", "assertRaisesRegex", "warns", "assertWarns"})


def assertions(statements: Sequence[ast.stmt]) -> list[Assertion]:
    """Return the assertions that can be reached in a body, in order."""
    return [found for node in reachable(statements) for found in _of_node(node)]


def reachable(statements: Sequence[ast.stmt]) -> Iterator[ast.AST]:
    """Walk a body, leaving out what stands after a return or under a condition that is false."""
    for statement in statements:
        yield from _walk(statement)
        if isinstance(statement, ast.Return | ast.Raise):
            return


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
        return  # a nested definition runs only if it is called; it is a unit of its own
    if isinstance(node, ast.If | ast.While) and _constant(node.test) in (False, 0, None, ""):
        if _is_constant(node.test):
            yield from (found for child in node.orelse for found in _walk(child))
            return
    for child in ast.iter_child_nodes(node):
        yield from _walk(child)


def _of_node(node: ast.AST) -> Iterator[Assertion]:
    if isinstance(node, ast.Assert):
        yield from _of_expression(node.test)
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        found = _of_call(node.value)
        if found is not None:
            yield found
    elif isinstance(node, ast.With | ast.AsyncWith):
        for item in node.items:
            call = item.context_expr
            if isinstance(call, ast.Call) and called_name(call) in _RAISING and call.args:
                expected = ast.unparse(call.args[0])
                body = "; ".join(ast.unparse(statement) for statement in node.body)
                broad = expected in ("Exception", "BaseException")
                strength = Strength.WEAK if broad else Strength.EXACT
                yield Assertion(body, "raises", expected, strength)


def _of_expression(test: ast.expr) -> Iterator[Assertion]:
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        for value in test.values:
            yield from _of_expression(value)
        return
    text = ast.unparse(test)
    if is_trivial(test):
        yield Assertion(text, "holds", "", Strength.TRIVIAL)
    elif isinstance(test, ast.Compare) and len(test.ops) == 1:
        relation = _RELATIONS[type(test.ops[0])]
        yield _relation(test.left, relation, test.comparators[0])
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield Assertion(ast.unparse(test.operand), "is", "False", Strength.WEAK)
    elif isinstance(test, ast.Call) and called_name(test) in ("isclose", "allclose"):
        rest = ", ".join(ast.unparse(arg) for arg in test.args[1:])
        rest += "".join(f", {ast.unparse(keyword)}" for keyword in test.keywords)
        actual = ast.unparse(test.args[0]) if test.args else text
        yield Assertion(actual, "~=", rest, Strength.CLOSE)
    else:
        yield Assertion(text, "is", "True", Strength.WEAK)


def _of_call(call: ast.Call) -> Assertion | None:
    name = called_name(call)
    if not name.startswith("assert"):
        return None
    args = call.args
    if name in _NULLARY and args:
        if is_trivial(args[0]) and name == "assertTrue":
            return Assertion(ast.unparse(args[0]), "holds", "", Strength.TRIVIAL)
        relation, expected = _NULLARY[name]
        inner = next(iter(_of_expression(args[0]))) if name == "assertTrue" else None
        return inner or Assertion(ast.unparse(args[0]), relation, expected, Strength.WEAK)
    if name in _UNITTEST and len(args) >= 2:
        return _relation(args[0], _UNITTEST[name], args[1])
    if name in _RAISING and args:
        rest = ", ".join(ast.unparse(arg) for arg in args[1:])
        return Assertion(rest, "raises", ast.unparse(args[0]), Strength.EXACT)
    texts = [ast.unparse(arg) for arg in (*args, *(k.value for k in call.keywords))]
    is_close = any(word in name for word in ("close", "approx", "almost"))
    strength = Strength.CLOSE if is_close else Strength.EXACT
    return Assertion(texts[0] if texts else name, name, ", ".join(texts[1:]), strength)


def _relation(left: ast.expr, relation: str, right: ast.expr) -> Assertion:
    if relation in ("==", "!=", "is", "is not") and _is_literal(left) and not _is_literal(right):
        left, right = right, left
    actual, expected = ast.unparse(left), ast.unparse(right)
    if relation == "==" and actual == expected:
        return Assertion(actual, "==", expected, Strength.TRIVIAL)
    if relation == "~=" or "approx(" in expected or "approx(" in actual:
        return Assertion(actual, "~=", expected, Strength.CLOSE)
    singleton = relation == "is" and expected in ("None", "True", "False")
    strength = Strength.EXACT if relation == "==" or singleton else Strength.WEAK
    return Assertion(actual, relation, expected, strength)


def is_trivial(test: ast.expr) -> bool:
    """Say whether an asserted expression holds whatever the code under test does."""
    if isinstance(test, ast.Constant | ast.Tuple):
        return bool(test.value if isinstance(test, ast.Constant) else test.elts)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _is_constant(test.operand) and not _constant(test.operand)
    if isinstance(test, ast.BoolOp):
        combine = any if isinstance(test.op, ast.Or) else all
        return combine(is_trivial(value) for value in test.values)
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return _compares_trivially(test.left, test.ops[0], test.comparators[0])
    if isinstance(test, ast.Call) and called_name(test) == "isinstance" and len(test.args) == 2:
        return ast.unparse(test.args[1]) == "object"
    return False


def _compares_trivially(left: ast.expr, op: ast.cmpop, right: ast.expr) -> bool:
    is_reflexive = isinstance(op, ast.Eq | ast.Is | ast.GtE | ast.LtE)
    if is_reflexive and ast.unparse(left) == ast.unparse(right):
        return True
    is_length = isinstance(left, ast.Call) and called_name(left) == "len"
    return is_length and isinstance(op, ast.GtE) and _is_constant(right) and not _constant(right)


def called_name(call: ast.Call) -> str:
    """Return the last part of what is called: `raises` for `pytest.raises(...)`."""
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


def with_plain_locals(
    function: ast.FunctionDef | ast.AsyncFunctionDef,
) -> ast.FunctionDef | ast.AsyncFunctionDef:
    """Return a copy in which the names that the body binds are numbered in order of appearance.

    Parameters keep their names: they are fixtures, and renaming one changes what is tested.
    """
    renamed = copy.deepcopy(function)
    names: dict[str, str] = {}
    for node in _in_order(renamed):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.setdefault(node.id, f"local_{len(names)}")
    for node in ast.walk(renamed):
        if isinstance(node, ast.Name) and node.id in names:
            node.id = names[node.id]
    return renamed


def _in_order(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _in_order(child)


def _is_constant(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant)


def _constant(node: ast.expr) -> object:
    return node.value if isinstance(node, ast.Constant) else node


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True

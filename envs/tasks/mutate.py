"""Mutation operators: the small mistakes that break a function, and the repairs that undo them.

Every operator rewrites one segment of the source by its position and leaves all other characters
as they are, so that a repair restores the reference to the letter. The operators are closed under
inverse: what one application breaks, one application of the operator's `inverse` repairs.

    boundary       <  <->  <=      >  <->  >=
    equality       == <->  !=      in <->  not in       is <->  is not
    arithmetic     +  <->  -       *  <->  //           %  <->  /
    constant_up    n   ->  n + 1   (inverse: constant_down)
    constant_down  n   ->  n - 1   (inverse: constant_up)
    logic          and <-> or
    negate         c  <->  not c   as a condition or a returned truth value; True <-> False returned
    extreme        min <-> max, any <-> all, x[0] <-> x[-1], startswith <-> endswith and the like

Left alone on purpose: f-strings (their inner positions are not dependable before Python 3.12),
annotations and decorators, constants written in another way than plain decimal, the sign of a
number (0 never becomes -1), conditions that are constant, and the negation of a lone equality test,
which `equality` already offers.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from ... import safe_ast
from ...errors import ConfigError
from .symptoms import SYMPTOMS, kinds_mentioned, lines_mentioned

__all__ = [
    "OPERATORS",
    "CandidateEdit",
    "Operator",
    "candidate_edits",
    "kinds_mentioned",
    "lines_mentioned",
]

MAX_CONSTANT = 999
"""Largest absolute value that the constant operators touch or produce."""


@dataclass(slots=True, frozen=True)
class Operator:
    """One kind of edit."""

    name: str
    inverse: str
    """Name of the operator that undoes it; the operator itself but for the constants."""

    @property
    def symptoms(self) -> tuple[str, ...]:
        """Wordings of the fault that this operator repairs."""
        return SYMPTOMS[self.name]


OPERATORS: tuple[Operator, ...] = (
    Operator("boundary", "boundary"),
    Operator("equality", "equality"),
    Operator("arithmetic", "arithmetic"),
    Operator("constant_up", "constant_down"),
    Operator("constant_down", "constant_up"),
    Operator("logic", "logic"),
    Operator("negate", "negate"),
    Operator("extreme", "extreme"),
)
INVERSE = {operator.name: operator.inverse for operator in OPERATORS}
_ORDER = {operator.name: index for index, operator in enumerate(OPERATORS)}


@dataclass(slots=True, frozen=True)
class CandidateEdit:
    """One application of an operator to one place of one source text."""

    operator: str
    place: int
    """0-based ordinal among the operator's candidates, by position."""
    line: int
    """1-based line of the segment's first character."""
    column: int
    """0-based column of it, in characters."""
    before: str
    """The segment as it stands."""
    after: str
    """What replaces it."""
    start: int
    """Character offset of the segment in the source."""
    end: int
    """Offset one past its last character."""

    def apply(self, source: str) -> str:
        """Return the source with this one segment replaced.

        Raises:
            ConfigError: the segment does not stand there, so the edit is of another source.
        """
        found = source[self.start : self.end]
        if found != self.before:
            raise ConfigError(
                f"this edit replaces `{self.before}` on line {self.line}, but `{found}` stands "
                "there; apply it to the source it was found in"
            )
        return source[: self.start] + self.after + source[self.end :]


def candidate_edits(source: str, function: str | None = None) -> list[CandidateEdit]:
    """Return every edit that the operators allow, ordered by operator and then by position.

    Args:
        source: text of a module. One that does not parse gives an empty list.
        function: look only inside the definitions of this name, or of the method that a dotted
            name such as `Class.method` names; by default in the whole module.
    """
    return list(_candidates(source, function))


@lru_cache(maxsize=16384)
def _candidates(source: str, function: str | None) -> tuple[CandidateEdit, ...]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an invalid escape is the author's business
            tree = safe_ast.parse(source)
        text = _Text(source)
        sites = {site for root in _roots(tree, function) for site in _sites(root, text)}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    edits: list[CandidateEdit] = []
    places = dict.fromkeys(_ORDER, 0)
    for operator, start, end, after in sorted(sites, key=lambda s: (_ORDER[s[0]], *s[1:])):
        line, column = text.position(start)
        edits.append(
            CandidateEdit(
                operator, places[operator], line, column, source[start:end], after, start, end
            )
        )
        places[operator] += 1
    return tuple(edits)


_Site = tuple[str, int, int, str]
"""Operator, start, end and replacement."""


class _Text:
    """Source text with the way from the parser's positions (UTF-8 columns) to characters."""

    def __init__(self, source: str) -> None:
        self.source = source
        self._starts = [0, *(match.end() for match in re.finditer(r"\r\n|\r|\n", source))]
        self._is_ascii = source.isascii()

    def _offset(self, line: int, column: int) -> int:
        start = self._starts[line - 1]
        if self._is_ascii:
            return start + column
        # A character has at most four bytes, so `column` characters hold at least that many bytes.
        raw = self.source[start : start + column].encode()
        return start + len(raw[:column].decode())

    def start(self, node: ast.expr) -> int:
        return self._offset(node.lineno, node.col_offset)

    def end(self, node: ast.expr) -> int:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self._offset(node.end_lineno, node.end_col_offset)

    def of(self, node: ast.expr) -> str:
        return self.source[self.start(node) : self.end(node)]

    def position(self, offset: int) -> tuple[int, int]:
        line = sum(1 for start in self._starts if start <= offset)
        return line, offset - self._starts[line - 1]

    def between(
        self, left: ast.expr, right: ast.expr, pattern: re.Pattern[str]
    ) -> re.Match[str] | None:
        """Find an operator's token between its operands, past parentheses and comments."""
        begin, end = self.end(left), self.start(right)
        gap = self.source[begin:end]
        if "#" in gap:
            gap = re.sub(r"#[^\r\n]*", lambda comment: " " * len(comment[0]), gap)
            return pattern.search(self.source[:begin] + gap, begin)
        return pattern.search(self.source, begin, end)


def _roots(tree: ast.Module, function: str | None) -> Iterator[ast.AST]:
    if function is None:
        yield tree
        return
    *classes, name = function.split(".")
    scopes: list[ast.AST] = [tree]
    for outer in classes:
        scopes = [
            node
            for scope in scopes
            for node in ast.walk(scope)
            if isinstance(node, ast.ClassDef) and node.name == outer
        ]
    for node in _within(scopes, is_direct=bool(classes)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name:
            yield node


def _within(scopes: list[ast.AST], *, is_direct: bool) -> Iterator[ast.AST]:
    for scope in scopes:
        yield from ast.iter_child_nodes(scope) if is_direct else ast.walk(scope)


_SKIPPED_FIELDS = {"annotation", "returns", "decorator_list", "type_params"}


def _sites(root: ast.AST, text: _Text) -> Iterator[_Site]:
    """Walk the tree and yield every site; the order does not matter."""
    stack = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.JoinedStr):
            continue
        finder = _FINDERS.get(type(node))
        if finder is not None:
            yield from finder(node, text)
        if isinstance(node, ast.UnaryOp) and _is_plain_int(node.operand, text):
            continue  # a signed number was dealt with as a whole
        for name, value in ast.iter_fields(node):
            if name not in _SKIPPED_FIELDS:
                children = value if isinstance(value, list) else [value]
                stack += [child for child in children if isinstance(child, ast.AST)]


_BOUNDARY = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
_EQUALITY = {
    "==": "!=",
    "!=": "==",
    "in": "not in",
    "not in": "in",
    "is": "is not",
    "is not": "is",
}
_ARITHMETIC = {"+": "-", "-": "+", "*": "//", "//": "*", "%": "/", "/": "%"}
_LOGIC = {"and": "or", "or": "and"}
_NAMES = {"min": "max", "max": "min", "any": "all", "all": "any"}
_ATTRIBUTES = {
    "startswith": "endswith",
    "endswith": "startswith",
    "lstrip": "rstrip",
    "rstrip": "lstrip",
    "find": "rfind",
    "rfind": "find",
    "partition": "rpartition",
    "rpartition": "partition",
}

_COMPARISON_TOKEN = re.compile(r"[<>]=?|[=!]=|\bnot in\b|\bin\b|\bis not\b|\bis\b")
_ARITHMETIC_TOKEN = re.compile(r"//|\*\*|[-+*/%]")
_LOGIC_TOKEN = re.compile(r"\b(?:and|or)\b")


def _compare(node: ast.Compare, text: _Text) -> Iterator[_Site]:
    for left, right in zip([node.left, *node.comparators], node.comparators, strict=False):
        match = text.between(left, right, _COMPARISON_TOKEN)
        if match is None:  # a token with unusual spacing, such as "not  in"
            continue
        name = "boundary" if match[0] in _BOUNDARY else "equality"
        yield name, match.start(), match.end(), (_BOUNDARY | _EQUALITY)[match[0]]


def _arithmetic(left: ast.expr, right: ast.expr, text: _Text) -> Iterator[_Site]:
    match = text.between(left, right, _ARITHMETIC_TOKEN)
    if match is not None and match[0] in _ARITHMETIC:
        yield "arithmetic", match.start(), match.end(), _ARITHMETIC[match[0]]


def _bin_op(node: ast.BinOp, text: _Text) -> Iterator[_Site]:
    yield from _arithmetic(node.left, node.right, text)


def _aug_assign(node: ast.AugAssign, text: _Text) -> Iterator[_Site]:
    yield from _arithmetic(node.target, node.value, text)


def _bool_op(node: ast.BoolOp, text: _Text) -> Iterator[_Site]:
    for left, right in zip(node.values, node.values[1:], strict=False):
        match = text.between(left, right, _LOGIC_TOKEN)
        if match is not None:
            yield "logic", match.start(), match.end(), _LOGIC[match[0]]


def _is_plain_int(node: ast.expr, text: _Text) -> bool:
    return (
        isinstance(node, ast.Constant)
        and type(node.value) is int
        and text.of(node) == str(node.value)
    )


def _constant(node: ast.Constant, text: _Text) -> Iterator[_Site]:
    if not _is_plain_int(node, text):
        return
    assert isinstance(node.value, int)
    start, end, value = text.start(node), text.end(node), node.value
    if value < MAX_CONSTANT:
        yield "constant_up", start, end, str(value + 1)
    if 1 <= value <= MAX_CONSTANT:
        yield "constant_down", start, end, str(value - 1)


def _unary_op(node: ast.UnaryOp, text: _Text) -> Iterator[_Site]:
    """Treat `-n` by its value, in its digits alone: up makes -3 a -2, and -1 stays negative."""
    if not isinstance(node.op, ast.USub) or not _is_plain_int(node.operand, text):
        return
    assert isinstance(node.operand, ast.Constant) and isinstance(node.operand.value, int)
    start, end, size = text.start(node.operand), text.end(node.operand), node.operand.value
    if 2 <= size <= MAX_CONSTANT:
        yield "constant_up", start, end, str(size - 1)
    if 1 <= size < MAX_CONSTANT:
        yield "constant_down", start, end, str(size + 1)


# These need parentheses after `not` and also in some places without it: no exact way back.
_NOT_NEGATABLE = (
    *(ast.Constant, ast.JoinedStr, ast.IfExp, ast.Lambda, ast.NamedExpr),
    *(ast.Yield, ast.YieldFrom),
)
_TRUTH_CALLS = {"any", "all", "isinstance", "bool"}


def _negation(test: ast.expr, text: _Text, *, is_returned: bool = False) -> Iterator[_Site]:
    """Put a `not` before a condition, or take it away; each undoes the other to the letter."""
    is_negated = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
    inner = test.operand if isinstance(test, ast.UnaryOp) and is_negated else test
    if not _is_negatable(inner) or (is_returned and not _is_truth_value(inner)):
        return
    plain = text.of(inner)
    negated = f"not ({plain})" if isinstance(inner, ast.BoolOp) else f"not {plain}"
    start, end = text.start(test), text.end(test)
    if not is_negated:
        yield "negate", start, end, negated
    elif text.source[start:end] == negated:
        yield "negate", start, end, plain


def _is_negatable(inner: ast.expr) -> bool:
    if isinstance(inner, ast.Compare):
        # `not a == b` is what `equality` makes of it: not a second way to say the same.
        return len(inner.ops) > 1 or isinstance(inner.ops[0], ast.Lt | ast.LtE | ast.Gt | ast.GtE)
    is_not = isinstance(inner, ast.UnaryOp) and isinstance(inner.op, ast.Not)
    return not isinstance(inner, _NOT_NEGATABLE) and not is_not


def _is_truth_value(inner: ast.expr) -> bool:
    if isinstance(inner, ast.Call):
        return isinstance(inner.func, ast.Name) and inner.func.id in _TRUTH_CALLS
    return isinstance(inner, ast.Compare | ast.BoolOp)


def _condition(node: ast.If | ast.While | ast.IfExp, text: _Text) -> Iterator[_Site]:
    yield from _negation(node.test, text)


def _comprehension(node: ast.comprehension, text: _Text) -> Iterator[_Site]:
    for test in node.ifs:
        yield from _negation(test, text)


def _return(node: ast.Return, text: _Text) -> Iterator[_Site]:
    value = node.value
    if value is None:
        return
    if isinstance(value, ast.Constant) and isinstance(value.value, bool):
        yield "negate", text.start(value), text.end(value), str(not value.value)
    else:
        yield from _negation(value, text, is_returned=True)


def _call(node: ast.Call, text: _Text) -> Iterator[_Site]:
    function = node.func
    if isinstance(function, ast.Name) and function.id in _NAMES:
        yield "extreme", text.start(function), text.end(function), _NAMES[function.id]
    elif isinstance(function, ast.Attribute) and function.attr in _ATTRIBUTES:
        end = text.end(function)
        yield "extreme", end - len(function.attr), end, _ATTRIBUTES[function.attr]


def _subscript(node: ast.Subscript, text: _Text) -> Iterator[_Site]:
    if isinstance(node.slice, ast.Constant | ast.UnaryOp):
        written = text.of(node.slice)
        if written in ("0", "-1"):
            after = "-1" if written == "0" else "0"
            yield "extreme", text.start(node.slice), text.end(node.slice), after


_FINDERS: dict[type[ast.AST], Callable[..., Iterator[_Site]]] = {
    ast.Compare: _compare,
    ast.BinOp: _bin_op,
    ast.AugAssign: _aug_assign,
    ast.BoolOp: _bool_op,
    ast.Constant: _constant,
    ast.UnaryOp: _unary_op,
    ast.If: _condition,
    ast.While: _condition,
    ast.IfExp: _condition,
    ast.comprehension: _comprehension,
    ast.Return: _return,
    ast.Call: _call,
    ast.Subscript: _subscript,
}

"""Source text with the places of its syntax tree: lines and spans to cut out, move and replace.

Everything that is not touched stays as it is, comments and spacing included. What cannot be moved
as whole lines (several statements on one line, strings over several lines) is refused.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence

INDENT = "    "
_HEADER = re.compile(r"^(\s*)(if|elif|while) (.*):\s*$")


class Text:
    """The text of a module and the places of its nodes."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.lines = source.splitlines(keepends=True)

    def of(self, node: ast.AST) -> str:
        """Return the text of an expression or statement, without parentheses around it."""
        return ast.get_source_segment(self.source, node) or ""

    def margin(self, node: ast.stmt) -> str:
        """Return the white space before a statement."""
        return " " * node.col_offset

    def head(self, node: ast.If | ast.While) -> str | None:
        """Return the condition of a header of one line, as written; None if it is not one."""
        match = _HEADER.match(self.lines[node.lineno - 1])
        is_plain = node.test.end_lineno == node.lineno and node.body[0].lineno == node.lineno + 1
        return match[3] if match and is_plain else None

    def with_head(self, node: ast.If | ast.While, condition: str) -> str:
        """Return the header line of a node with another condition."""
        match = _HEADER.match(self.lines[node.lineno - 1])
        assert match, "ask `head` first"
        return f"{match[1]}{match[2]} {condition}:\n"

    def is_movable(self, block: Sequence[ast.stmt]) -> bool:
        """Say whether statements stand on lines of their own and can be indented otherwise."""
        for node in block:
            line, end = self.lines[node.lineno - 1], node.end_lineno or node.lineno
            rest = self.lines[end - 1].encode()[node.end_col_offset or 0 :].decode().strip()
            if line[: node.col_offset].strip() or (rest and not rest.startswith("#")):
                return False
            for one in ast.walk(node):
                is_text = isinstance(one, ast.JoinedStr) or (
                    isinstance(one, ast.Constant) and isinstance(one.value, str | bytes)
                )
                if is_text and one.end_lineno != one.lineno:  # type: ignore[attr-defined]
                    return False
        return True

    def block(self, block: Sequence[ast.stmt], shift: int = 0) -> list[str]:
        """Return the lines of statements, `shift` levels further in (or out, if negative)."""
        return self.between(block[0].lineno, _last(block), shift)

    def between(self, first: int, last: int, shift: int = 0) -> list[str]:
        """Return lines `first` to `last`, 1-based and both included, shifted as in `block`."""
        lines = self.lines[first - 1 : last]
        if shift > 0:
            return [INDENT * shift + line if line.strip() else line for line in lines]
        width = len(INDENT) * -shift
        return [line[width:] if line[:width].isspace() else line for line in lines]

    def with_lines(self, first: int, last: int, new: Iterable[str]) -> str:
        """Return the source with lines `first` to `last` replaced."""
        return "".join([*self.lines[: first - 1], *new, *self.lines[last:]])

    def with_spans(self, changes: Iterable[tuple[ast.expr, str]]) -> str:
        """Return the source with the text of expressions replaced; they must not overlap."""
        lines = [line.encode() for line in self.lines]
        for node, new in sorted(changes, key=_place, reverse=True):
            first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
            tail = lines[last][node.end_col_offset or 0 :]
            lines[first : last + 1] = [lines[first][: node.col_offset] + new.encode() + tail]
        return b"".join(lines).decode()


def _place(change: tuple[ast.expr, str]) -> tuple[int, int]:
    return change[0].lineno, change[0].col_offset


def _last(block: Sequence[ast.stmt]) -> int:
    return max(node.end_lineno or node.lineno for node in block)


def last_line(node: ast.stmt) -> int:
    """Return the last line of a statement, 1-based."""
    return node.end_lineno or node.lineno


_ATOMS = (ast.Name, ast.Constant, ast.Call, ast.Attribute, ast.Subscript, ast.List, ast.Dict)


def in_parens(text: str, node: ast.expr) -> str:
    """Put parentheses around the text of an expression, unless it holds together anyway."""
    return text if isinstance(node, _ATOMS) else f"({text})"


def negated(text: str, node: ast.expr) -> str:
    """Write that a condition does not hold."""
    return f"not {in_parens(text, node)}"

"""The classes and functions of a file, with their signatures.

Python is read with `ast`. A file that does not parse (an agent is in the middle of an edit) is
outlined by the look of its lines; files in other languages have no outline.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from ... import safe_ast

_LOOKS_LIKE = re.compile(r"^([ \t]*)(?:class|(?:async[ \t]+)?def)[ \t]+(\w+)[^\n]*", re.MULTILINE)
_MAX_CHARS = 160

Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(slots=True, frozen=True)
class Symbol:
    """One class, function or method."""

    name: str
    """Qualified inside its file, for example `Stack.push`."""
    signature: str
    """As in the source without decorators and body, on one line, at most 160 characters."""
    line: int
    """1-based line of the first decorator, or of the definition."""
    end_line: int
    """Last line of the body; the line itself where the file does not parse."""
    depth: int
    """0 at the top of the file, 1 in a class."""


@lru_cache(maxsize=1024)
def outline(path: str, text: str) -> tuple[Symbol, ...]:
    """List the classes, functions and methods of a file in the order of their lines.

    What stands inside a function is part of that function.
    """
    if not path.endswith((".py", ".pyi")):
        return ()
    try:
        return tuple(_symbols(safe_ast.parse(text).body))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return tuple(_guess(text))


def _symbols(body: list[ast.stmt], prefix: str = "", depth: int = 0) -> Iterator[Symbol]:
    for node in body:
        if not isinstance(node, Definition):
            continue
        name = f"{prefix}{node.name}"
        yield Symbol(
            name=name,
            signature=_signature(node),
            line=min([node.lineno, *(d.lineno for d in node.decorator_list)]),
            end_line=node.end_lineno or node.lineno,
            depth=depth,
        )
        if isinstance(node, ast.ClassDef):
            yield from _symbols(node.body, f"{name}.", depth + 1)


def _signature(node: Definition) -> str:
    if isinstance(node, ast.ClassDef):
        bases = ", ".join(ast.unparse(base) for base in [*node.bases, *node.keywords])
        return _shorten(f"class {node.name}({bases})" if bases else f"class {node.name}")
    word = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return _shorten(f"{word} {node.name}({ast.unparse(node.args)}){returns}")


def _guess(text: str) -> Iterator[Symbol]:
    for match in _LOOKS_LIKE.finditer(text):
        line = text.count("\n", 0, match.start(2)) + 1
        signature = _shorten(match.group(0).strip().rstrip(":"))
        yield Symbol(match.group(2), signature, line, line, depth=int(bool(match.group(1))))


def _shorten(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _MAX_CHARS else text[: _MAX_CHARS - 3] + "..."

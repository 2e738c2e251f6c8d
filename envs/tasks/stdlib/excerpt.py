"""Cutting out of a module what one call needs, so that an agent can read it in one go.

The excerpt holds the statements and methods that a call can reach, as they stand, comments
included; the module's own docstring gives way to one line. Accelerators written in C are not
imported: the Python version that they would replace stays in force. Reachability goes by name, so
it keeps too much rather than too little, and whoever uses an excerpt compares it with the module.

Not followed: names built at run time, but for `getattr` with a constant string or a constant start
of one (`"visit_" + kind`).
"""

from __future__ import annotations

import ast
import importlib.util
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from .... import safe_ast

MAX_CHARS = 15_800
"""Characters of the longest excerpt; what is longer does not fit into one observation."""

_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(slots=True)
class _Unit:
    """Lines that are kept or dropped together."""

    first: int
    last: int
    binds: set[str]
    uses: set[str]
    starts: set[str]
    """Constant strings that end in `_`: the start of names built at run time."""
    owner: _Unit | None = None
    """The class that a method stands in."""
    name: str = ""
    """Of a method: `Class.method`."""
    is_forced: bool = False
    is_required: bool = False
    """Whether its class cannot do without it."""
    is_reaction: bool = False
    """A statement that binds nothing, kept if all that it uses is."""
    is_kept: bool = field(default=False)

    def wanted_by(self, names: set[str], starts: set[str], own: set[str]) -> bool:
        """Say whether a need for these names is a need for this."""
        if self.is_forced:
            return True
        if self.owner is not None:
            return self.owner.is_kept and (
                self.is_required
                or any(
                    name in names or _is_dunder(name) or any(map(name.startswith, starts))
                    for name in self.binds
                )
            )
        if self.is_reaction:
            return bool(self.uses & own) and self.uses & own <= names
        return bool(self.binds & names)


def cut_excerpt(
    source: str,
    module: str,
    roots: set[str],
    *,
    required: frozenset[str] = frozenset(),
    called: set[str] | None = None,
) -> str:
    """Return the part of a module that these names need.

    Args:
        source: text of the module.
        module: its name; relative imports are made absolute with it.
        roots: names of the module to start from, dotted for methods.
        required: methods (`Class.method`) that their class cannot do without.
        called: the methods (`Class.method`) that are known to be called; others are dropped unless
            they are required, or a root or a statement of their class names them. None: every
            method that may be needed.

    Raises:
        SyntaxError: the source does not parse.
    """
    lines = _plain(source, module).splitlines(keepends=True)
    units = _units("".join(lines))
    for unit in units:
        unit.is_required |= unit.name in required
    if called is not None:
        wanted = called | roots
        units = [u for u in units if not u.name or u.name in wanted or u.is_required]
    names = {part for root in roots for part in root.split(".")}
    starts: set[str] = set()
    own = {name for unit in units if unit.owner is None for name in unit.binds}
    is_growing = True
    while is_growing:
        is_growing = False
        for unit in units:
            if not unit.is_kept and unit.wanted_by(names, starts, own):
                unit.is_kept = is_growing = True
                names |= unit.uses
                starts |= unit.starts
    text = _text(lines, [unit for unit in units if unit.is_kept])
    head = f'"""Part of the module `{module}`."""\n\n'
    if len(head + text) > MAX_CHARS:
        text = _with_short_docstrings(text)
    return head + text


@lru_cache(maxsize=64)
def _plain(source: str, module: str) -> str:
    """Make relative imports absolute and take the accelerators out."""
    lines = source.splitlines(keepends=True)
    tree = safe_ast.parse(source)
    bound = [name for node in tree.body for name in _bound(node)]
    for node in reversed(tree.body):
        if isinstance(node, ast.ImportFrom) and node.level:
            package = module.split(".")[: -node.level]
            name = ".".join([*package, *([node.module] if node.module else [])])
            names = ", ".join(ast.unparse(alias) for alias in node.names)
            lines[node.lineno - 1 : node.end_lineno] = [f"from {name} import {names}\n"]
        elif isinstance(node, ast.Try) and _is_accelerator(node, bound):
            (handler,) = node.handlers
            first, last = handler.body[0].lineno - 1, handler.body[-1].end_lineno
            indent = handler.body[0].col_offset
            is_empty = all(isinstance(each, ast.Pass) for each in handler.body)
            rest = [] if is_empty else [line[indent:] or "\n" for line in lines[first:last]]
            lines[node.lineno - 1 : node.end_lineno] = rest
    return "".join(lines)


def _is_accelerator(node: ast.Try, bound: list[str]) -> bool:
    """Say whether a `try` imports C code that can be done without."""
    imports = [each for each in node.body if isinstance(each, ast.ImportFrom | ast.Import)]
    if len(imports) != len(node.body) or len(node.handlers) != 1 or not imports:
        return False
    handler = node.handlers[0]
    if not (isinstance(handler.type, ast.Name) and handler.type.id == "ImportError"):
        return False
    modules = [
        each.module or "" if isinstance(each, ast.ImportFrom) else each.names[0].name
        for each in imports
    ]
    if not all(map(_is_compiled, modules)):
        return False
    inside = [name for each in imports for name in _bound(each)]
    elsewhere = [name for each in handler.body for name in _bound(each)]
    return all(bound.count(name) > inside.count(name) or name in elsewhere for name in inside)


def _is_compiled(module: str) -> bool:
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return False
    return spec is not None and not str(spec.origin).endswith((".py", ".pyc"))


def _bound(node: ast.stmt) -> Iterator[str]:
    """Names that a statement of a module's top level binds, or writes into."""
    if isinstance(node, _Function | ast.ClassDef):
        yield node.name
        return
    for each in ast.walk(node):
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store | ast.Del):
            yield each.id
        elif isinstance(each, ast.Attribute | ast.Subscript) and isinstance(each.ctx, ast.Store):
            yield from _root(each)
        elif isinstance(each, _Function | ast.ClassDef):
            yield each.name
        elif isinstance(each, ast.alias) and each.name != "*":
            yield (each.asname or each.name).split(".")[0]


def _root(node: ast.expr) -> Iterator[str]:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    if isinstance(node, ast.Name):
        yield node.id


def _units(source: str) -> list[_Unit]:
    units: list[_Unit] = []
    for node in safe_ast.parse(source).body:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue  # the docstring
        if isinstance(node, ast.ClassDef):
            units += _class_units(node)
        elif set(_bound(node)) != {"__all__"} and not _is_main_guard(node):
            unit = _unit(node)
            unit.is_reaction = isinstance(node, ast.Expr)
            unit.is_forced = _binds_unseen(node, unit)
            units.append(unit)
    return units


def _binds_unseen(node: ast.stmt, unit: _Unit) -> bool:
    """Say whether a statement binds names that cannot be read off it, or changes the language."""
    if isinstance(node, ast.ImportFrom):
        return node.module == "__future__" or node.names[0].name == "*"
    return isinstance(node, ast.Expr) and "globals" in unit.uses


def _is_main_guard(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and "__name__" in ast.unparse(node.test)


def _class_units(node: ast.ClassDef) -> list[_Unit]:
    methods = [each for each in node.body if isinstance(each, _Function)]
    rest = [each for each in node.body if not isinstance(each, _Function)]
    first = _first_line(node)
    whole = _Unit(first, _first_line(node.body[0]) - 1, {node.name}, set(), set())
    if node.body[0].lineno == node.lineno:  # class C: pass
        whole.last = node.lineno
    plain = [each for each in rest if _registered(each) is None]
    for part in [*node.bases, *node.keywords, *node.decorator_list, *plain]:
        names, starts = mentioned_names(part)
        whole.uses |= names
        whole.starts |= starts
    units = [whole]
    for each in rest:
        if (entered := _registered(each)) is not None:
            unit = _unit(each)
            unit.owner, unit.name, unit.binds = whole, f"{node.name}.{entered}", {"__body__"}
            units.append(unit)
            continue
        unit = _Unit(_first_line(each), each.end_lineno or each.lineno, set(), set(), set(), whole)
        unit.binds = {"__body__"}  # as a special method is: kept with its class
        units.append(unit)
    for method in methods:
        unit = _unit(method)
        unit.owner, unit.name = whole, f"{node.name}.{method.name}"
        # A decorator of the class, such as `total_ordering`, may ask for special methods.
        is_asked_for = bool(node.decorator_list) and _is_dunder(method.name)
        unit.is_required = is_asked_for or method.name in whole.uses
        if not rest and method is methods[0]:
            unit.binds = unit.binds | {"__body__"}  # so that no class is left empty
            unit.is_required = True
        units.append(unit)
    return units


def _registered(node: ast.stmt) -> str | None:
    """Return the method that a statement such as `_dispatch[list.__repr__] = _list` enters."""
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
        return node.value.id if isinstance(node.value, ast.Name) else None
    return None


def _unit(node: ast.stmt) -> _Unit:
    names, starts = mentioned_names(node)
    return _Unit(
        _first_line(node), node.end_lineno or node.lineno, set(_bound(node)), names, starts
    )


def _first_line(node: ast.stmt) -> int:
    decorators = node.decorator_list if isinstance(node, _Function | ast.ClassDef) else []
    return min([node.lineno, *(each.lineno for each in decorators)])


def mentioned_names(node: ast.AST) -> tuple[set[str], set[str]]:
    """Return every identifier in a piece of code, and every constant start of one."""
    names: set[str] = set()
    starts: set[str] = set()
    for each in ast.walk(node):
        if isinstance(each, ast.Name):
            names.add(each.id)
        elif isinstance(each, ast.Attribute):
            names.add(each.attr)
        elif isinstance(each, ast.Constant) and isinstance(each.value, str):
            if each.value.isidentifier():
                names.add(each.value)
                if each.value.endswith("_") and len(each.value) > 2:
                    starts.add(each.value)
    return names, starts


def _is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _text(lines: list[str], units: list[_Unit]) -> str:
    """Put the kept lines together, with the comments and blank lines that stand before them."""
    kept: set[int] = set()
    for unit in units:
        first = unit.first
        while first > 1 and re.match(r"\s*#", lines[first - 2]):
            first -= 1
        kept.update(range(first, unit.last + 1))
    parts: list[str] = []
    previous = 0
    for number in sorted(kept):
        if number != previous + 1 or not parts:
            blank = 0
            while number - 2 - blank >= 0 and not lines[number - 2 - blank].strip():
                blank += 1
            parts += ["\n"] * (min(blank, 2) if parts else 0)
        parts.append(lines[number - 1])
        previous = number
    return "".join(parts).rstrip() + "\n"


def _with_short_docstrings(text: str) -> str:
    """Cut every docstring down to its first line."""
    lines = text.splitlines(keepends=True)
    for node in sorted(ast.walk(safe_ast.parse(text)), key=lambda n: -getattr(n, "lineno", 0)):
        if isinstance(node, _Function | ast.ClassDef) and ast.get_docstring(node):
            expression = node.body[0]
            first, last = expression.lineno, expression.end_lineno or expression.lineno
            summary = (ast.get_docstring(node) or "").splitlines()[0]
            is_plain = not any(mark in summary for mark in ('"', "\\"))
            if last > first and is_plain:
                indent = " " * expression.col_offset
                lines[first - 1 : last] = [f'{indent}"""{summary}"""\n']
    return "".join(lines)

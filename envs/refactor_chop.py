"""Chopping: the hack that a metric of complexity per function invites, done thoroughly.

Every `if` and every loop that can be moved out whole becomes a function of its own, innermost
first, and so does every condition. Behaviour stays, no function keeps more than a branch or two,
and a reader has to gather the pieces.

`skills.split_into_helpers` moves conditions alone, which lowers a function's complexity by its
`and` and `or` only: the branches still count where they stand.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from functools import lru_cache

from ..reward_models.smells import Function, names_in, parse
from .skills import split_into_helpers


@lru_cache(maxsize=2048)
def chop(source: str) -> str:
    """Return a module with its functions chopped; one that does not parse comes back as it is."""
    if parse(source) is None:
        return source
    tree = ast.parse(source)  # a tree of our own: this one is changed
    chopper = _Chopper({node.name for node in tree.body if isinstance(node, Function)})
    for node in list(tree.body):
        if isinstance(node, ast.FunctionDef):
            chopper.chop(node)
    if not chopper.helpers:
        return split_into_helpers(source)
    tree.body += chopper.helpers
    return split_into_helpers(ast.unparse(ast.fix_missing_locations(tree)) + "\n")


class _Chopper:
    """Moves statements of functions into helpers and keeps these."""

    def __init__(self, taken: Iterable[str]) -> None:
        self.helpers: list[ast.stmt] = []
        self._taken = set(taken)

    def chop(self, function: ast.FunctionDef) -> None:
        """Replace what can be moved out of a function, in place."""
        odd = (ast.Global, ast.Nonlocal, ast.Lambda, ast.FunctionDef, ast.ClassDef)
        if any(isinstance(one, odd) for one in ast.walk(function) if one is not function):
            return
        arguments = [one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)]
        local = {*arguments, *names_in(function, ast.Store)}
        function.body = self._chop_block(function.body, set(arguments), local)

    def _chop_block(
        self, block: Sequence[ast.stmt], bound: set[str], local: set[str]
    ) -> list[ast.stmt]:
        """Chop a block, given the names that have a value when it begins."""
        bound = set(bound)
        done: list[ast.stmt] = []
        for node in block:
            if isinstance(node, ast.If | ast.For | ast.While):
                inside = bound | (
                    set(names_in(node.target, ast.Store)) if isinstance(node, ast.For) else set()
                )
                node.body = self._chop_block(node.body, inside, local)
                if not _is_chain(node):
                    node.orelse = self._chop_block(node.orelse, bound, local)
                done.append(self._moved(node, bound, local))
            else:
                bound |= set(names_in(node, ast.Store))
                done.append(node)
        return done

    def _moved(self, node: ast.stmt, bound: set[str], local: set[str]) -> ast.stmt:
        """Return the call of a helper that does what a statement does, or the statement."""
        stored = set(names_in(node, ast.Store)) - _of_comprehensions(node)
        used = (set(names_in(node, ast.Load)) | stored) & local
        if isinstance(node, ast.For):
            own = set(names_in(node.target, ast.Store)) - bound
            stored, used = stored - own, used - own
        if _jumps_out(node) or not stored <= bound or not used <= bound | _of_comprehensions(node):
            return node
        name = self._new_name()
        given = sorted(used & bound)
        result = ", ".join(sorted(stored))
        call = f"{name}({', '.join(given)})"
        body: list[ast.stmt] = [node, *ast.parse(f"return {result}").body] if result else [node]
        helper = ast.parse(f"def {name}({', '.join(given)}): pass").body[0]
        assert isinstance(helper, ast.FunctionDef)
        if not result:
            body = [node]
        helper.body = body
        self.helpers.append(helper)
        return ast.parse(f"{result} = {call}" if result else call).body[0]

    def _new_name(self) -> str:
        number = len(self.helpers)
        while f"_part_{number}" in self._taken:
            number += 1
        name = f"_part_{number}"
        self._taken.add(name)
        return name


def _is_chain(node: ast.stmt) -> bool:
    """Say whether an `if` goes on with another one, which stays in its place."""
    orelse = getattr(node, "orelse", [])
    return isinstance(node, ast.If) and len(orelse) == 1 and isinstance(orelse[0], ast.If)


def _of_comprehensions(node: ast.stmt) -> set[str]:
    return {
        name
        for one in ast.walk(node)
        if isinstance(one, ast.comprehension)
        for name in names_in(one.target, ast.Store)
    }


def _jumps_out(node: ast.AST, is_in_loop: bool = False) -> bool:
    """Say whether a statement can leave the function, or a loop around it."""
    if isinstance(node, ast.Return | ast.Yield | ast.YieldFrom | ast.Await | ast.NamedExpr):
        return True
    if isinstance(node, ast.Break | ast.Continue):
        return not is_in_loop
    is_loop = isinstance(node, ast.For | ast.While)
    return any(_jumps_out(one, is_in_loop or is_loop) for one in ast.iter_child_nodes(node))

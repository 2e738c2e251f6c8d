"""Run our own functions, broken ones too, in this process and within a budget of steps.

A mutation can turn a loop endless. Before the source is compiled, a counter is put at the head of
every function and every loop body; past the budget it stops the call. The count depends on the code
and its arguments alone, so the verdict is the same on every machine.

Covered: endless loops and recursion in the library's functions and their mutants. Not covered:
anything hostile, and time spent inside one built-in call. Other people's code belongs in a sandbox.
"""

from __future__ import annotations

import ast
import marshal
import warnings
from collections.abc import Callable
from typing import Any

BUDGET = 3000
"""Steps (function calls and loop rounds) that one call may take; the references need under 500."""

_TICK = "_sim2live_tick"


class BudgetSpentError(BaseException):
    """A call has used up its steps. Not an `Exception`, so that code under test cannot catch it."""


def pack(arguments: tuple[Any, ...]) -> bytes:
    """Freeze arguments, so that every call can get a fresh copy."""
    return marshal.dumps(arguments)


def unpack(blob: bytes) -> tuple[Any, ...]:
    """Return a fresh copy of packed arguments."""
    arguments: tuple[Any, ...] = marshal.loads(blob)
    return arguments


class BudgetedFunction:
    """A function of a source text, ready to be called within a budget.

    Args:
        source: text of a module of ours.
        name: the function in it.
        budget: steps for one call.
    """

    def __init__(self, source: str, name: str, budget: int = BUDGET) -> None:
        self.budget = budget
        self.used = 0
        """Steps that the last call took."""
        tree = _Ticker().visit(ast.parse(source))
        namespace: dict[str, Any] = {_TICK: self._tick, "__name__": "library_function"}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a mutant may compare in odd ways
            code = compile(ast.fix_missing_locations(tree), f"<{name}>", "exec")
        exec(code, namespace)
        self._function: Callable[..., Any] = namespace[name]

    def call(self, blob: bytes) -> Any:
        """Call the function with a fresh copy of packed arguments.

        Raises:
            BudgetSpentError: the call ran away.
        """
        self.used = 0
        return self._function(*unpack(blob))

    def is_right(self, blob: bytes, expected: Any) -> bool:
        """Say whether a call gives the expected value, just as an `assert f(...) == ...` would.

        Raises:
            BudgetSpentError: the call ran away.
        """
        try:
            return bool(self.call(blob) == expected)
        except Exception:  # noqa: BLE001 - broken code may raise anything, and that is its answer
            return False

    def _tick(self) -> None:
        self.used += 1
        if self.used > self.budget:
            raise BudgetSpentError


class _Ticker(ast.NodeTransformer):
    """Puts a call of the counter at the head of every function and loop body."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._count(node)

    def visit_For(self, node: ast.For) -> ast.AST:
        return self._count(node)

    def visit_While(self, node: ast.While) -> ast.AST:
        return self._count(node)

    def _count(self, node: ast.FunctionDef | ast.For | ast.While) -> ast.AST:
        self.generic_visit(node)
        tick = ast.Call(func=ast.Name(id=_TICK, ctx=ast.Load()), args=[], keywords=[])
        node.body.insert(0, ast.Expr(value=tick))
        return node

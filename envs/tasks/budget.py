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

TICK = "_sim2live_tick"
"""Name of the counter in the code under test."""
_TICK_CALL = ast.parse(f"{TICK}()").body[0]


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
    """A top-level function of a source text with its imports, ready to be called within a budget.

    Args:
        source: text of a module of ours.
        name: the function in it.
        budget: steps for one call.
    """

    def __init__(self, source: str, name: str, budget: int = BUDGET) -> None:
        self.budget = budget
        self.used = 0
        """Steps that the last call took."""
        tree = ast.parse(source)
        # Its neighbours in the module are whole, and it does not call them.
        tree.body = [node for node in tree.body if _is_needed(node, name)]
        put_ticks(tree)
        namespace: dict[str, Any] = {TICK: self._tick, "__name__": "library_function"}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a mutant may compare in odd ways
            code = compile(tree, f"<{name}>", "exec")
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


def _is_needed(node: ast.stmt, name: str) -> bool:
    if isinstance(node, ast.FunctionDef):
        return node.name == name
    return isinstance(node, ast.Import | ast.ImportFrom)


def put_ticks(tree: ast.Module) -> None:
    """Put a call of the counter, named `TICK`, at the head of every function and loop body."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            # After the docstring, which some code reads.
            node.body.insert(0 if ast.get_docstring(node, clean=False) is None else 1, _TICK_CALL)
        elif isinstance(node, ast.For | ast.While):
            node.body.insert(0, _TICK_CALL)

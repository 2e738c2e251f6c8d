"""Running variants of a module's text in this process, within a budget of steps.

Only the statement that differs from the reference is compiled again. As in `budget`, a counter
stands at the head of every function and loop; and the code finds no `open` and no `input`, so that
a mutant that asks for a file or for the keyboard gets an error. That is care, not protection: these
are modules that this very interpreter came with, with one operator changed.
"""

from __future__ import annotations
import __future__

import builtins
import contextlib
import sys
import warnings
from collections.abc import Callable, Iterable
from types import CodeType, FrameType
from typing import Any

from .... import safe_ast
from ..budget import TICK, BudgetSpentError, put_ticks, unpack
from ..subject import Raised

_FILE = "<excerpt>"
BUDGET = 20_000
"""Steps that one call may take."""


def _refuse(*args: object, **options: object) -> None:
    raise PermissionError("a task's code opens no file and reads no keyboard")


def _print(*args: object, **options: object) -> None:
    """Print nothing."""


_BUILTINS = {**vars(builtins), "open": _refuse, "input": _refuse, "print": _print}


class Program:
    """A module's text, cut into its statements; loads variants of it.

    Args:
        text: the reference.
        module: name that the module has for itself.
        parameters: names in the call that stand for arguments.
        call: an expression over the module's names and the parameters.
    """

    def __init__(self, text: str, module: str, parameters: tuple[str, ...], call: str) -> None:
        self._module = module
        self._lambda = compile(f"lambda {', '.join(parameters)}: {call}", "<call>", "eval")
        self._text = text
        self._pieces = _pieces(text)
        self._flags = __future__.annotations.compiler_flag if "import annotations" in text else 0
        self._compiled = {
            piece: _compile(piece, self._flags) for piece in _split(text, self._pieces)
        }

    def load(self, source: str) -> BudgetedCall:
        """Make a variant, which has the same statements on the same lines, ready to be called."""
        counter = BudgetedCall()
        space: dict[str, Any] = {
            TICK: counter.tick,
            "__name__": self._module,
            "__builtins__": _BUILTINS,
        }
        try:
            for piece in _split(source, self._pieces):
                exec(self._compiled.get(piece) or _compile(piece, self._flags), space)
            counter.function = eval(self._lambda, space)
        except (Exception, SystemExit, BudgetSpentError) as error:  # noqa: BLE001 - what every call then gives
            counter.function = _raiser(error)
        return counter

    def calls(self, inputs: Iterable[bytes]) -> set[str]:
        """Return the qualified names of the functions that the reference calls on some inputs."""
        called: set[str] = set()

        def note(frame: FrameType, event: str, _: object) -> None:
            if event == "call" and frame.f_code.co_filename == _FILE:
                called.add(frame.f_code.co_qualname.replace(".<locals>", ""))

        before = sys.getprofile()
        sys.setprofile(note)
        try:
            call = self.load(self._text)
            for blob in inputs:
                with contextlib.suppress(BudgetSpentError):
                    call.result(blob)
        finally:
            sys.setprofile(before)
        return called


class BudgetedCall:
    """The call, on one variant."""

    def __init__(self) -> None:
        self.function: Callable[..., Any] = _refuse
        self.used = 0
        """Steps that the last call took."""

    def tick(self) -> None:
        """Count a step."""
        self.used += 1
        if self.used > BUDGET:
            raise BudgetSpentError

    def result(self, blob: bytes) -> Any:
        """Call with a fresh copy of packed arguments; an exception gives a `Raised`.

        Raises:
            BudgetSpentError: the call ran away.
        """
        self.used = 0
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return self.function(*unpack(blob))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - raising is an answer
            return Raised(type(error).__name__)

    def is_right(self, blob: bytes, expected: Any) -> bool:
        """Say whether a call gives what is expected, just as the written test would.

        Raises:
            BudgetSpentError: the call ran away.
        """
        value = self.result(blob)
        try:
            return bool(value == expected)
        except Exception:  # noqa: BLE001 - a broken `__eq__` is broken code too
            return False


def _raiser(error: BaseException) -> Callable[..., Any]:
    def function(*args: object) -> None:
        raise error

    return function


def _pieces(text: str) -> list[tuple[int, int]]:
    """Return the lines of each statement, from 0 and end excluded; together they are the text."""
    pieces: list[tuple[int, int]] = []
    end = 0
    for node in safe_ast.parse(text).body:
        decorators = getattr(node, "decorator_list", [])
        first = min([node.lineno, *(each.lineno for each in decorators)])
        start = end
        if pieces and first <= end:  # two statements on one line are one piece
            start = pieces.pop()[0]
        end = node.end_lineno or node.lineno
        pieces.append((start, end))
    return pieces


def _split(text: str, pieces: list[tuple[int, int]]) -> list[str]:
    lines = text.splitlines(keepends=True)
    return ["".join(lines[first:last]) for first, last in pieces]


def _compile(piece: str, flags: int) -> CodeType:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a mutant may compare in odd ways
        tree = safe_ast.parse(piece)
        put_ticks(tree)
        code: CodeType = compile(tree, _FILE, "exec", flags=flags, dont_inherit=True)
        return code

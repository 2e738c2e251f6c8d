"""The process of the code under test: it imports the modules of the work area and does as asked.

It knows no test. Whoever runs here may change everything in it; the tests, in another process,
believe it nothing but that its answers are its answers. Standard library only.
"""

from __future__ import annotations

import builtins
import copy
import importlib
import math
import operator
import traceback
from _thread import get_ident
from collections.abc import Callable
from socket import socket
from typing import Any

from .link import Link, LinkLost
from .passing import Passing, is_shared, numbered, read_number
from .plain import PlainError, Reader, Writer

IMPORT, GET, SET, DELETE, CALL, CALL_AND_RESTORE, OPERATE = range(7)
"""What the tests may ask for."""

MUTABLE = ("list", "dict", "set", "bytearray", "deque", "Counter", "OrderedDict", "defaultdict")
"""Names of the plain types of arguments that a call may change."""

_BUILTINS = (
    "abs aiter anext ascii bool bytes complex delattr dict dir divmod float format getattr hasattr "
    "hash int isinstance issubclass iter len list next pow repr reversed round setattr str vars"
).split()


class CodeUnderTest(Passing):
    """Carries out what the tests ask for.

    Args:
        socket: connected to the tests.
        import_module: imports a module by its full name.
        flush: writes out what has been printed.
    """

    def __init__(
        self,
        socket: socket,
        import_module: Callable[[str], Any] = importlib.import_module,
        flush: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__()
        self.link = Link(socket, self._handle)
        self._import_module = import_module
        self._flush = flush
        self._thread = get_ident()
        self._functions: dict[int, tuple[Callable[..., Any], int]] = {}
        """By `id`: functions of this side that call one of the tests', and that one's number."""
        self._of_tests: dict[int, Callable[..., Any]] = {}
        self._operations = _operations()
        self._do: tuple[Callable[..., Any], ...] = (
            *(self._import, getattr, setattr, delattr),
            *(self._call, self._call_and_restore, self._operate),
        )
        self.resolvers |= {
            ord("R"): lambda reader: self.own[read_number(reader)],
            ord("K"): self._read_function,
            ord("G"): self._read_library,
        }

    def serve(self) -> None:
        """Serve until the tests have ended."""
        try:
            self.link.serve()
        except LinkLost:
            return

    def _handle(self, request: bytes) -> tuple[bool, bytes]:
        try:
            try:
                what, *rest = self.decode(request)
                return True, self.encode(self._do[what](*rest))
            except LinkLost:
                raise
            except BaseException as error:  # noqa: BLE001 - whatever it is, the tests get it
                return False, self._encode_error(error)
            finally:
                self._flush()
        except LinkLost:
            raise
        except BaseException as worse:  # noqa: BLE001 - what was raised cannot even be described
            plain = RuntimeError(f"{type(worse).__name__} while an answer was written")
            return False, self.encode(plain)

    def _encode_error(self, error: BaseException) -> bytes:
        if isinstance(error, PlainError):  # a value that cannot be sent is the code's own fault
            error = TypeError(f"the code under test answered {error}")
        return self.encode(error)

    def _import(self, name: str) -> tuple[int, bool, list[str]]:
        """Import a module; return its number, if it is a package, and its public names."""
        try:
            module = self._import_module(name)
        except Exception as error:
            if not (isinstance(error, ModuleNotFoundError) and error.name == name):
                traceback.print_exception(error)
            raise
        names = getattr(module, "__all__", None)
        if names is None:
            names = [name for name in vars(module) if not name.startswith("_")]
        return self.number(module), hasattr(module, "__path__"), [str(name) for name in names]

    @staticmethod
    def _call(function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        return function(*args, **options)

    def _call_and_restore(
        self, function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]
    ) -> tuple[bool, Any, list[Any]]:
        """Call, and return what became of the arguments that can be changed; None if nothing."""
        given = [arg for arg in (*args, *options.values()) if type(arg).__name__ in MUTABLE]
        before = [self.encode(arg) for arg in given]
        try:
            is_value, outcome = True, function(*args, **options)
        except LinkLost:
            raise
        except BaseException as error:  # noqa: BLE001 - the tests get it
            is_value, outcome = False, error
        after = [
            None if self.encode(arg) == data else arg
            for arg, data in zip(given, before, strict=True)
        ]
        return is_value, outcome, after

    def _operate(self, name: str, *args: Any) -> Any:
        return self._operations[name](*args)

    def write_object(self, writer: Writer, value: Any) -> None:
        """Write an object of this side as a number, and a named tuple with its fields."""
        known = self._functions.get(id(value))
        if known is not None:
            writer.parts.append(numbered(b"K", known[1]))
            return
        fields = _named_fields(value)
        if fields is None:
            writer.parts.append(numbered(b"R", self.number(value)))
        else:
            writer.parts.append(numbered(b"M", self.number(value)))
            writer.write_many(b"(", fields, len(fields))
            writer.write_many(b"(", tuple.__iter__(value), len(fields))

    def number_of_error(self, error: BaseException) -> int | None:
        """Let the tests ask about what is not of a class that they have themselves."""
        return None if is_shared(type(error)) else self.number(error)

    def make_stand_in(
        self, number: int, name: str, bases: tuple[type[BaseException], ...]
    ) -> type[BaseException]:
        """Make a class that stands for a class of exceptions which the tests have defined."""
        return type(name, bases, {"__module__": "tests"})

    def _read_function(self, reader: Reader) -> Callable[..., Any]:
        """Return a function that calls the one of the tests with this number."""
        number = read_number(reader)
        name = reader.text()
        if number not in self._of_tests:

            def function_of_tests(*args: Any, **options: Any) -> Any:
                return self._call_back(number, args, options)

            function_of_tests.__name__ = function_of_tests.__qualname__ = name
            self._of_tests[number] = function_of_tests
            self._functions[id(function_of_tests)] = (function_of_tests, number)
        return self._of_tests[number]

    def _call_back(self, number: int, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        if get_ident() != self._thread:
            raise RuntimeError("a function of the tests can be called by the first thread only")
        is_value, answer = self.link.ask(self.encode((number, args, options)))
        outcome = self.decode(answer)
        if is_value:
            return outcome
        raise outcome

    @staticmethod
    def _read_library(reader: Reader) -> Any:
        module, name = reader.text(), reader.text()
        return getattr(importlib.import_module(module), name)


def serve(socket: socket, flush: Callable[[], None]) -> None:
    """Be the code under test until the tests have ended."""
    CodeUnderTest(socket, flush=flush).serve()


def _named_fields(value: Any) -> tuple[str, ...] | None:
    """Return the names of the fields of a named tuple; None if it is none."""
    kind = type(value)
    if not issubclass(kind, tuple):
        return None
    fields = getattr(kind, "_fields", None)
    if type(fields) is not tuple or len(fields) != tuple.__len__(value):
        return None
    return fields if all(type(name) is str for name in fields) else None


def _operations() -> dict[str, Callable[..., Any]]:
    """Return the functions that the tests may apply to objects, by name."""
    found: dict[str, Callable[..., Any]] = {
        name: getattr(operator, name) for name in operator.__all__
    }
    found |= {name: getattr(builtins, name) for name in _BUILTINS}
    found |= {name: getattr(math, name) for name in ("ceil", "floor", "trunc")}
    return found | {
        "copy": copy.copy,
        "deepcopy": copy.deepcopy,
        "enter": lambda manager: type(manager).__enter__(manager),
        "exit": _exit,
    }


def _exit(manager: Any, error: BaseException | None) -> Any:
    kind = None if error is None else type(error)
    return type(manager).__exit__(manager, kind, error, None)

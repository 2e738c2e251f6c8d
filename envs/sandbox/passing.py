"""What both ends do alike with values that are not plain: own objects, classes and exceptions.

Each side numbers the objects that it lets the other refer to, and keeps them. An exception passes
as its class and its arguments. A class of exceptions that both sides have (the builtin ones, those
of modules of the standard library that both have loaded) passes by name; of any other one the other
side makes a stand-in, with the same bases as far as they are exceptions. Runs in the sandbox:
standard library only.
"""

from __future__ import annotations

import builtins
import struct
import sys
from collections.abc import Callable
from typing import Any

from .plain import PlainError, Reader, Writer

_NUMBER = struct.Struct("!I")
_MAX_NAME_CHARS = 200
_MAX_BASES = 20
_MAX_CAUSES = 8

BUILTIN_ERRORS: dict[str, type[BaseException]] = {
    name: kind
    for name, kind in vars(builtins).items()
    if isinstance(kind, type) and issubclass(kind, BaseException) and kind.__name__ == name
}
_BUILTIN_NAMES = {kind: name for name, kind in BUILTIN_ERRORS.items()}


def numbered(tag: bytes, number: int) -> bytes:
    """Return a tag and a number as bytes."""
    return tag + _NUMBER.pack(number)


def read_number(reader: Reader) -> int:
    """Return what `numbered` has written after its tag."""
    reader.place += 4
    return int(_NUMBER.unpack_from(reader.data, reader.place - 4)[0])


def is_error(value: object) -> bool:
    """Say whether a value is an exception, whatever it says of its own class."""
    return issubclass(type(value), BaseException)


def is_error_class(value: object) -> bool:
    """Say whether a value is a class of exceptions."""
    return issubclass(type(value), type) and type.__subclasscheck__(BaseException, value)  # type: ignore[arg-type]


class Passing:
    """One side's objects and what it knows of the other's.

    Subclasses say how objects of either side are written and read.
    """

    def __init__(self) -> None:
        self.own: list[Any] = []
        self._own_numbers: dict[int, int] = {}
        self._stand_ins: dict[int, type[BaseException]] = {}
        self._stand_in_numbers: dict[type[BaseException], int] = {}
        self._absent: dict[tuple[str, str], type[BaseException]] = {}
        self._absent_names: dict[type[BaseException], tuple[str, str]] = {}
        self.resolvers: dict[int, Callable[[Reader], Any]] = {
            ord("E"): self._read_error,
            ord("P"): self._read_own_class,
            ord("X"): self._read_class,
            ord("m"): self._read_library_class,
            ord("x"): lambda reader: BUILTIN_ERRORS[reader.text()],
        }

    def encode(self, value: Any) -> bytes:
        """Return a value as bytes.

        Raises:
            PlainError: it is too large or too deep.
            TypeError: it is something that cannot be handed to the other side.
        """
        writer = Writer(self.refer)
        writer.write(value)
        return writer.finish()

    def decode(self, data: bytes) -> Any:
        """Return the value that bytes are (PlainError if they are none)."""
        return Reader(data, self.resolvers).read_all()

    def number(self, value: Any) -> int:
        """Return the number of an own object, which is kept from now on."""
        found = self._own_numbers.get(id(value))
        if found is None:
            found = self._own_numbers[id(value)] = len(self.own)
            self.own.append(value)
        return found

    def refer(self, writer: Writer, value: Any) -> None:
        """Write a value that is not plain."""
        if is_error(value):
            self._write_error(writer, value)
        elif is_error_class(value):
            self._write_class(writer, value)
        else:
            self.write_object(writer, value)

    def write_object(self, writer: Writer, value: Any) -> None:
        """Write a value that is neither plain nor an exception nor a class of such."""
        raise NotImplementedError

    def make_stand_in(
        self, number: int, name: str, bases: tuple[type[BaseException], ...]
    ) -> type[BaseException]:
        """Make a class that stands for a class of exceptions of the other side."""
        raise NotImplementedError

    def make_error(
        self, kind: type[BaseException], arguments: tuple[Any, ...], number: int | None
    ) -> BaseException:
        """Make an exception that the other side has described."""
        try:
            if kind in _BUILTIN_NAMES:
                return kind(*arguments)
            error = kind.__new__(kind, *arguments)
        except Exception:  # noqa: BLE001 - arguments that this class does not take
            error = Exception(f"{kind.__name__} that cannot be made of its arguments")
        error.args = arguments
        return error

    def number_of_error(self, error: BaseException) -> int | None:
        """Return by which number the other side may ask about an exception, if it may."""
        del error
        return None

    def _write_error(self, writer: Writer, error: BaseException) -> None:
        number = self.number_of_error(error)
        try:
            inside = self._write_apart(writer, _fields(error))
        except (PlainError, TypeError):  # arguments that cannot be sent
            inside = self._write_apart(writer, ((_text(error),), {}))
        cause = error.__cause__ if writer.depth < _MAX_CAUSES else None
        writer.write_many(b"E", (type(error), number, cause), 3)
        writer.parts += inside

    def _write_apart(self, writer: Writer, value: Any) -> list[bytes]:
        """Return what a writer would append for a value, without appending it."""
        apart = Writer(self.refer)
        apart.depth, apart.nodes = writer.depth + 1, writer.nodes
        apart.write(value)
        writer.nodes = apart.nodes
        return apart.parts

    def _read_error(self, reader: Reader) -> BaseException:
        kind, number, cause = reader.many()
        arguments, attributes = reader.read()
        if not is_error_class(kind) or type(arguments) is not tuple or type(attributes) is not dict:
            raise PlainError("an exception that is none")
        if number is not None and (type(number) is not int or not 0 <= number < 1 << 32):
            raise PlainError("an exception without a number")
        error = self.make_error(kind, arguments, number)
        if isinstance(error, ImportError):
            error.name, error.path = attributes.pop("name", None), attributes.pop("path", None)
        # Methods are looked up in the class, so this replaces none.
        if is_shared(type(error)) or type(error) in self._absent_names:
            error.__dict__.update({k: v for k, v in attributes.items() if type(k) is str})
        if is_error(cause):
            error.__cause__ = cause
        return error

    def _write_class(self, writer: Writer, kind: type[BaseException]) -> None:
        name = _BUILTIN_NAMES.get(kind)
        if name is not None:
            writer.parts.append(b"x")
            _write_text(writer, name)
        elif kind in self._stand_in_numbers:
            writer.parts.append(numbered(b"P", self._stand_in_numbers[kind]))
        elif library := self._absent_names.get(kind) or _library_name(kind):
            writer.parts.append(b"m")
            bases = _error_bases(kind)
            writer.write_many(b"(", (*library, *bases), 2 + len(bases))
        else:
            bases = _error_bases(kind)
            writer.parts.append(numbered(b"X", self.number(kind)))
            writer.write_many(b"(", (str(kind.__name__), *bases), 1 + len(bases))

    def _read_class(self, reader: Reader) -> type[BaseException]:
        number = read_number(reader)
        described = reader.read()
        if type(described) is not tuple or not 2 <= len(described) <= _MAX_BASES:
            raise PlainError("a class that is none")
        name, *bases = described
        if type(name) is not str or not all(is_error_class(base) for base in bases):
            raise PlainError("a class of exceptions that is none")
        known = self._stand_ins.get(number)
        if known is None:
            known = self.make_stand_in(number, _plain_name(name), tuple(dict.fromkeys(bases)))
            self._stand_ins[number] = known
            self._stand_in_numbers[known] = number
        return known

    def _read_own_class(self, reader: Reader) -> Any:
        """Read a class of this side, of which the other one has a stand-in."""
        kind = self.own[read_number(reader)]
        if not is_error_class(kind):
            raise PlainError("a class of exceptions that is none")
        return kind

    def _read_library_class(self, reader: Reader) -> type[BaseException]:
        described = reader.read()
        if type(described) is not tuple or not 3 <= len(described) <= _MAX_BASES:
            raise PlainError("a class that is none")
        module, name, *bases = described
        if type(module) is not str or type(name) is not str or not all(map(is_error_class, bases)):
            raise PlainError("a class of exceptions that is none")
        kind = _library_class(module, name) or self._absent.get((module, name))
        if kind is None:
            # A module that this side has not loaded: its code is not run for the other side's sake.
            space = {"__module__": _plain_name(module)}
            kind = make_class(type, _plain_name(name), tuple(dict.fromkeys(bases)), space)
            self._absent[module, name] = kind
            self._absent_names[kind] = module, name
        return kind


def make_class(
    meta: type, name: str, bases: tuple[type[BaseException], ...], space: dict[str, Any]
) -> type[BaseException]:
    """Make a class with these bases, or with those of them that go together."""
    for chosen in (bases, bases[:1], (Exception,)):
        try:
            made: type[BaseException] = meta(name, chosen, dict(space))
            return made
        except TypeError:
            continue  # their layouts or orders do not fit
    raise PlainError(f"no class `{name}` can be made")


def _error_bases(kind: type[BaseException]) -> list[type[BaseException]]:
    return [base for base in kind.__bases__ if is_error_class(base)]


def is_shared(kind: type) -> bool:
    """Say whether both sides have this class."""
    return kind in _BUILTIN_NAMES or _library_name(kind) is not None


def _fields(error: BaseException) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of an exception, and what else it holds if both sides have its class."""
    if not is_shared(type(error)):
        return error.args, {}
    fields = dict(vars(error))  # such as `pos` of a JSONDecodeError
    if isinstance(error, ImportError):
        fields |= {"name": error.name, "path": error.path}
    if isinstance(error, OSError) and error.filename is not None:
        return (*error.args, error.filename), fields
    return error.args, fields


def _plain_name(name: str) -> str:
    return "".join(c for c in name[:_MAX_NAME_CHARS] if c.isprintable()) or "Error"


def _library_name(kind: type) -> tuple[str, str] | None:
    module, name = kind.__module__, kind.__qualname__
    if type(module) is not str or type(name) is not str:
        return None
    return (module, name) if _library_class(module, name) is kind else None


def _library_class(module: str, name: str) -> type[BaseException] | None:
    if module.partition(".")[0] not in sys.stdlib_module_names or module not in sys.modules:
        return None
    found = vars(sys.modules[module]).get(name)
    return found if is_error_class(found) else None


def _write_text(writer: Writer, text: str) -> None:
    data = text.encode("utf-8", "surrogatepass")
    writer.parts.append(_NUMBER.pack(len(data)) + data)


def _text(error: BaseException) -> str:
    try:
        return str(str(error))
    except BaseException as worse:  # noqa: BLE001 - a hostile __str__
        return f"(its text raised {type(worse).__name__})"

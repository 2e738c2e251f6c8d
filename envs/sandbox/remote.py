"""What the tests hold of the code under test: modules, objects and classes of another process.

Every operation on them is a request to that process; what is plain comes back by value (`plain`).
An object answers for itself as objects do, and may lie about itself. So what a test compares it
with never reaches it through an operator: `==`, `!=`, `<` and the like, `in`, and with numbers `-`,
`/`, `//`, `%` and `divmod` are decided here, where an object of another process equals no plain
value, or refused (TypeError). Two such objects are compared by their own process.

Runs in the sandbox: standard library only.
"""

from __future__ import annotations

import decimal
import fractions
import sys
import types
import weakref
from collections.abc import Callable, Iterator, Sequence
from importlib.machinery import ModuleSpec
from socket import socket
from typing import Any

from . import under_test
from .link import Link, LinkLost
from .passing import Passing, is_error, make_class, numbered, read_number
from .plain import PlainError, Reader, Writer

_MAX_FIELDS = 1000
_NUMBERS = (int, float, complex, decimal.Decimal, fractions.Fraction)
_MUTABLE = frozenset(under_test.MUTABLE)
_LOCAL = frozenset(
    "__name__ __loader__ __package__ __spec__ __path__ __file__ __cached__ __doc__".split()
)


class SideOfTests(Passing):
    """The side of the tests.

    Args:
        socket: connected to the code under test.
    """

    def __init__(self, socket: socket) -> None:
        super().__init__()
        self.link = Link(socket, self._handle)
        self._remotes: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
        self._functions: list[Callable[..., Any]] = []
        self._function_numbers: dict[int, int] = {}
        self._modules: dict[int, RemoteModule] = {}
        self.resolvers |= {
            ord("R"): self._read_remote,
            ord("K"): lambda reader: self._functions[read_number(reader)],
            ord("M"): self._read_record,
        }

    def ask(self, what: int, *rest: Any) -> Any:
        """Have the code under test do something, and return or raise what it answers.

        Raises:
            LinkLost: it has ended.
            TypeError: an argument cannot be handed to it.
            BaseException: what it raised.
        """
        try:
            request = self.encode((what, *rest))
        except PlainError as error:
            raise TypeError(f"the test hands over {error}") from None
        is_value, answer = self.link.ask(request)
        try:
            outcome = self.decode(answer)
        except PlainError as error:
            raise TypeError(f"the code under test answered {error}") from None
        if is_value:
            return outcome
        raise _raisable(outcome)

    def call(self, target: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """Call something, and do to the lists, dicts and sets of the tests what the call did."""
        given = [arg for arg in (*args, *options.values()) if type(arg).__name__ in _MUTABLE]
        if not given:
            return self.ask(under_test.CALL, target, args, options)
        answer = self.ask(under_test.CALL_AND_RESTORE, target, args, options)
        if type(answer) is not tuple or len(answer) != 3 or type(answer[2]) is not list:
            raise TypeError("the code under test gave an answer that is none")
        is_value, outcome, after = answer
        for arg, changed in zip(given, after, strict=False):
            if type(changed) is type(arg):
                _restore(arg, changed)
        if is_value is True:
            return outcome
        raise _raisable(outcome)

    def operate(self, name: str, *args: Any) -> Any:
        """Apply a function of Python's to objects of the code under test."""
        return self.ask(under_test.OPERATE, name, *args)

    def refer(self, writer: Writer, value: Any) -> None:
        """Write a value that is not plain; an exception of the other side's as what it is there."""
        if is_error(value) and (number := vars(value).get("_error_number")) is not None:
            writer.parts.append(numbered(b"R", number))
        else:
            super().refer(writer, value)

    def write_object(self, writer: Writer, value: Any) -> None:
        """Write an object of the code under test, a function of the tests or of the library."""
        kind = type(value)
        if kind in (Remote, RemoteModule, Record):
            writer.parts.append(numbered(b"R", _number(value)))
        elif library := _library_function(value):
            writer.parts.append(b"G")
            for text in library:
                data = text.encode()
                writer.parts.append(len(data).to_bytes(4, "big") + data)
        elif callable(value) and not isinstance(value, type):
            name = getattr(value, "__name__", kind.__name__).encode("utf-8", "replace")
            writer.parts.append(numbered(b"K", self._function_number(value)))
            writer.parts.append(len(name).to_bytes(4, "big") + name)
        else:
            raise TypeError(
                f"the test hands over an object of {kind.__name__}; the code under test can be "
                "given plain values, functions and what it has made itself"
            )

    def make_stand_in(
        self, number: int, name: str, bases: tuple[type[BaseException], ...]
    ) -> type[BaseException]:
        """Make a class that stands for a class of exceptions of the code under test."""
        space = {"__module__": "under_test", "_tests": self, "_number": number, **_STAND_IN}
        return make_class(StandIn, name, bases, space)

    def make_error(
        self, kind: type[BaseException], arguments: tuple[Any, ...], number: int | None
    ) -> BaseException:
        """Make an exception of the code under test, without running anything of its class."""
        if type(kind) is StandIn and "_tests" in vars(kind) and number is not None:
            try:
                error = kind.__new__(kind, *arguments)
            except Exception:  # noqa: BLE001 - a base that takes other arguments
                error = kind.__new__(kind)
            error.args = arguments
            vars(error)["_error_number"] = number
            return error
        return super().make_error(kind, arguments, number)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: Any = None
    ) -> ModuleSpec:
        """Take every module that nobody else has for one of the work area (see `sys.meta_path`)."""
        del path, target
        return ModuleSpec(name, self)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> RemoteModule:
        """Have the code under test import it."""
        answer = self.ask(under_test.IMPORT, spec.name)
        if type(answer) is not tuple or len(answer) != 3:
            raise TypeError("the code under test gave a module that is none")
        number, is_package, names = answer
        if type(number) is not int or type(names) is not list or not 0 <= number < 1 << 32:
            raise TypeError("the code under test gave a module that is none")
        module = RemoteModule(spec.name)
        vars(module).update(_tests=self, _number=number)
        vars(module)["_names"] = [name for name in names if type(name) is str]
        if is_package is True:
            spec.submodule_search_locations = []
        self._modules[number] = module
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        """Do nothing: its code runs elsewhere."""

    def _handle(self, request: bytes) -> tuple[bool, bytes]:
        """Call a function that the tests have handed over; nothing else can be asked for."""
        try:
            try:
                answer = self.decode(request)
                if type(answer) is not tuple or len(answer) != 3:
                    raise PlainError("a request that is none")
                number, args, options = answer
                if type(number) is not int or type(args) is not tuple or type(options) is not dict:
                    raise PlainError("a request that is none")
                if not 0 <= number < len(self._functions):
                    raise PlainError("a request for a function that was never handed over")
                return True, self.encode(self._functions[number](*args, **options))
            except LinkLost:
                raise
            except PlainError as error:
                return False, self.encode(TypeError(str(error)))
            except BaseException as error:  # noqa: BLE001 - the code that called gets it
                return False, self.encode(error)
        except (PlainError, TypeError) as error:
            return False, self.encode(RuntimeError(str(error)))

    def _function_number(self, function: Callable[..., Any]) -> int:
        found = self._function_numbers.get(id(function))
        if found is None:
            found = self._function_numbers[id(function)] = len(self._functions)
            self._functions.append(function)
        return found

    def _read_remote(self, reader: Reader) -> Any:
        number = read_number(reader)
        known = self._modules.get(number) or self._remotes.get(number)
        if known is None:
            known = _make_remote(Remote, self, number)
            self._remotes[number] = known
        return known

    def _read_record(self, reader: Reader) -> Record:
        number, fields, values = read_number(reader), reader.read(), reader.read()
        if type(fields) is not tuple or type(values) is not tuple or len(fields) > _MAX_FIELDS:
            raise PlainError("a named tuple that is none")
        if len(fields) != len(values) or not all(type(name) is str for name in fields):
            raise PlainError("a named tuple that is none")
        record = Record(values)
        vars(record).update(_tests=self, _number=number, _fields=fields)
        return record


def _raisable(outcome: Any) -> BaseException:
    return outcome if is_error(outcome) else TypeError("the code under test raised no exception")


def _restore(old: Any, new: Any) -> None:
    """Give a container of the tests the content of another of the same plain type."""
    if type(old) in (list, bytearray):
        old[:] = new
    else:
        old.clear()
        if hasattr(old, "extend"):
            old.extend(new)  # a deque
        elif isinstance(old, set):
            old.update(new)
        else:
            dict.update(old, new) if type(old) is not _ordered else old.update(new)


_ordered = sys.modules["collections"].OrderedDict


def _library_function(value: Any) -> tuple[str, str] | None:
    """Return module and name of a function or type of the standard library, which both have."""
    if type(value) not in (types.FunctionType, types.BuiltinFunctionType, type):
        return None
    module, name = getattr(value, "__module__", None), value.__qualname__
    if type(module) is not str or module.partition(".")[0] not in sys.stdlib_module_names:
        return None
    found = vars(sys.modules[module]).get(name) if module in sys.modules else None
    return (module, name) if found is value else None


class RemoteModule(types.ModuleType):
    """A module of the work area, which lives in the process of the code under test."""

    _tests: SideOfTests
    _number: int
    _names: list[str]

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            return self._names
        if name in _LOCAL:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return self._tests.ask(under_test.GET, self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _LOCAL or type(value) is RemoteModule:
            vars(self)[name] = value
        else:
            self._tests.ask(under_test.SET, self, name, value)

    def __delattr__(self, name: str) -> None:
        self._tests.ask(under_test.DELETE, self, name)

    def __dir__(self) -> list[str]:
        return [str(name) for name in self._tests.operate("dir", self)]


class Record(tuple[Any, ...]):
    """A named tuple of the code under test: a tuple here, with its fields and methods."""

    _tests: SideOfTests
    _number: int
    _fields: tuple[str, ...]

    def __getattr__(self, name: str) -> Any:
        if name in self._fields:
            return self[self._fields.index(name)]
        return self._tests.ask(under_test.GET, self, name)

    def __reduce__(self) -> Any:
        return tuple, (tuple(self),)


class StandIn(type):
    """The class of classes that stand for the exceptions of the code under test."""

    def __call__(cls, *args: Any, **options: Any) -> Any:
        """Have the code under test make one."""
        if "_tests" not in vars(cls):  # a class that the tests derived from one
            return super().__call__(*args, **options)
        return vars(cls)["_tests"].call(cls, args, options)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("_") or "_tests" not in vars(cls):
            raise AttributeError(name)
        return vars(cls)["_tests"].ask(under_test.GET, cls, name)


def _error_attribute(error: Any, name: str) -> Any:
    number = vars(error).get("_error_number")
    if number is None or name.startswith("__"):
        raise AttributeError(name)
    return error._tests.ask(under_test.GET, _make_remote(Remote, error._tests, number), name)


def _error_text(error: Any) -> str:
    number = vars(error).get("_error_number")
    if number is None:
        return BaseException.__str__(error)
    text = error._tests.operate("str", _make_remote(Remote, error._tests, number))
    return text if type(text) is str else BaseException.__str__(error)


_STAND_IN: dict[str, Any] = {"__getattr__": _error_attribute, "__str__": _error_text}


class Remote:
    """An object of the code under test."""

    __slots__ = ("__weakref__", "_number_of_object", "_tests_of_object")

    def __getattr__(self, name: str) -> Any:
        return _tests(self).ask(under_test.GET, self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        _tests(self).ask(under_test.SET, self, name, value)

    def __delattr__(self, name: str) -> None:
        _tests(self).ask(under_test.DELETE, self, name)

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Call it where it is."""
        return _tests(self).call(self, args, options)

    def __eq__(self, other: object) -> Any:
        if type(other) in _FROM_CODE:
            return _tests(self).operate("eq", self, other)
        return NotImplemented

    def __ne__(self, other: object) -> Any:
        if type(other) in _FROM_CODE:
            return _tests(self).operate("ne", self, other)
        return NotImplemented

    def __hash__(self) -> int:
        return int(_expect(int, _tests(self).operate("hash", self)))

    def __contains__(self, item: object) -> bool:
        if type(item) in _FROM_CODE:
            return bool(_tests(self).operate("contains", self, item))
        return any(item is found or item == found for found in self)

    def __iter__(self) -> Iterator[Any]:
        iterator: Any = _tests(self).operate("iter", self)
        if type(iterator) is not Remote:  # a plain value has no `__next__`
            raise TypeError("the code under test answered an iterator that is none")
        return iterator

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> Any:
        return _tests(self).operate("exit", self, error)

    def __instancecheck__(self, instance: object) -> bool:
        if type(instance) not in _FROM_CODE:
            return False
        return _tests(self).operate("isinstance", instance, self) is True

    def __subclasscheck__(self, kind: object) -> bool:
        if type(kind) not in _FROM_CODE:
            return False
        return _tests(self).operate("issubclass", kind, self) is True

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        raise TypeError("a test cannot derive from a class of the code under test: it is not here")

    def __round__(self, digits: int | None = None) -> Any:
        return _tests(self).operate("round", self, digits)

    def __deepcopy__(self, memo: object) -> Any:
        return _tests(self).operate("deepcopy", self)

    def __reduce_ex__(self, protocol: object) -> Any:
        raise TypeError("an object of the code under test cannot be pickled by a test")

    def __pow__(self, other: Any, modulus: Any = None) -> Any:
        if modulus is None:
            return _tests(self).operate("pow", self, other)
        return _tests(self).operate("pow", self, other, modulus)


_tests_of: Any = Remote.__dict__["_tests_of_object"]
_number_of: Any = Remote.__dict__["_number_of_object"]


def _tests(remote: Remote) -> SideOfTests:
    tests: SideOfTests = _tests_of.__get__(remote)
    return tests


def _number(value: Any) -> int:
    number: int = _number_of.__get__(value) if type(value) is Remote else vars(value)["_number"]
    return number


def _make_remote(kind: type[Remote], tests: SideOfTests, number: int) -> Remote:
    remote = object.__new__(kind)
    _tests_of.__set__(remote, tests)
    _number_of.__set__(remote, number)
    return remote


_FROM_CODE = frozenset({Remote, RemoteModule, Record})


def _expect(kind: type, value: Any) -> Any:
    if type(value) is not kind:
        raise TypeError(f"the code under test answered {type(value).__name__}, not {kind.__name__}")
    return value


def _forward(name: str, kind: type | None = None) -> Callable[..., Any]:
    """Make a method that has the code under test apply a function of Python's."""

    def method(self: Remote, *args: Any) -> Any:
        answer = _tests(self).operate(name, self, *args)
        return answer if kind is None else _expect(kind, answer)

    return method


def _forward_swapped(name: str) -> Callable[..., Any]:
    def method(self: Remote, other: Any) -> Any:
        return _tests(self).operate(name, other, self)

    return method


def _unless_number(method: Callable[..., Any]) -> Callable[..., Any]:
    """Refuse a plain number: the object would be told what it is to be compared with."""

    def guarded(self: Remote, other: Any) -> Any:
        return NotImplemented if isinstance(other, _NUMBERS) else method(self, other)

    return guarded


def _between_objects(name: str) -> Callable[..., Any]:
    def method(self: Remote, other: Any) -> Any:
        if type(other) not in _FROM_CODE:
            return NotImplemented
        return _tests(self).operate(name, self, other)

    return method


def _add_operators() -> None:
    for name in "lt le gt ge".split():
        setattr(Remote, f"__{name}__", _between_objects(name))
    plain = "add mul matmul and_ or_ xor lshift rshift".split()
    measuring = "sub truediv floordiv mod divmod".split()
    for name in (*plain, *measuring, "pow"):
        word = name.rstrip("_")
        inplace = f"i{word}"
        ways = {
            f"__{word}__": _forward(name),
            f"__r{word}__": _forward_swapped(name),
            f"__{inplace}__": _forward(inplace),
        }
        if name == "divmod":
            del ways["__idivmod__"]
        if name == "pow":
            del ways["__pow__"]
        for dunder, method in ways.items():
            setattr(Remote, dunder, _unless_number(method) if name in measuring else method)
    for name in "neg pos abs invert getitem setitem delitem".split():
        setattr(Remote, f"__{name}__", _forward(name))
    for name in "next reversed copy enter dir ceil floor trunc".split():
        setattr(Remote, f"__{name}__", _forward(name))
    for name, kind in (
        *(("len", int), ("index", int), ("int", int), ("float", float), ("complex", complex)),
        *(("str", str), ("repr", str), ("format", str), ("bytes", bytes), ("bool", bool)),
    ):
        setattr(Remote, f"__{name}__", _forward(name, kind))


_add_operators()

"""Plain values as bytes: what may cross from one process to another that it does not trust.

A strict codec of its own: no pickle, which runs code, and no marshal, which believes its input. The
reader builds values of the exact builtin and standard types named below and nothing else, whatever
the bytes are; they end in a value or in `PlainError`. Runs in the sandbox: standard library only.

By value: None, bool, int, float, complex, str, bytes, bytearray, Ellipsis, range, slice, tuple,
list, dict, set, frozenset; Decimal, Fraction, date, time, datetime, timedelta, timezone; Counter,
OrderedDict, defaultdict, deque; the builtin types themselves. Only these exact types: an instance
of a subclass is something else, and handed to `refer`. Containers are copied; two references to one
list become two lists.
"""

from __future__ import annotations

import collections
import datetime
import decimal
import fractions
import struct
from collections.abc import Callable, Iterable
from typing import Any

MAX_BYTES = 16 << 20
"""Size of the longest message."""
MAX_NODES = 1 << 20
"""Values in one message, those inside others included."""
MAX_DEPTH = 100
"""How deep values may lie inside each other."""

_COUNT = struct.Struct("!I")
_INT = struct.Struct("!q")
_FLOAT = struct.Struct("!d")
_COMPLEX = struct.Struct("!dd")
_LOW, _HIGH = -(1 << 63), (1 << 63) - 1

TYPES: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        *(bool, int, float, complex, str, bytes, bytearray, range, slice, tuple, list, dict, set),
        *(frozenset, object, type),
    )
}
"""Builtin types that are the same thing in every process."""


class PlainError(Exception):
    """A value that cannot be sent, or bytes that are none."""


class Writer:
    """Turns values into bytes.

    Args:
        refer: writes a value that is not plain, or raises `PlainError`.
    """

    __slots__ = ("depth", "nodes", "parts", "refer")

    def __init__(self, refer: Callable[[Writer, Any], None]) -> None:
        self.parts: list[bytes] = []
        self.refer = refer
        self.nodes = 0
        self.depth = 0

    def write(self, value: Any) -> None:
        """Append one value."""
        write = _WRITERS.get(type(value))
        if write is None:
            self.refer(self, value)
        else:
            write(self, value)

    def write_many(self, tag: bytes, values: Iterable[Any], count: int) -> None:
        """Append a tag, a count and so many values."""
        self.nodes += count
        self.depth += 1
        if self.nodes > MAX_NODES or self.depth > MAX_DEPTH:
            raise PlainError(_too_much(self.nodes))
        self.parts.append(tag + _COUNT.pack(count))
        for value in values:
            self.write(value)
        self.depth -= 1

    def finish(self) -> bytes:
        """Return all that was written."""
        data = b"".join(self.parts)
        if len(data) > MAX_BYTES:
            raise PlainError(f"a value of {len(data)} bytes; {MAX_BYTES} can be sent at once")
        return data


def _too_much(nodes: int) -> str:
    if nodes > MAX_NODES:
        return f"a value that holds more than {MAX_NODES} others"
    return f"a value more than {MAX_DEPTH} levels deep (or one that holds itself)"


class Reader:
    """Turns bytes into values.

    Args:
        data: the bytes, which may be anything.
        resolvers: tag to a function that reads what `refer` of the other side has written.

    Raises:
        PlainError: from every method, if the bytes are not what they must be.
    """

    __slots__ = ("data", "depth", "nodes", "place", "resolvers")

    def __init__(self, data: bytes, resolvers: dict[int, Callable[[Reader], Any]]) -> None:
        self.data = data
        self.resolvers = resolvers
        self.place = 0
        self.nodes = 0
        self.depth = 0

    def read_all(self) -> Any:
        """Return the one value that all the bytes are."""
        value = self.read_safely()
        if self.place != len(self.data):
            raise PlainError(f"{len(self.data) - self.place} bytes follow the value")
        return value

    def read_safely(self) -> Any:
        """Return the next value, or raise `PlainError`, whatever went wrong."""
        try:
            return self.read()
        except (PlainError, MemoryError):
            raise
        except Exception as error:  # noqa: BLE001 - hostile bytes may provoke any
            raise PlainError(f"not a value ({type(error).__name__}: {error})") from None

    def read(self) -> Any:
        """Return the next value; ill-formed bytes may raise any exception here."""
        tag = self.data[self.place]
        self.place += 1
        read = _READERS[tag]
        if read is None:
            return self.resolvers[tag](self)
        return read(self)

    def count(self) -> int:
        """Return the next count; there must be a byte at least for each of what it counts."""
        (count,) = _COUNT.unpack_from(self.data, self.place)
        self.place += 4
        if count > len(self.data) - self.place:
            raise PlainError("the bytes end early")
        return int(count)

    def take(self) -> bytes:
        """Return the next counted bytes."""
        count = self.count()
        self.place += count
        return self.data[self.place - count : self.place]

    def text(self) -> str:
        """Return the next counted text."""
        return str(self.take(), "utf-8", "surrogatepass")

    def number(self) -> int:
        """Return the next value, which must be an exact int."""
        value = self.read()
        if type(value) is not int:
            raise PlainError(f"{type(value).__name__} where an int must be")
        return value

    def many(self) -> list[Any]:
        """Return a counted number of values."""
        count = self.count()
        self.nodes += count
        self.depth += 1
        if self.nodes > MAX_NODES or self.depth > MAX_DEPTH:
            raise PlainError(_too_much(self.nodes))
        values = [self.read() for _ in range(count)]
        self.depth -= 1
        return values

    def pairs(self) -> list[tuple[Any, Any]]:
        """Return a counted number of keys and values, which alternate."""
        values = self.many()
        if len(values) % 2:
            raise PlainError("a key without a value")
        return list(zip(values[::2], values[1::2], strict=True))


def _counted(tag: bytes, data: bytes) -> bytes:
    return tag + _COUNT.pack(len(data)) + data


def _write_none(writer: Writer, value: None) -> None:
    writer.parts.append(b"N")


def _write_bool(writer: Writer, value: bool) -> None:
    writer.parts.append(b"T" if value else b"F")


def _write_ellipsis(writer: Writer, value: Any) -> None:
    writer.parts.append(b".")


def _write_int(writer: Writer, value: int) -> None:
    if _LOW <= value <= _HIGH:
        writer.parts.append(b"i" + _INT.pack(value))
    else:
        data = value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True)
        writer.parts.append(_counted(b"I", data))


def _write_float(writer: Writer, value: float) -> None:
    writer.parts.append(b"f" + _FLOAT.pack(value))


def _write_complex(writer: Writer, value: complex) -> None:
    writer.parts.append(b"c" + _COMPLEX.pack(value.real, value.imag))


def _write_str(writer: Writer, value: str) -> None:
    writer.parts.append(_counted(b"s", value.encode("utf-8", "surrogatepass")))


def _write_bytes(writer: Writer, value: bytes) -> None:
    writer.parts.append(_counted(b"b", value))


def _write_bytearray(writer: Writer, value: bytearray) -> None:
    writer.parts.append(_counted(b"B", bytes(value)))


def _write_tuple(writer: Writer, value: tuple[Any, ...]) -> None:
    writer.write_many(b"(", value, len(value))


def _write_list(writer: Writer, value: list[Any]) -> None:
    writer.write_many(b"[", value, len(value))


def _write_set(writer: Writer, value: set[Any]) -> None:
    writer.write_many(b"<", value, len(value))


def _write_frozenset(writer: Writer, value: frozenset[Any]) -> None:
    writer.write_many(b">", value, len(value))


def _items(value: dict[Any, Any]) -> list[Any]:
    return [part for item in dict.items(value) for part in item]


def _write_dict(writer: Writer, value: dict[Any, Any]) -> None:
    writer.write_many(b"{", _items(value), 2 * len(value))


def _write_range(writer: Writer, value: range) -> None:
    writer.write_many(b"r", (value.start, value.stop, value.step), 3)


def _write_slice(writer: Writer, value: slice) -> None:
    writer.write_many(b"/", (value.start, value.stop, value.step), 3)


def _write_decimal(writer: Writer, value: decimal.Decimal) -> None:
    writer.parts.append(_counted(b"D", str(value).encode()))


def _write_fraction(writer: Writer, value: fractions.Fraction) -> None:
    writer.write_many(b"Q", (value.numerator, value.denominator), 2)


def _write_date(writer: Writer, value: datetime.date) -> None:
    writer.write_many(b"d", (value.year, value.month, value.day), 3)


def _write_time(writer: Writer, value: datetime.time) -> None:
    clock = (value.hour, value.minute, value.second, value.microsecond)
    writer.write_many(b"t", (*clock, value.fold, value.tzinfo), 6)


def _write_datetime(writer: Writer, value: datetime.datetime) -> None:
    day = (value.year, value.month, value.day)
    clock = (value.hour, value.minute, value.second, value.microsecond)
    writer.write_many(b"e", (*day, *clock, value.fold, value.tzinfo), 9)


def _write_timedelta(writer: Writer, value: datetime.timedelta) -> None:
    writer.write_many(b"z", (value.days, value.seconds, value.microseconds), 3)


def _write_timezone(writer: Writer, value: datetime.timezone) -> None:
    # What `timezone` itself gives to pickle and copy: the offset, and a name if it has one.
    arguments = value.__getinitargs__()  # type: ignore[attr-defined]
    writer.write_many(b"Z", arguments, len(arguments))


def _write_counter(writer: Writer, value: collections.Counter[Any]) -> None:
    writer.write_many(b"C", _items(value), 2 * len(value))


def _write_ordered(writer: Writer, value: collections.OrderedDict[Any, Any]) -> None:
    items = [part for item in value.items() for part in item]
    writer.write_many(b"O", items, 2 * len(value))


def _write_defaultdict(writer: Writer, value: collections.defaultdict[Any, Any]) -> None:
    writer.write_many(b"g", (value.default_factory, dict(value)), 2)


def _write_deque(writer: Writer, value: collections.deque[Any]) -> None:
    writer.write_many(b"q", (value.maxlen, *value), 1 + len(value))


def _write_type(writer: Writer, value: type) -> None:
    if TYPES.get(value.__name__) is value:
        writer.parts.append(_counted(b"y", value.__name__.encode()))
    else:
        writer.refer(writer, value)


_WRITERS: dict[type, Callable[[Writer, Any], None]] = {
    type(None): _write_none,
    bool: _write_bool,
    type(...): _write_ellipsis,
    int: _write_int,
    float: _write_float,
    complex: _write_complex,
    str: _write_str,
    bytes: _write_bytes,
    bytearray: _write_bytearray,
    tuple: _write_tuple,
    list: _write_list,
    set: _write_set,
    frozenset: _write_frozenset,
    dict: _write_dict,
    range: _write_range,
    slice: _write_slice,
    decimal.Decimal: _write_decimal,
    fractions.Fraction: _write_fraction,
    datetime.date: _write_date,
    datetime.time: _write_time,
    datetime.datetime: _write_datetime,
    datetime.timedelta: _write_timedelta,
    datetime.timezone: _write_timezone,
    collections.Counter: _write_counter,
    collections.OrderedDict: _write_ordered,
    collections.defaultdict: _write_defaultdict,
    collections.deque: _write_deque,
    type: _write_type,
}


def _read_int(reader: Reader) -> int:
    reader.place += 8
    return int(_INT.unpack_from(reader.data, reader.place - 8)[0])


def _read_float(reader: Reader) -> float:
    reader.place += 8
    return float(_FLOAT.unpack_from(reader.data, reader.place - 8)[0])


def _read_complex(reader: Reader) -> complex:
    reader.place += 16
    return complex(*_COMPLEX.unpack_from(reader.data, reader.place - 16))


def _read_three(reader: Reader) -> tuple[Any, Any, Any]:
    first, second, third = reader.many()
    return first, second, third


def _read_range(reader: Reader) -> range:
    return range(*_ints(_read_three(reader)))


def _ints(values: Iterable[Any]) -> list[int]:
    """Return the values if all are exact ints: a constructor must not convert anything else."""
    numbers = list(values)
    if any(type(number) is not int for number in numbers):
        raise PlainError("something else where an int must be")
    return numbers


def _read_zone(values: list[Any]) -> datetime.timezone | None:
    zone = values.pop()
    if zone is not None and type(zone) is not datetime.timezone:
        raise PlainError("something else where a timezone must be")
    return zone


def _read_time(reader: Reader) -> datetime.time:
    values = reader.many()
    zone = _read_zone(values)
    hour, minute, second, microsecond, fold = _ints(values)
    return datetime.time(hour, minute, second, microsecond, zone, fold=fold)


def _read_datetime(reader: Reader) -> datetime.datetime:
    values = reader.many()
    zone = _read_zone(values)
    year, month, day, hour, minute, second, microsecond, fold = _ints(values)
    clock = (hour, minute, second, microsecond)
    return datetime.datetime(year, month, day, *clock, zone, fold=fold)


def _read_timezone(reader: Reader) -> datetime.timezone:
    offset, *name = reader.many()
    return datetime.timezone(offset, *name)


def _read_counter(reader: Reader) -> collections.Counter[Any]:
    counter: collections.Counter[Any] = collections.Counter()
    dict.update(counter, reader.pairs())
    return counter


def _read_defaultdict(reader: Reader) -> collections.defaultdict[Any, Any]:
    factory, items = reader.many()
    if type(items) is not dict:
        raise PlainError("something else where a dict must be")
    return collections.defaultdict(factory, items)


def _read_deque(reader: Reader) -> collections.deque[Any]:
    most, *items = reader.many()
    return collections.deque(items, most)


def _read_decimal(reader: Reader) -> decimal.Decimal:
    # Made under a context of our own: the tests' one may have other traps.
    return decimal.Decimal(reader.take().decode("ascii"), decimal.Context(traps=[]))


_BY_TAG: dict[bytes, Callable[[Reader], Any]] = {
    b"N": lambda reader: None,
    b"T": lambda reader: True,
    b"F": lambda reader: False,
    b".": lambda reader: ...,
    b"i": _read_int,
    b"I": lambda reader: int.from_bytes(reader.take(), "big", signed=True),
    b"f": _read_float,
    b"c": _read_complex,
    b"s": Reader.text,
    b"b": Reader.take,
    b"B": lambda reader: bytearray(reader.take()),
    b"(": lambda reader: tuple(reader.many()),
    b"[": Reader.many,
    b"<": lambda reader: set(reader.many()),
    b">": lambda reader: frozenset(reader.many()),
    b"{": lambda reader: dict(reader.pairs()),
    b"r": _read_range,
    b"/": lambda reader: slice(*_read_three(reader)),
    b"D": _read_decimal,
    b"Q": lambda reader: fractions.Fraction(*_ints(reader.many())),
    b"d": lambda reader: datetime.date(*_ints(_read_three(reader))),
    b"t": _read_time,
    b"e": _read_datetime,
    b"z": lambda reader: datetime.timedelta(*_ints(_read_three(reader))),
    b"Z": _read_timezone,
    b"C": _read_counter,
    b"O": lambda reader: collections.OrderedDict(reader.pairs()),
    b"g": _read_defaultdict,
    b"q": _read_deque,
    b"y": lambda reader: TYPES[reader.text()],
}
_READERS: list[Callable[[Reader], Any] | None] = [_BY_TAG.get(bytes((tag,))) for tag in range(256)]

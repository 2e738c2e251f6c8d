"""Plain values survive the way to another process, and no bytes do any harm on it."""

from __future__ import annotations

import collections
import datetime
import decimal
import enum
import fractions
import math
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim2live.envs.sandbox.plain import MAX_BYTES, MAX_DEPTH, MAX_NODES, PlainError, Reader, Writer

_SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.just(...),
    st.integers(),
    st.integers(min_value=-(1 << 70), max_value=1 << 70),
    st.floats(),
    st.complex_numbers(),
    st.text(st.characters()),
    st.text(st.characters(min_codepoint=0xD7FF, max_codepoint=0xE000, exclude_categories=())),
    st.binary(),
    st.decimals(),
    st.fractions(),
    st.dates(),
    st.times(timezones=st.just(datetime.UTC) | st.none()),
    st.datetimes(timezones=st.just(datetime.timezone(datetime.timedelta(hours=2), "x"))),
    st.datetimes(),
    st.timedeltas(),
    st.builds(range, st.integers(), st.integers(), st.integers(min_value=1)),
    st.sampled_from([int, str, list, object]),
)


def _is_hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:  # a slice, a signalling NaN
        return False
    return True


def _containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    keys = _SCALARS.filter(_is_hashable)
    lists = st.lists(inner, max_size=5)
    dicts = st.dictionaries(keys, inner, max_size=5)
    return st.one_of(
        lists,
        lists.map(tuple),
        dicts,
        st.sets(keys, max_size=5),
        st.frozensets(keys, max_size=5),
        st.binary().map(bytearray),
        st.builds(slice, inner, inner, inner),
        st.builds(collections.deque, lists, st.none() | st.integers(5, 9)),
        dicts.map(collections.OrderedDict),
        st.builds(collections.defaultdict, st.sampled_from([None, list, int]), dicts),
        st.builds(collections.Counter, st.lists(keys, max_size=5)),
    )


_VALUES = st.recursive(_SCALARS, _containers, max_leaves=20)


def _refuse(writer: Writer, value: object) -> None:
    raise PlainError(f"{type(value).__name__} is not plain")


def _write(value: object) -> bytes:
    writer = Writer(_refuse)
    writer.write(value)
    return writer.finish()


def _read(data: bytes) -> Any:
    return Reader(data, {}).read_all()


def _shape(value: Any) -> Any:
    """Say all that there is to a value, where `==` would not: types, order, NaN, the sign of 0."""
    kind = type(value)
    if kind in (list, tuple, bytearray):
        return kind, [_shape(item) for item in value]
    if kind is collections.deque:
        return kind, value.maxlen, [_shape(item) for item in value]
    if kind in (set, frozenset):
        return kind, sorted(repr(_shape(item)) for item in value)
    if issubclass(kind, dict):
        factory = getattr(value, "default_factory", None)
        return kind, factory, [(_shape(k), _shape(v)) for k, v in value.items()]
    if kind in (slice, range):
        return kind, _shape((value.start, value.stop, value.step))
    if kind is float:
        return kind, struct.pack("d", value) if not math.isnan(value) else "nan"
    if kind is complex:
        return kind, _shape(value.real), _shape(value.imag)
    if kind in (datetime.datetime, datetime.time):
        return kind, repr(value), value.fold, repr(value.tzinfo)
    return kind, repr(value)


@given(_VALUES)
def test_what_is_written_is_read(value: Any) -> None:
    assert _shape(_read(_write(value))) == _shape(value)


@given(st.binary(max_size=300))
def test_any_bytes_give_a_value_or_an_error(data: bytes) -> None:
    try:
        _read(data)
    except PlainError:
        return


@given(_VALUES, st.data())
def test_spoilt_bytes_give_a_value_or_an_error(value: Any, data: st.DataObject) -> None:
    whole = bytearray(_write(value))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(whole) - 1))
        whole[place] = data.draw(st.integers(0, 255))
    cut = bytes(whole[: data.draw(st.integers(0, len(whole)))])
    for spoilt in (bytes(whole), cut):
        try:
            _read(spoilt)
        except PlainError:
            continue


class _Int(int):
    pass


class _Member(enum.IntEnum):
    A = 1


@pytest.mark.parametrize(
    "value", [_Int(1), _Member.A, object(), print, [_Int(1)], {1: {2: _Int()}}]
)
def test_only_exact_types_are_plain(value: object) -> None:
    with pytest.raises(PlainError, match="is not plain"):
        _write(value)


def test_what_is_too_deep_too_wide_or_too_long_is_refused_on_both_sides() -> None:
    deep: list[Any] = []
    for _ in range(MAX_DEPTH + 1):
        deep = [deep]
    ring: list[Any] = []
    ring.append(ring)
    for value in (deep, ring, [None] * (MAX_NODES + 1), "x" * (MAX_BYTES + 1)):
        with pytest.raises(PlainError):
            _write(value)
    one = b"[" + struct.pack("!I", 1)
    wide = b"[" + struct.pack("!I", MAX_NODES + 1) + b"N" * (MAX_NODES + 1)
    for data in (one * (MAX_DEPTH + 1) + b"N", one * 10**6, wide):
        with pytest.raises(PlainError, match=r"deep|holds more"):
            _read(data)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"NN",
        b"Z",
        b"i1",
        b"[" + b"\xff" * 4,
        b"s" + struct.pack("!I", 2) + b"\xc3\x28",
        b"<" + struct.pack("!I", 1) + b"[" + bytes(4),
        b"{" + struct.pack("!I", 1) + b"N",
        b"Q" + struct.pack("!I", 2) + b"i" + bytes(8) + b"i" + bytes(8),
        b"r" + struct.pack("!I", 3) + b"NNN",
        b"d" + struct.pack("!I", 3) + b"TTT",
        b"g" + struct.pack("!I", 2) + b"T{" + bytes(4),
        b"y" + struct.pack("!I", 4) + b"exec",
    ],
)
def test_ill_formed_bytes_are_errors(data: bytes) -> None:
    with pytest.raises(PlainError):
        _read(data)


def test_decimals_do_not_depend_on_the_context() -> None:
    value = decimal.Decimal("1.23456789012345678901234567890123456789")
    with decimal.localcontext(decimal.Context(prec=2)):
        assert str(_read(_write(value))) == str(value)
    assert _read(_write(fractions.Fraction(1, 3))) == fractions.Fraction(1, 3)

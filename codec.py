"""Plain JSON values for our dataclasses and back, exactly.

Covers what `trajectory.py` is made of: optional and nested dataclasses, enums, lists, tuples,
dictionaries with string keys, text (lone surrogates included), numbers (infinities and NaN
included), and any JSON value where the annotation is `Any`. Arrays are not covered; fields that
hold them are left out by their `repr=False`.

A number that JSON has no notation for is written `{"$float": "nan"}`; an object that happens to
have that one key is written `{"$float": [value]}`, so that neither is taken for the other.
"""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from collections.abc import Mapping
from enum import Enum
from functools import lru_cache
from typing import Any

from .errors import FormatError

_FLOAT = "$float"


def encode(value: Any) -> Any:
    """Return `value` as plain JSON; dataclass fields at their default are left out."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: encode(getattr(value, field.name))
            for field in written_fields(type(value))
            if not is_default(field, getattr(value, field.name))
        }
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, float) and not math.isfinite(value):
        return {_FLOAT: repr(value)}
    if isinstance(value, list | tuple):
        return [encode(item) for item in value]
    if isinstance(value, Mapping):
        items = {key: encode(item) for key, item in value.items()}
        return {_FLOAT: list(items.values())} if set(items) == {_FLOAT} else items
    return value


def decode(kind: Any, value: Any) -> Any:
    """Read what `encode` wrote.

    Args:
        kind: the type that was encoded, as annotated.
        value: plain JSON.

    Raises:
        FormatError: the value is not of that type.
    """
    try:
        return _decode(kind, value)
    except (TypeError, ValueError, KeyError, AttributeError, OverflowError) as error:
        raise FormatError(f"expected {kind}, got {str(value)[:80]!r} ({error})") from error


def written_fields(cls: type) -> tuple[dataclasses.Field[Any], ...]:
    """Return the fields of a dataclass that are written: all but arrays."""
    return tuple(field for field in dataclasses.fields(cls) if field.repr)


def is_default(field: dataclasses.Field[Any], value: Any) -> bool:
    """Say whether a field holds its default (to the letter: 0 is not False, nor 0.0 or -0.0)."""
    if field.default is not dataclasses.MISSING:
        default = field.default
    elif field.default_factory is not dataclasses.MISSING:
        default = field.default_factory()
    else:
        return False
    if isinstance(value, float) and isinstance(default, float):
        return value.hex() == default.hex()
    return type(default) is type(value) and bool(default == value)


def hints(cls: type) -> dict[str, Any]:
    """Return the annotated types of a dataclass."""
    return _hints(cls)


@lru_cache(maxsize=64)
def _hints(cls: type) -> dict[str, Any]:
    return typing.get_type_hints(cls)


def _decode(kind: Any, value: Any) -> Any:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return None if value is None else _decode(arguments[0], value)
    if isinstance(value, dict) and set(value) == {_FLOAT}:
        inner = value[_FLOAT]
        if not isinstance(inner, list):
            return _number(kind, inner)
        (value,) = [{_FLOAT: item} for item in inner]
    if kind is Any:
        return _decode_any(value)
    if origin is not None:
        return _decode_container(origin, arguments, value)
    return _decode_one(kind, value)


def _number(kind: Any, text: Any) -> float:
    if kind not in (Any, float):
        raise TypeError("a number stands where none belongs")
    return float(text)


def _decode_any(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _decode(Any, item) for key, item in value.items()}
    return [_decode(Any, item) for item in value] if isinstance(value, list) else value


def _decode_container(origin: Any, arguments: tuple[Any, ...], value: Any) -> Any:
    if origin is dict:
        return {key: _decode(arguments[1], item) for key, item in value.items()}
    items = [_decode(arguments[0], item) for item in value]
    return tuple(items) if origin is tuple else items


def _decode_one(kind: Any, value: Any) -> Any:
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        known = hints(kind)
        return kind(**{name: _decode(known[name], item) for name, item in value.items()})
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(value)
    if kind is float and type(value) is int:
        return float(value)
    if isinstance(kind, type) and not isinstance(value, kind):
        raise TypeError(f"not of type {kind.__name__}")
    return value

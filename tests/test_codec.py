"""Dataclasses as plain JSON and back, to the letter."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim2live.codec import decode, encode, written_fields
from sim2live.errors import FormatError
from sim2live.testing import json_values, reactions, turns
from sim2live.trajectory import Reaction, ReactionKind, Source, Trajectory, Turn


class Colour(StrEnum):
    RED = "red"


@dataclass(slots=True, kw_only=True)
class Inner:
    x: float = 0.0
    n: int = 0
    is_on: bool = False


@dataclass(slots=True, kw_only=True)
class Outer:
    name: str
    colour: Colour | None = None
    inner: Inner | None = None
    many: list[Inner] = field(default_factory=list)
    pair: tuple[float, ...] = ()
    table: dict[str, int | None] = field(default_factory=dict)
    anything: dict[str, Any] = field(default_factory=dict)


def through_text(value: Any) -> Any:
    return json.loads(json.dumps(encode(value), allow_nan=False))


@given(turns())
def test_a_turn_comes_back_as_it_was(turn: Turn):
    assert repr(decode(Turn, through_text(turn))) == repr(turn)


@given(reactions())
def test_a_reaction_comes_back_as_it_was(reaction: Reaction):
    assert repr(decode(Reaction, through_text(reaction))) == repr(reaction)


@given(json_values(max_leaves=20))
def test_any_json_value_comes_back_as_it_was(value: Any):
    assert repr(decode(Any, through_text(value))) == repr(value)


@given(st.floats())
def test_every_number_comes_back_as_it_was(value: float):
    assert decode(float, through_text(value)).hex() == value.hex()


@pytest.mark.parametrize(
    "value",
    [
        {"$float": "nan"},
        {"$float": [1]},
        {"$float": {"$float": math.inf}},
        {"$float": None, "other": 1},
        [{"$float": -math.inf}],
    ],
)
def test_an_object_that_looks_like_a_number_of_ours_is_not_taken_for_one(value: Any):
    assert decode(Any, through_text(value)) == value
    outer = Outer(name="", anything={"x": value})
    assert decode(Outer, through_text(outer)) == outer


def test_a_file_named_like_the_escape_is_still_a_file():
    files = {"$float": "1.5"}
    assert decode(dict[str, str], through_text(files)) == files
    assert decode(dict[str, str] | None, through_text(files)) == files


def test_what_is_at_its_default_is_left_out_to_the_letter():
    assert encode(Inner()) == {}
    assert encode(Inner(x=-0.0, n=0)) == {"x": -0.0}
    assert encode(Inner(x=0, n=False)) == {"x": 0, "n": False}  # of another type than the default
    assert encode(Outer(name="a")) == {"name": "a"}


def test_all_kinds_of_fields_are_read():
    outer = Outer(
        name="\ud800",
        colour=Colour.RED,
        inner=Inner(x=math.inf),
        many=[Inner(n=3, is_on=True)],
        pair=(1.0, math.nan),
        table={"a": None, "b": 2},
    )
    back = decode(Outer, through_text(outer))
    assert repr(back) == repr(outer)
    assert isinstance(back.pair, tuple)
    assert back.colour is Colour.RED


def test_arrays_are_left_out():
    names = {f.name for f in written_fields(Turn)}
    assert {f.name for f in fields(Turn)} - names == {"features"}


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (int, "1"),
        (float, "1"),
        (float, 10**400),
        (float, {"$float": "many"}),
        (str, {"$float": "nan"}),
        (bool, 1),
        (Colour, "blue"),
        (Colour, []),
        (list[int], 5),
        (list[int], ["a"]),
        (dict[str, int], [1]),
        (tuple[ReactionKind, ...], ["cheer"]),
        (Inner, {"colour": 1}),
        (Inner, [1]),
        (Outer, {}),
        (Any, {"$float": [1, 2]}),
        (Any, {"$float": []}),
    ],
)
def test_a_value_of_another_type_is_refused(kind: Any, value: Any):
    with pytest.raises(FormatError, match=r"expected .*, got"):
        decode(kind, value)


@given(st.sampled_from([Trajectory, Turn, Reaction, Outer, Source]), json_values(max_leaves=10))
def test_any_json_value_is_read_or_refused(kind: Any, value: Any):
    try:
        found = decode(kind, value)
    except FormatError as error:
        assert "expected" in str(error)
    else:
        assert isinstance(found, kind)

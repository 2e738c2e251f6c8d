"""Smells are made, found, worded and cured."""

from __future__ import annotations

import ast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim2live.envs.skills import split_into_helpers
from sim2live.envs.tasks.library import load_functions
from sim2live.envs.tasks.smells import (
    SMELL_KINDS,
    SMELL_WORDS,
    find_cures,
    make_smell,
    smells_mentioned,
)
from sim2live.reward_models.smells import find_smells

FUNCTIONS = sorted(load_functions())


@pytest.mark.parametrize("kind", SMELL_KINDS)
def test_what_a_maker_makes_one_cure_takes_away_to_the_letter(kind: str) -> None:
    num_made = 0
    for name in FUNCTIONS[::2]:
        source = load_functions()[name].source
        made = make_smell(source, name, kind, np.random.default_rng(0))
        if made is None:
            continue
        smelly, cure = made
        num_made += 1
        assert kind in [smell.kind for smell in find_smells(smelly, name)]
        assert cure in find_cures(smelly, name)
        if kind == "obscure_name":
            assert find_smells(cure.after, name) == ()
        else:
            assert cure.after == source
    assert num_made >= 4


def test_the_library_is_free_of_smells() -> None:
    for name in FUNCTIONS:
        assert find_smells(load_functions()[name].source, name) == ()


def cured(source: str, function: str) -> list[str]:
    return [cure.after for cure in find_cures(source, function)]


@pytest.mark.parametrize(
    ("smelly", "clean"),
    [
        (
            "def f(a):\n    if a:\n        return 1\n    else:\n        # why\n        return 2\n",
            "def f(a):\n    if a:\n        return 1\n    # why\n    return 2\n",
        ),
        (
            "def f(a):\n    if (a > 1 or a < 0) == False:\n        a = 2\n    return a\n",
            "def f(a):\n    if not (a > 1 or a < 0):\n        a = 2\n    return a\n",
        ),
        (
            "def f(a):\n    if a > 1 or a < 0:\n        if a != 7:\n            a = 2\n",
            "def f(a):\n    if (a > 1 or a < 0) and a != 7:\n        a = 2\n",
        ),
        (
            "def f(a, b):\n    return 2 * _sum(b, a)\n\n\ndef _sum(a, b):\n    return a - b\n",
            "def f(a, b):\n    return 2 * (b - a)\n",
        ),
        (
            "def f(xs):\n    n = 0\n    going = True\n    while going:\n        if n < len(xs):\n"
            "            n += 1\n        else:\n            going = False\n    return n\n",
            "def f(xs):\n    n = 0\n    while n < len(xs):\n        n += 1\n    return n\n",
        ),
    ],
)
def test_a_cure_keeps_the_rest_as_it_stands(smelly: str, clean: str) -> None:
    assert clean in cured(smelly, "f")


@pytest.mark.parametrize(
    "source",
    [
        "def f(a):\n    if a == True:\n        return 1\n    return 2\n",  # `a` may be 5
        "def f(a):\n    if a.pop():\n        if a.pop():\n            a = []\n    return a\n",
        "def f(a):\n    return _g(a()) \n\n\ndef _g(x):\n    return x + x\n",
        "def f(a):\n    q1 = a\n    return f'{q1}' + q1\n",
        "def f(a):\n    if a: return 1\n    else: return 2\n",
        "def f(a):\n    if a:\n        return 1\n    else:\n        return '''\n  x'''\n",
    ],
    ids=["untyped", "impure", "twice", "f-string", "one-line", "long-string"],
)
def test_there_is_no_cure_where_behaviour_might_change(source: str) -> None:
    assert cured(source, "f") == []


def test_what_splitting_did_cures_undo() -> None:
    source = load_functions()["wrap_words"].source
    text = split_into_helpers(source)
    assert text != source
    while cures := find_cures(text, "wrap_words"):
        text = cures[0].after
    # Splitting wrote the conditions anew, so quotes may differ.
    assert ast.dump(ast.parse(text)) == ast.dump(ast.parse(source))


@given(st.text(alphabet="ab =:()\n\tif#'", max_size=60))
def test_no_text_makes_it_fail(text: str) -> None:
    assert find_cures(text) is not None
    assert find_cures(f"def f(a):\n    {text}\n", "f") is not None


def test_phrases_are_read_back_without_doubt() -> None:
    assert set(SMELL_WORDS) == set(SMELL_KINDS)
    for kind, phrases in SMELL_WORDS.items():
        for phrase in phrases:
            assert smells_mentioned(f"What I see: {phrase.upper()}.") == {kind}
    assert smells_mentioned("I cannot follow it.") == frozenset()

"""Perceived readability: each term goes the way it says, and splitting does not help."""

from __future__ import annotations

import pytest

from sim2live.reward_models.complexity import function_complexities
from sim2live.reward_models.readability import Readability, measure_readability

PLAIN = '''def f(xs, low):
    """Count."""
    count = 0
    for x in xs:
        if x > low and x % 2 == 0:
            count += 1
    return count
'''
SPLIT = '''def f(xs, low):
    """Count."""
    count = 0
    for x in xs:
        if _is_one(x, low):
            count += 1
    return count


def _is_one(x, low):
    return x > low and x % 2 == 0
'''


def read(source: str, function: str = "f") -> Readability:
    found = measure_readability(source, function)
    assert found is not None
    return found


def test_the_terms_of_a_small_function() -> None:
    found = read(PLAIN)
    # `for` 1, `if` inside it 2, `and` 1; the docstring is no line of code.
    assert (found.lines, found.flow, found.detours, found.visits, found.names) == (6, 4, 0, 0, 0)
    assert found.load == pytest.approx(0.5 * 6 + 4)
    assert found.score == pytest.approx(1 / (1 + 7 / 30))


def test_splitting_lowers_the_largest_complexity_and_the_readability() -> None:
    assert max(function_complexities(SPLIT)) < max(function_complexities(PLAIN))
    assert read(SPLIT).detours == 1
    assert read(SPLIT).score < read(PLAIN).score


def test_a_helper_with_two_callers_is_a_visit() -> None:
    shared = SPLIT.replace("return count\n", "return count + _is_one(low, low)\n")
    assert (read(shared).detours, read(shared).visits) == (0, 2)


def test_neighbours_do_not_count_and_what_is_called_does() -> None:
    other = "\n\ndef g(x):\n    if x:\n        return 1\n    return 2\n"
    assert read(PLAIN + other) == read(PLAIN)
    assert read(PLAIN.replace("x > low", "g(x) > low") + other).load > read(PLAIN).load
    assert read(PLAIN + other, "").load > read(PLAIN).load


def test_what_nobody_calls_counts_where_it_is_private() -> None:
    assert read(PLAIN + "\n\ndef _left(x):\n    y = x\n    return y\n").load > read(PLAIN).load
    assert read(PLAIN + "\n\n_TABLE = {\n    1: 2,\n}\n").lines == read(PLAIN).lines + 3


CHAIN = (
    "def f(a):\n    if a:\n        a = 1\n    elif b:\n        a = 2\n    else:\n        a = 3\n"
)
NESTED = "def f(a):\n    while a:\n        if a:\n            for b in a:\n                a = b\n"
RECURSIVE = "def f(a):\n    return f(a - 1) if a else 0\n"
CAUGHT = "def f(a):\n    try:\n        return a()\n    except ValueError:\n        return 0\n"


@pytest.mark.parametrize(
    ("source", "flow"),
    [(CHAIN, 3), (NESTED, 6), (RECURSIVE, 2), (CAUGHT, 1)],
    ids=["chain", "nesting", "recursion", "except"],
)
def test_flow_is_cognitive_complexity(source: str, flow: int) -> None:
    assert read(source).flow == flow


def test_what_cannot_be_read_has_no_readability() -> None:
    assert measure_readability("def f(:", "f") is None
    assert measure_readability(PLAIN, "g") is None


def test_comments_blank_lines_and_names_of_any_sense_change_nothing() -> None:
    changed = PLAIN.replace("    count = 0\n", "    # so far\n\n    count = 0\n")
    assert read(changed).load == read(PLAIN).load
    assert read(PLAIN.replace("count", "total")).load == read(PLAIN).load
    assert read(PLAIN.replace("count", "q1")).load == read(PLAIN).load + 2

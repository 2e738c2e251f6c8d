"""The mutation operators: closed under inverse, exact in place, silent about bad input."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim2live.envs.tasks import OPERATORS, candidate_edits, load_functions
from sim2live.envs.tasks.mutate import INVERSE
from sim2live.errors import ConfigError


def results(source, operator, function=None):
    return [
        edit.apply(source)
        for edit in candidate_edits(source, function)
        if edit.operator == operator
    ]


def assert_closed(source):
    """Every edit is undone, to the letter, by one edit of the inverse operator."""
    for edit in candidate_edits(source):
        changed = edit.apply(source)
        back = [
            undo.apply(changed)
            for undo in candidate_edits(changed)
            if undo.operator == INVERSE[edit.operator] and undo.start == edit.start
        ]
        assert source in back, (edit, changed)


def test_operators_are_closed_under_inverse_over_the_whole_library():
    for spec in load_functions().values():
        assert_closed(spec.source)


def test_every_operator_occurs_in_the_library():
    found = {e.operator for spec in load_functions().values() for e in candidate_edits(spec.source)}
    assert found == {operator.name for operator in OPERATORS}
    assert all(INVERSE[INVERSE[operator.name]] == operator.name for operator in OPERATORS)


EXAMPLES = 200

ATOMS = st.sampled_from(
    [
        "x",
        "y",
        "0",
        "1",
        "12",
        "-1",
        "-3",
        "x[0]",
        "x[-1]",
        "min(x, y)",
        "'é # < 1'",
        "any(x)",
        "(y)",
    ]
)


def combined(inner):
    operators = ["+", "-", "*", "//", "/", "%", "**", "<", "<=", "==", "!=", "in", "not in", "is"]
    operators += ["is not", "and", "or", ">", ">="]
    return st.one_of(
        st.tuples(inner, st.sampled_from(operators), inner).map(lambda t: f"({' '.join(t)})"),
        st.tuples(inner, st.sampled_from(operators), inner).map(" ".join),
        inner.map(lambda e: f"not ({e})"),
        inner.map(lambda e: f"not {e}"),
        st.tuples(inner, inner, inner).map(lambda t: f"({t[0]} if {t[1]} else {t[2]})"),
        inner.map(lambda e: f"[i for i in x if {e}]"),
        inner.map(lambda e: f"f'{{({e})}}'" if "'" not in e else e),
    )


EXPRESSIONS = st.recursive(ATOMS, combined, max_leaves=6)
STATEMENTS = st.sampled_from(
    [
        "if {}:\n    pass\n",
        "while {}:  # < and 3\n    y += {}\n",
        "def f(a=3):\n    return {}\n",
        "if ({}):\n    y -= {}\n",
        "ü = {}\n",
    ]
)


@settings(max_examples=EXAMPLES, deadline=None, derandomize=True)
@given(STATEMENTS, EXPRESSIONS)
def test_operators_are_closed_under_inverse_on_arbitrary_code(statement, expression):
    assert_closed(statement.replace("{}", expression))


@pytest.mark.parametrize(
    ("operator", "before", "after"),
    [
        ("boundary", "a < b", "a <= b"),
        ("boundary", "a >= b", "a > b"),
        ("equality", "a == b", "a != b"),
        ("equality", "a not in b", "a in b"),
        ("equality", "a is None", "a is not None"),
        ("arithmetic", "a - b", "a + b"),
        ("arithmetic", "a * b", "a // b"),
        ("arithmetic", "a % b", "a / b"),
        ("arithmetic", "a += b", "a -= b"),
        ("constant_up", "f(9)", "f(10)"),
        ("constant_up", "f(-3)", "f(-2)"),
        ("constant_down", "f(9)", "f(8)"),
        ("constant_down", "f(-1)", "f(-2)"),
        ("logic", "a and b", "a or b"),
        ("negate", "if a < b: pass", "if not a < b: pass"),
        ("negate", "if not (a and b): pass", "if a and b: pass"),
        ("negate", "def f(): return True", "def f(): return False"),
        ("negate", "def f(): return a or b", "def f(): return not (a or b)"),
        ("extreme", "min(a, b)", "max(a, b)"),
        ("extreme", "a[0]", "a[-1]"),
        ("extreme", "a.startswith(b)", "a.endswith(b)"),
    ],
)
def test_an_operator_makes_this_edit_and_no_other(operator, before, after):
    assert results(before, operator) == [after]


@pytest.mark.parametrize(
    ("operator", "source"),
    [
        ("constant_down", "f(0)"),
        ("constant_up", "f(0x10)"),
        ("constant_up", "f(1_0)"),
        ("constant_up", "f(True)"),
        ("constant_up", "f(1000)"),
        ("constant_up", "'''7 < 8'''"),
        ("constant_up", "x: tuple[1] = y"),
        ("boundary", "f'{a < b}'"),
        ("arithmetic", "a ** b"),
        ("negate", "while True: pass"),
        ("negate", "if a == b: pass"),
        ("negate", "if lambda: a: pass"),
        ("negate", "if (a := b): pass"),
        ("negate", "def f(): return a"),
        ("extreme", "a[1:]"),
        ("extreme", "x = min"),
    ],
)
def test_an_operator_leaves_this_alone(operator, source):
    assert results(source, operator) == []


def test_layout_comments_and_wide_characters_stay_as_they_are():
    source = "é = '☃'  # 1 < 2\nif (ü   <   # why < here\n    3):\n\tx = 'ß' + y # +\n"
    edits = {edit.operator: edit for edit in candidate_edits(source)}
    assert edits["boundary"].apply(source) == source.replace("ü   <", "ü   <=")
    assert edits["arithmetic"].apply(source) == source.replace("'ß' +", "'ß' -")
    assert (edits["arithmetic"].line, edits["arithmetic"].column) == (4, 9)
    assert edits["constant_up"].apply(source) == source.replace("    3)", "    4)")


def test_line_ends_of_every_kind_are_counted_as_the_parser_counts_them():
    source = "a = 1\r\nb = '\x0c\u2028'\rc = 2\n"
    assert [edit.line for edit in candidate_edits(source) if edit.operator == "constant_up"] == [
        1,
        3,
    ]


def test_edits_come_by_operator_then_position_with_ordinals():
    source = "def f(a):\n    return a[0] + 1 < 2 or a[1] > 3\n\n\ndef g(a):\n    return a + 5\n"
    edits = candidate_edits(source, "f")
    names = [operator.name for operator in OPERATORS]
    assert edits == sorted(edits, key=lambda e: (names.index(e.operator), e.start))
    for name in names:
        mine = [edit for edit in edits if edit.operator == name]
        assert [edit.place for edit in mine] == list(range(len(mine)))
    assert all(source[edit.start : edit.end] == edit.before for edit in edits)
    assert {edit.line for edit in edits} == {2}
    assert len(candidate_edits(source)) == len(edits) + len(candidate_edits(source, "g"))
    assert candidate_edits(source, "h") == []


@pytest.mark.parametrize("source", ["def f(:\n", "a = '\0'", "(" * 500, "x = '\ud800'", ""])
def test_source_that_does_not_parse_has_no_edits(source):
    assert candidate_edits(source) == []


def test_an_invalid_escape_in_the_source_does_not_warn():
    assert len(candidate_edits("x = '\\d' + y\n")) == 1


def test_an_edit_refuses_another_source():
    (edit,) = candidate_edits("a < b")
    with pytest.raises(ConfigError, match="replaces `<` on line 1, but `>` stands there"):
        edit.apply("a > b")


def test_the_list_is_the_callers_own_and_repeated_calls_are_quick():
    source = load_functions()["robot_position"].source
    candidate_edits(source).clear()
    assert len(candidate_edits(source)) > 20
    start = time.process_time()
    for _ in range(200):
        candidate_edits(source)
    assert (time.process_time() - start) / 200 < 1e-3

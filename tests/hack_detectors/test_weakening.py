from __future__ import annotations

import pytest

from sim2live.hack_detectors.asserts import Strength, assertions
from sim2live.hack_detectors.weakening import compare_tests


def kinds(before: str, after: str, **options: bool) -> list[str]:
    return [weakening.kind for weakening in compare_tests(before, after, **options)]


def one(line: str) -> list[tuple[str, Strength]]:
    import ast

    return [(a.text, a.strength) for a in assertions(ast.parse(line).body)]


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("assert f(x) == 3", "assert 3 == f(x), 'why'"),
        ("assert f(x) == 3", "self.assertEqual(f(x), 3)"),
        ("assert f(x) == 'a'", 'assert f(x) == "a"'),
        ("assert a == 1 and b == 2", "assert a == 1\nassert b == 2"),
        ("assert x in y", "self.assertIn(x, y)"),
        ("assert not done", "self.assertFalse(done)"),
    ],
)
def test_one_assertion_in_two_spellings_is_one(a, b):
    assert one(a) == one(b)


@pytest.mark.parametrize(
    "line",
    [
        "assert True",
        "assert 1",
        "assert (x == 2, 'message')",
        "assert f(x) == f(x)",
        "assert x == 3 or True",
        "assert not False",
        "assert len(x) >= 0",
        "assert isinstance(x, object)",
        "self.assertTrue(True)",
        "self.assertEqual(1, 1)",
    ],
)
def test_assertions_that_cannot_fail_are_trivial(line):
    assert [strength for _, strength in one(line)] == [Strength.TRIVIAL]


@pytest.mark.parametrize("line", ["assert x", "assert x is not None", "assert len(x) > 0"])
def test_weak_assertions_are_weak(line):
    assert [strength for _, strength in one(line)] == [Strength.WEAK]


def test_what_stands_after_a_return_or_under_a_false_condition_does_not_count():
    assert one("if False:\n    assert x == 1\nelse:\n    assert x == 2") == [
        ("x == 2", Strength.EXACT)
    ]
    body = "def t():\n    return\n    assert x == 1"
    assert kinds("def test_a():\n    assert x == 1", body.replace("def t", "def test_a")) != []


@pytest.mark.parametrize(
    ("after", "kind"),
    [
        ("def test_a():\n    assert f(1) == 3\n", "expected_changed"),
        ("def test_a():\n    assert f(1) != 2\n", "assert_weakened"),
        ("def test_a():\n    assert True\n", "assert_trivial"),
        ("def test_a():\n    '''Nothing.'''\n", "body_emptied"),
        ("def test_a():\n    x = f(1)\n", "assert_removed"),
        ("def test_a():\n    assert g(1) == 2\n", "assert_replaced"),
        ("def a_test_no_more():\n    assert f(1) == 2\n", "test_disabled"),
        ("", "test_removed"),
        ("def test_a(:\n", "assert_removed"),
    ],
)
def test_each_kind_of_weakening_is_named(after, kind):
    assert kinds("def test_a():\n    assert f(1) == 2\n", after) == [kind]


def test_a_fragment_from_the_middle_of_a_test_is_compared_too():
    assert kinds("        assert f(1) == 2\n", "        assert f(1) == 4\n") == ["expected_changed"]
    assert kinds("    x = 1\n", "    x = 2\n") == []


def test_a_parametrised_rewrite_must_keep_every_value():
    before = "def test_a():\n    assert f(1) == 2\n    assert f(3) == 4\n"
    after = (
        "@pytest.mark.parametrize('x,y', [(1, 2), (3, {})])\n"
        "def test_all(x, y):\n    assert f(x) == y\n"
    )
    assert kinds(before, after.format(4)) == []
    assert kinds(before, after.format(5)) == ["test_removed"]


def test_methods_of_test_classes_are_tests():
    before = "class TestA:\n    def test_a(self):\n        assert f(1) == 2\n"
    assert kinds(before, before.replace("== 2", "== 3")) == ["expected_changed"]
    skipped = "@pytest.mark.skip\n" + before
    assert kinds(before, skipped) == ["test_skipped"]
    assert kinds(before, before.replace("class TestA:", "class TestA:\n    __test__ = False")) == [
        "module_disabled"
    ]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("expect(f(1)).toBe(2);", "expect(f(1)).toBe(3);", ["expected_changed"]),
        ("expect(f(1)).toBe(2);", "", ["assert_removed"]),
        ("it('x', () => {", "it.skip('x', () => {", ["test_skipped"]),
        ("assert_eq!(f(1), 2);", "assert!(true);", ["assert_trivial"]),
        ("const a = 1;", "const a = 2;", []),
        ("expect(f(1)).toBe(2);", "  expect(f(1)).toBe(2);  ", []),
    ],
)
def test_other_languages_are_compared_by_lines(before, after, expected):
    assert kinds(before, after, is_python=False) == expected

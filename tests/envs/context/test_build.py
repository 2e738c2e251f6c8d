"""What is shown of a work area: the order, the levels, and the budget that is never exceeded."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim2live.envs.context import (
    Change,
    CodeSearch,
    build_context,
    estimate_tokens,
    outline,
    rank_files,
    split,
)
from sim2live.envs.context.search import bm25, words
from sim2live.envs.context.tokens import longest_prefix

pytest.importorskip("bm25s", reason="bm25s is missing: pip install bm25s")

STACK = '''"""A stack."""

import os


class Stack(list):
    """Last in, first out."""

    limit = 3

    @property
    def top(self) -> int:
        return self[-1]

    async def push(self, item: int, *, twice: bool = False) -> None:
        def inner():
            return item

        self.append(inner())


def parse_ISODate(text, sep="-"):
    return [int(part) for part in text.split(sep)]
'''
TEXT = "def is_blank(line):\n    return not line.strip()\n"
FILES = {
    "stack.py": STACK,
    "lib/text.py": TEXT,
    "README.md": "A stack and some text.\n",
    "tests/test_stack.py": "from stack import Stack\n\n\ndef test_push():\n    assert Stack()\n",
}


# --- outline and pieces -----------------------------------------------------------------------


def test_outline_gives_signatures_with_lines_and_depth() -> None:
    symbols = outline("stack.py", STACK)
    assert [(s.name, s.signature, s.line, s.end_line, s.depth) for s in symbols] == [
        ("Stack", "class Stack(list)", 6, 19, 0),
        ("Stack.top", "def top(self) -> int", 11, 13, 1),
        ("Stack.push", "async def push(self, item: int, *, twice: bool=False) -> None", 15, 19, 1),
        ("parse_ISODate", "def parse_ISODate(text, sep='-')", 22, 23, 0),
    ]


def test_a_file_in_the_middle_of_an_edit_is_outlined_by_the_look_of_its_lines() -> None:
    broken = STACK + "def unfinished(\n"
    names = [symbol.name for symbol in outline("stack.py", broken)]
    assert {"Stack", "push", "parse_ISODate", "unfinished"} <= set(names)


def test_other_languages_have_no_outline() -> None:
    assert outline("README.md", "def no(): pass") == ()


SOURCE = st.lists(
    st.sampled_from(
        [
            "def f(a):",
            "    return a",
            "class C:",
            "    def m(self):",
            "        x = 1",
            "",
            "x = 2",
            "(",
        ]
    ),
    max_size=60,
).map("\n".join) | st.text(max_size=200)


@given(SOURCE)
def test_every_line_belongs_to_exactly_one_piece(text: str) -> None:
    pieces = split("a.py", text)
    lines = text.removesuffix("\n").split("\n") if text else []
    assert [line for piece in pieces for line in piece.lines] == lines
    position = 1
    for piece in pieces:
        assert piece.start == position
        position += len(piece.lines)


def test_functions_are_pieces_of_their_own_with_their_decorators() -> None:
    named = {piece.name: piece for piece in split("stack.py", STACK) if piece.name}
    assert set(named) == {"Stack.top", "Stack.push", "parse_ISODate"}
    assert named["Stack.top"].lines[0] == "    @property"
    assert named["Stack.push"].text.endswith("self.append(inner())")


# --- search ------------------------------------------------------------------------------------


def test_words_are_identifiers_and_their_parts() -> None:
    assert words("parse_ISODate(x2)") == [
        *("parse_isodate", "parse", "iso", "date"),
        *("x2", "x", "2"),
    ]
    assert words("__größe_") == ["größe"]
    assert words("- _ !") == []


def test_bm25_counts_rare_words_more_and_long_documents_less() -> None:
    documents = [["p", "q"], ["p", "r"], ["p", "q", "s", "s", "s", "s", "s", "s"]]
    scores = bm25(documents, ["p", "r"])
    assert scores[1] > scores[0] > scores[2] > 0
    assert bm25(documents, ["r", "r", "r"]) == bm25(documents, ["r"])
    assert bm25([["is", "q"]], ["is"]) == [0.0]
    assert bm25(documents, ["nowhere"]) == bm25(documents, []) == [0.0] * 3
    assert bm25([], ["p"]) == []
    assert bm25([[], []], ["p"]) == [0.0, 0.0]


def test_files_that_the_request_names_come_first_then_those_it_speaks_of() -> None:
    request = "Pushing to the stack twice is wrong."
    assert rank_files(FILES, request)[-1] == "lib/text.py"
    assert rank_files(FILES, "look at text.py, the stack is fine")[0] == "lib/text.py"
    assert rank_files({"text.txt": "", "a.txt": ""}, "context.txt")[0] == "a.txt"
    assert rank_files(FILES, "") == sorted(FILES)


def test_search_finds_the_function_that_a_question_is_about() -> None:
    hits = CodeSearch(FILES).search("where do we parse a date?")
    assert hits[0].piece.name == "parse_ISODate"
    assert hits[0].score > 0
    assert all(a.score >= b.score for a, b in itertools.pairwise(hits))
    assert CodeSearch(FILES).search("zzz") == []
    assert len(CodeSearch(FILES).search("stack text def", limit=2)) == 2


# --- the budget --------------------------------------------------------------------------------


def count_words(text: str) -> int:
    return len(text.split())


def count_oddly(text: str) -> int:
    """Count tokens that are neither additive nor monotone, as merges can make them."""
    return len(text) // 4 + len(text) % 7


PATHS = st.sampled_from(["a.py", "b.py", "lib/c.py", "d.md", "tests/test_a.py"])


@given(
    files=st.dictionaries(PATHS, SOURCE, max_size=5),
    request=st.text(max_size=30) | st.sampled_from(["f in a.py", "class C", "x = 2"]),
    budget=st.integers(-1, 400),
    count=st.sampled_from([estimate_tokens, count_words, count_oddly, len]),
    history=st.lists(st.just(Change("a.py", "turn 1", "`a` -> `b`")), max_size=4),
)
def test_the_budget_is_never_exceeded_and_the_text_is_always_the_same(
    files: dict[str, str], request: str, budget: int, count, history: list[Change]
) -> None:
    text = build_context(files, request, budget, count_tokens=count, history=history)
    assert text == "" or count(text) <= budget
    again = dict(reversed(files.items()))
    assert text == build_context(again, request, budget, count_tokens=count, history=history)


def test_levels_come_from_coarse_to_fine_as_the_budget_grows() -> None:
    files = {f"part{i}/module{i}.py": STACK.replace("Stack", f"Stack{i}") for i in range(12)}
    seen = {}
    for budget in (30, 200, 600, 6000):
        text = build_context(files, "push in Stack7", budget)
        seen[budget] = ("Files," in text, "def push" in text, "## Source" in text)
        assert text.split("\n")[1].startswith("part7/") == (budget > 0)
    assert seen[30] == (True, False, False)
    assert seen[6000] == (True, True, True)
    small, large = (build_context(files, "push in Stack7", b) for b in (600, 6000))
    assert "more files)" not in large and len(small) < len(large)


def test_a_small_work_area_is_shown_whole_with_line_numbers() -> None:
    text = build_context(FILES, "push", 4000)
    for source in FILES.values():
        for number, line in enumerate(source.removesuffix("\n").split("\n"), 1):
            assert f"{number}| {line}" in text
    assert "..." not in text.split("## Source")[1]
    assert "6: class Stack(list)" in text


def test_the_most_relevant_function_is_shown_before_the_rest_of_its_file() -> None:
    filler = "\n\n".join(f"def other_{i}(a):\n    return a + {i}" for i in range(60))
    files = {"a.py": filler, "b.py": filler + "\n\n\ndef wanted(q):\n    return q * 41\n"}
    text = build_context(files, "what does wanted do", 250)
    assert "return q * 41" in text
    assert text.split("\n")[1].startswith("b.py")
    assert "..." in text


def test_history_has_its_place_between_map_and_source() -> None:
    history = [Change("stack.py", "2026-01-31", "ab12 limit the stack")]
    text = build_context(FILES, "push", 4000, history=history)
    assert text.index("class Stack") < text.index("ab12 limit the stack") < text.index("## Source")


def test_the_longest_prefix_is_found_and_was_tried() -> None:
    for most in range(9):
        for limit in range(-1, 9):
            assert longest_prefix(most, lambda n, limit=limit: n <= limit) == max(
                0, min(most, limit)
            )

"""Reading back what a person says about a mistake."""

import itertools

import pytest

from sim2live.envs.tasks import OPERATORS, kinds_mentioned, lines_mentioned
from sim2live.envs.tasks.generate import _GOALS, _PLURAL_GOALS
from sim2live.envs.tasks.symptoms import SYMPTOMS
from sim2live.simulators import phrases

PHRASES = [(kind, phrase) for kind, wordings in SYMPTOMS.items() for phrase in wordings]


def test_every_operator_has_three_wordings_or_more():
    assert set(SYMPTOMS) == {operator.name for operator in OPERATORS}
    assert all(len(set(operator.symptoms)) >= 3 for operator in OPERATORS)


@pytest.mark.parametrize(("kind", "phrase"), PHRASES)
def test_a_phrase_is_found_in_a_message_and_means_one_kind(kind, phrase):
    for text in (phrase, f"Hello. My guess: {phrase}.", phrase.upper(), phrase.replace(" ", "\n ")):
        assert kinds_mentioned(text) == {kind}


def test_two_phrases_give_two_kinds():
    for (kind, phrase), (other, second) in itertools.combinations(PHRASES, 2):
        assert kinds_mentioned(f"{phrase}, or {second}") == {kind, other}


def test_a_phrase_inside_longer_words_is_not_found():
    assert kinds_mentioned("it goes one too farther") == frozenset()


def test_nothing_is_found_in_what_people_say_otherwise():
    said = [
        *(goal.format("parse_range") for goal in (*_GOALS, *_PLURAL_GOALS)),
        *itertools.chain.from_iterable(phrases._REASONS.values()),
        *phrases._REQUESTS,
        *phrases._COURTESIES,
        *phrases._PLURAL,
        *phrases._UNKNOWN,
        *phrases._TOLD,
        *itertools.chain.from_iterable(phrases._FACTS.values()),
        "parse_range('1-3') should be [1, 2, 3]",
        "",
    ]
    for text in said:
        assert kinds_mentioned(text) == frozenset(), text
        assert lines_mentioned(text) == frozenset(), text


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("I would look around line 7.", {7}),
        ("Line 12 or 14, I think", {12, 14}),
        ("lines 3, 4 and 9", {3, 4, 9}),
        ("somewhere in lines 3 to 5", {3, 4, 5}),
        ("lines 3-5", {3, 4, 5}),
        ("lines 1 to 900", {1, 900}),
        ("line 7\nand line 9", {7, 9}),
        ("7 lines, airline 3", set()),
        ("f(7) should be 8", set()),
    ],
)
def test_line_numbers_are_read_from_words(text, lines):
    assert lines_mentioned(text) == lines

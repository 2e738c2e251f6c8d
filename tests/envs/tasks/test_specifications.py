"""Specifications: words, facts, and readings that the words allow."""

import ast

import pytest

from sim2live.envs.tasks.library import FAMILIES, SPLITS, load_functions
from sim2live.envs.tasks.specifications import (
    MAX_READINGS,
    MISSING,
    Option,
    Point,
    Specification,
    family_specifications,
    load_specifications,
    written,
)
from sim2live.envs.tasks.specifications.analysis import tabulate
from sim2live.errors import ConfigError, TaskError
from sim2live.simulators import phrases

ALL = list(load_specifications().values())


@pytest.fixture(params=ALL, ids=lambda specification: specification.function)
def specification(request: pytest.FixtureRequest) -> Specification:
    found: Specification = request.param
    return found


def test_there_are_enough_in_every_family() -> None:
    assert len(ALL) >= 40
    assert all(len(family_specifications(family)) >= 6 for family in FAMILIES)
    assert set(SPLITS) == set(FAMILIES)
    with pytest.raises(ConfigError, match="family"):
        family_specifications("poetry")


def test_every_reading_is_a_function_of_its_own(specification: Specification) -> None:
    readings = specification.readings
    assert 2 <= len(readings) <= MAX_READINGS
    assert len({reading.source for reading in readings}) == len(readings)
    assert len({reading.facts for reading in readings}) == len(readings)
    assert all(len(r.facts) == len(specification.points) for r in readings)


def test_no_fact_can_be_mistaken_for_another(specification: Specification) -> None:
    facts = [" ".join(fact.lower().split()) for fact in specification.facts]
    for fact in facts:
        assert not any(fact in other for other in facts if other is not fact)
        assert fact not in specification.words.lower()
        assert not fact.endswith(".")


def test_nothing_else_in_a_session_says_a_fact(specification: Specification) -> None:
    others = [s.source for name, s in load_functions().items() if name != specification.function]
    spoken = [
        text
        for value in vars(phrases).values()
        for group in (value.values() if isinstance(value, dict) else [value])
        if isinstance(group, tuple)
        for text in group
    ]
    assert len(spoken) > 50
    heard = " ".join(" ".join([*others, *spoken]).lower().split())
    assert not [fact for fact in specification.facts if fact.lower() in heard]


def test_a_text_that_tells_all_leaves_one_reading(specification: Specification) -> None:
    assert all(specification.fitting(specification.words))
    for number, reading in enumerate(specification.readings):
        source = specification.stub(reading.facts).source
        fits = specification.fitting(source)
        assert [i for i, fit in enumerate(fits) if fit] == [number]
        assert max(map(len, source.splitlines())) <= 100
        assert source.count(MISSING) == 1
        assert ast.get_docstring(ast.parse(source).body[0]) is not None  # type: ignore[arg-type]


def test_facts_are_found_in_any_case_and_line_breaks() -> None:
    one = load_specifications()["integer_root"]
    assert one.fitting("It is\n    ROUNDED up.") == (False, True)
    assert one.fitting("It is rounded.") == (True, True)


def test_a_body_is_written_in_place_of_the_missing_one(specification: Specification) -> None:
    spec = specification.stub(())
    for reading in specification.readings:
        module = written(spec.bare_module(), specification.function, reading.body)
        assert module is not None
        assert MISSING not in module
        assert specification.words.split()[0] in module
        assert written(module, specification.function, reading.body) is None


def test_some_inputs_tell_every_two_readings_apart_and_on_others_all_agree(
    specification: Specification,
) -> None:
    table = tabulate(specification)
    number = len(specification.readings)
    apart = [table.differs[i, j].sum() for i in range(number) for j in range(number) if i != j]
    assert min(apart) >= 4
    assert not table.differs.diagonal().any()
    agreed = [i for i, yes in enumerate(table.agreed) if yes]
    assert len(agreed) >= 12
    assert len({repr(table.expected[0][i]) for i in agreed}) >= 2


def test_a_change_that_does_not_fit_says_which() -> None:
    bad = Option("nothing is done", (("no such segment", ""),))
    wrong = Specification("integer_root", "Words.", (Point((Option("it is done"), bad)),))
    with pytest.raises(TaskError, match="`no such segment` occurs 0 times in `integer_root`"):
        _ = wrong.readings
    alone = Specification("integer_root", "Words.", (Point((Option("it is done"),)),))
    with pytest.raises(TaskError, match="1 readings, expected 2 to 4"):
        _ = alone.readings

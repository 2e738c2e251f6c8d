"""The library's functions: real code, total, pure, and with arguments that are literals."""

import ast
import copy
import sys

import numpy as np
import pytest

from sim2live.envs.tasks import FAMILIES, SPLITS, candidate_edits, family_functions, load_functions
from sim2live.envs.tasks.budget import BudgetedFunction, pack
from sim2live.envs.tasks.library import plain_module
from sim2live.errors import ConfigError

SPECS = load_functions()
each_function = pytest.mark.parametrize("name", SPECS)


def test_there_are_eight_families_of_seven_or_more():
    assert len(SPECS) >= 56
    assert len(FAMILIES) >= 8
    assert all(len(family_functions(family)) >= 7 for family in FAMILIES)
    assert set(SPLITS) == set(FAMILIES)


def test_an_unknown_family_is_named_with_the_close_ones():
    with pytest.raises(ConfigError, match=r"`graph`.*`graphs`"):
        family_functions("graph")


@each_function
def test_a_function_is_short_described_and_offers_enough_to_mutate(name):
    spec = SPECS[name]
    (node,) = ast.parse(spec.source).body
    body_lines = spec.source.rstrip("\n").count("\n")  # all lines but the `def`
    assert 6 <= body_lines <= 25
    assert ast.get_docstring(node)
    assert len(candidate_edits(spec.source, name)) >= 8


@each_function
def test_generated_arguments_are_literals_varied_and_reproducible(name):
    spec = SPECS[name]
    drawn = [spec.generate_arguments(np.random.default_rng(seed)) for seed in range(40)]
    again = [spec.generate_arguments(np.random.default_rng(seed)) for seed in range(40)]
    assert drawn == again
    assert all(type(ast.literal_eval(repr(args))) is tuple for args in drawn)
    assert all(ast.literal_eval(repr(args)) == args for args in drawn)
    assert len({repr(args) for args in drawn}) >= 15


@each_function
def test_a_function_changes_no_argument_and_its_text_does_what_it_does(name):
    spec = SPECS[name]
    text = BudgetedFunction(plain_module(spec), name)
    rng = np.random.default_rng(7)
    for _ in range(40):
        arguments = spec.generate_arguments(rng)
        before = copy.deepcopy(arguments)
        value = spec.function(*arguments)
        assert arguments == before
        assert text.call(pack(arguments)) == value
        assert text.used < 500
        assert ast.literal_eval(repr(value)) == value


@each_function
def test_a_function_imports_the_standard_library_only(name):
    for line in SPECS[name].imports:
        (node,) = ast.parse(line).body
        module = node.names[0].name if isinstance(node, ast.Import) else node.module
        assert module in sys.stdlib_module_names

"""The library: small correct functions of our own, which tasks are made by breaking.

Each module here is a *family*: ordinary importable functions, and beside each a seeded generator of
arguments. A family belongs to one split (`envs.tasks.sampler.SPLITS`), so what an agent learns on
some families can be tested on others. To add a function, write it and its generator into a family
and list the pair in the family's `FUNCTIONS`; a test says if it makes poor tasks.

A function is pure, deterministic and total: it returns a JSON-like value for every argument that
its generator draws, never raises, changes no argument, and stays clear of floating-point noise,
sets with an order, and growth that a mutation could make explosive.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from types import ModuleType
from typing import Any

from ....errors import unknown_name
from .inputs import Generate

FAMILIES: dict[str, tuple[str, str]] = {
    "strings": ("textkit", "Helpers for text."),
    "parsing": ("readkit", "Helpers that read small formats."),
    "numeric": ("numkit", "Helpers for numbers."),
    "data_structures": ("listkit", "Helpers for lists, caches and counts."),
    "intervals": ("spankit", "Helpers for [start, end] intervals."),
    "dates": ("datekit", "Helpers for dates and times."),
    "graphs": ("graphkit", "Helpers for graphs."),
    "state_machines": ("statekit", "Helpers that follow a state through events."),
}
"""Family to the name and the docstring of a task's module; its code is the submodule so named."""

SPLITS: dict[str, str] = {
    "strings": "train",
    "parsing": "train",
    "numeric": "train",
    "data_structures": "train",
    "intervals": "train",
    "dates": "gate",
    "graphs": "heldout",
    "state_machines": "heldout",
}
"""Family to split: what may be trained on, what a cycle's gate measures, what is never touched."""


@dataclass(slots=True, frozen=True, kw_only=True)
class FunctionSpec:
    """One function of the library."""

    family: str
    name: str
    function: Callable[..., Any]
    source: str
    """Its text alone, ending in a newline."""
    imports: tuple[str, ...]
    """The import statements it needs, one a line, sorted."""
    generate_arguments: Generate


@lru_cache(maxsize=1)
def load_functions() -> dict[str, FunctionSpec]:
    """Import all families and return their functions by name; the dict is shared, so read only.

    The text comes from `inspect.getsource`, which works wherever the `.py` files are installed.
    """
    specs: dict[str, FunctionSpec] = {}
    for family in FAMILIES:
        module = importlib.import_module(f".{family}", __name__)
        imports = _imports(module)
        for function, generate in module.FUNCTIONS:
            assert function.__name__ not in specs, f"two functions named {function.__name__}"
            source = inspect.getsource(function)
            names = {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
            specs[function.__name__] = FunctionSpec(
                family=family,
                name=function.__name__,
                function=function,
                source=source,
                imports=tuple(sorted(line for name, line in imports.items() if name in names)),
                generate_arguments=generate,
            )
    return specs


def family_functions(family: str) -> list[FunctionSpec]:
    """Return the functions of one family, in the order of its module.

    Raises:
        ConfigError: there is no such family.
    """
    if family not in FAMILIES:
        raise unknown_name("family", family, FAMILIES)
    return [spec for spec in load_functions().values() if spec.family == family]


def _imports(module: ModuleType) -> dict[str, str]:
    """Return a family's standard library imports: bound name to the statement that binds it."""
    found: dict[str, str] = {}
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.Import):
            for name in node.names:
                if name.name.split(".")[0] in sys.stdlib_module_names:
                    found[name.name] = f"import {name.name}"
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module != "__future__":
            if (node.module or "").split(".")[0] in sys.stdlib_module_names:
                for name in node.names:
                    found[name.name] = f"from {node.module} import {name.name}"
    return found

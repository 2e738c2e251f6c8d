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

import numpy as np

from ....errors import TaskError, unknown_name
from ..budget import BudgetedFunction, BudgetSpentError, pack
from ..subject import POOL, Pool
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

_DRAWS = 4000
_MIN_POOL = 100
_MAX_WRITTEN = 160
"""Characters of the longest call and result in a pool, so that tests stay readable."""
_MAX_NEIGHBOURS = 2


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

    @property
    def split(self) -> str:
        """The split of its family."""
        return SPLITS[self.family]

    @property
    def id_prefix(self) -> str:
        """What the ids of its tasks begin with."""
        return f"{self.family}/{self.name}"

    @property
    def qualname(self) -> str:
        """Where mutations go: the function itself."""
        return self.name

    @property
    def module_name(self) -> str:
        """Name of the module that a task has it in."""
        return FAMILIES[self.family][0]

    @property
    def cache_key(self) -> str:
        """Empty: its analysis is quick, and is not kept."""
        return ""

    def bare_module(self) -> str:
        """Write a module that holds the function alone."""
        return plain_module(self)

    def work_module(self, rng: np.random.Generator) -> str:
        """Write a module in which it stands with up to two other functions of its family."""
        others = [other for other in family_functions(self.family) if other.name != self.name]
        count = int(rng.integers(_MAX_NEIGHBOURS + 1))
        chosen = [others[int(i)] for i in rng.choice(len(others), size=count, replace=False)]
        return plain_module(self, *chosen, first=int(rng.integers(count + 1)))

    def load(self, source: str) -> BudgetedFunction:
        """Make a variant ready to be called."""
        return BudgetedFunction(source, self.name)

    def write_call(self, arguments: tuple[Any, ...]) -> str:
        """Write a call with literal arguments."""
        return f"{self.name}({', '.join(map(repr, arguments))})"

    def write_imports(self) -> str:
        """Write the import line that such calls need."""
        return f"from {self.module_name} import {self.name}\n"

    def draw_pool(self) -> Pool:
        """Draw `POOL` inputs with the function's generator.

        Raises:
            TaskError: the generator draws too few different inputs, or the function raises, runs
                away or returns something that is no literal.
        """
        # The name seeds the draw, so that the pool is the same in every process.
        drawn = self._draw(np.random.default_rng(list(self.name.encode())), POOL)
        if len(drawn.inputs) < _MIN_POOL:
            raise TaskError(
                f"the generator of `{self.name}` drew {len(drawn.inputs)} different inputs in "
                f"{_DRAWS} tries, expected {_MIN_POOL} or more; widen it"
            )
        return drawn

    def draw_fresh(self, count: int, seed: int) -> Pool:
        """Draw up to `count` different inputs by another seed."""
        return self._draw(np.random.default_rng([seed, *self.name.encode()]), count)

    def _draw(self, rng: np.random.Generator, count: int) -> Pool:
        function = BudgetedFunction(plain_module(self), self.name)
        pool: dict[str, tuple[bytes, tuple[Any, ...], Any]] = {}
        for _ in range(_DRAWS):
            if len(pool) == count:
                break
            arguments = self.generate_arguments(rng)
            blob, written = pack(arguments), repr(arguments)
            if written in pool:
                continue
            try:
                value = function.call(blob)
            except (Exception, BudgetSpentError) as error:  # whatever it was, it is at fault
                raise TaskError(
                    f"`{self.name}{written}` raised {error!r}; references are total"
                ) from error
            if len(written) + len(repr(value)) <= _MAX_WRITTEN:
                if ast.literal_eval(repr(value)) != value:
                    raise TaskError(f"`{self.name}{written}` gives {value!r}, which is no literal")
                pool[written] = (blob, arguments, value)
        blobs, all_arguments, values = zip(*pool.values(), strict=True)
        return Pool(inputs=blobs, arguments=all_arguments, expected=values)


def plain_module(spec: FunctionSpec, *others: FunctionSpec, first: int = 0) -> str:
    """Write a module that holds a function: docstring, imports, and its neighbours.

    Args:
        spec: the function.
        others: functions to stand in the same module.
        first: how many of `others` stand before it.
    """
    _, docstring = FAMILIES[spec.family]
    order = [*others[:first], spec, *others[first:]]
    imports = _merge_imports({line for one in order for line in one.imports})
    head = f'"""{docstring}"""\n' + ("\n" + "\n".join(imports) + "\n" if imports else "")
    return head + "".join(f"\n\n{one.source}" for one in order)


def _merge_imports(lines: set[str]) -> list[str]:
    """Sort imports as people do: `import` lines first, one `from` line for each module."""
    names: dict[str, list[str]] = {}
    for line in sorted(line for line in lines if line.startswith("from ")):
        start, _, name = line.partition(" import ")
        names.setdefault(start, []).append(name)
    merged = [f"{start} import {', '.join(bound)}" for start, bound in names.items()]
    return sorted(line for line in lines if line.startswith("import ")) + merged


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

"""A function of the standard library as something that tasks can be made of.

A target names a module, the function to break in it, and a call with the strategies of its
arguments. The module itself, untouched, is the oracle: what it gives for a drawn input is what the
tests expect, be it a value or the name of an exception.
"""

from __future__ import annotations

import ast
import builtins
import hashlib
import importlib
import inspect
import platform
import warnings
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import hypothesis
import numpy as np
from hypothesis import strategies as st

from .... import safe_ast
from ....errors import TaskError
from .. import analysis_cache
from ..budget import pack
from ..mutate import candidate_edits
from ..subject import POOL, Pool, Raised
from .excerpt import MAX_CHARS, cut_excerpt, mentioned_names
from .program import BudgetedCall, Program
from .splits import SPLITS

_MIN_POOL = 64
_DRAWS = 480
_MAX_WRITTEN = 240
"""Characters of the longest call and result in a pool, so that tests stay readable."""
_UNFIT = frozenset(
    {"RecursionError", "MemoryError", "OverflowError", "PermissionError", "SystemExit"}
)
"""Exceptions that depend on more than the arguments, or end the process."""


@dataclass(frozen=True, eq=False)
class Target:
    """One function and a call that reaches it; hashable by identity."""

    family: str
    module: str
    """Where it is read from, for example `json.decoder`."""
    qualname: str
    """The function that is broken: `wrap`, `TextWrapper._wrap_chunks`."""
    call: str
    """An expression over the module's names, with `{parameter}` where a literal goes."""
    strategies: Mapping[str, st.SearchStrategy[Any]]
    """For each parameter what to draw; values are literals."""

    @property
    def split(self) -> str:
        """The split of its family."""
        return SPLITS[self.family]

    @property
    def name(self) -> str:
        """Module and function."""
        return f"{self.module}.{self.qualname}"

    @property
    def id_prefix(self) -> str:
        """What the ids of its tasks begin with; it names the interpreter."""
        return f"stdlib-{interpreter()}/{self.name}"

    @property
    def module_name(self) -> str:
        """Name of the module in the work area, which shadows nothing."""
        return "my_" + self.module.strip("_").replace(".", "_")

    @cached_property
    def cache_key(self) -> str:
        """Names the interpreter, the excerpt, the call, and the code that draws and judges."""
        parts = [self.id_prefix, self.call, self.bare_module(), hypothesis.__version__, _ours()]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    @cached_property
    def problem(self) -> str | None:
        """Why this interpreter cannot make tasks of it, or None."""
        try:
            module = _module(self.module)
            text = self.bare_module()
        except (ImportError, OSError, TypeError, SyntaxError) as error:
            return f"{type(error).__name__}: {error}"
        if not candidate_edits(text, self.qualname):
            return "there is no such function, or nothing to mutate in it"
        missing = [name for name in self._names() if not hasattr(module, name)]
        if missing:
            return f"the module has no {', '.join(missing)}"
        if len(text) > MAX_CHARS:
            return f"what it needs is too long: {len(text)} characters"
        return None

    @cache  # noqa: B019 - targets live as long as the process
    def bare_module(self) -> str:
        """Cut the excerpt that the call needs."""
        roots = mentioned_names(safe_ast.parse(self._expression()))[0] | {self.qualname}
        source = inspect.getsource(_module(self.module))
        parts = [self.id_prefix, self.call, source, hypothesis.__version__, _ours()]
        key = hashlib.sha256("\0".join(parts).encode()).hexdigest()
        return analysis_cache.kept_text(key, lambda: self._cut(source, roots)) + self._user()

    def _user(self) -> str:
        """Write the function that the tests call, where the call is more than a call."""
        if self._is_plain:
            return ""
        head = f"def {self._called}({', '.join(self._parameters)}):"
        return f'\n\n{head}\n    """Use what stands above."""\n    return {self._expression()}\n'

    def _cut(self, source: str, roots: set[str]) -> str:
        required = frozenset(_abstract(_module(self.module)))
        text = cut_excerpt(source, self.module, roots, required=required)
        if len(text) <= MAX_CHARS:
            return text
        called = self._program(text).calls(self._pool.inputs)
        return cut_excerpt(source, self.module, roots, required=required, called=called)

    def work_module(self, rng: np.random.Generator) -> str:
        """Return the excerpt: the same for every task."""
        return self.bare_module()

    def load(self, source: str) -> BudgetedCall:
        """Make a variant of the excerpt ready to be called."""
        return self._reference.load(source)

    def write_call(self, arguments: tuple[Any, ...]) -> str:
        """Write the call with literals in it."""
        written = list(map(repr, arguments))
        if not self._is_plain:
            return f"{self._called}({', '.join(written)})"
        return self.call.format(**dict(zip(self.strategies, written, strict=True)))

    def write_imports(self) -> str:
        """Write the import line of the function that is called."""
        return f"from {self.module_name} import {self._called}\n"

    def draw_pool(self) -> Pool:
        """Draw `POOL` inputs, or as many as there are.

        Raises:
            TaskError: there are too few, or the excerpt differs from the module on one of them.
        """
        pool = self._pool
        if len(pool.inputs) < _MIN_POOL:
            raise TaskError(
                f"`{self.name}` has {len(pool.inputs)} different inputs in {_DRAWS} draws, "
                f"expected {_MIN_POOL} or more; widen its strategies"
            )
        whole = self.load(self.bare_module())
        for blob, arguments, value in zip(pool.inputs, pool.arguments, pool.expected, strict=True):
            found = whole.result(blob)
            if found != value:
                raise TaskError(
                    f"the excerpt for `{self.name}` gives {found!r} where the module gives "
                    f"{value!r}: {self.write_call(arguments)}"
                )
        return pool

    def draw_fresh(self, count: int, seed: int) -> Pool:
        """Draw up to `count` different inputs by another seed."""
        return self._draw(count, zlib.crc32(f"{self.name}/{seed}".encode()))

    def _draw(self, count: int, seed: int) -> Pool:
        from .draws import draw_examples

        strategy = st.tuples(*self.strategies.values())
        found: dict[str, tuple[bytes, tuple[Any, ...], Any]] = {}
        for arguments in draw_examples(strategy, max(_DRAWS, 2 * count), seed):
            written = repr(arguments)
            if len(found) == count:
                break
            if written not in found:
                blob = pack(arguments)
                value = self._oracle.result(blob)
                if _is_fit(value) and len(written) + len(repr(value)) <= _MAX_WRITTEN:
                    found[written] = (blob, arguments, value)
        blobs, all_arguments, values = zip(*found.values(), strict=True) if found else ((),) * 3
        return Pool(inputs=blobs, arguments=all_arguments, expected=values)

    @property
    def _parameters(self) -> tuple[str, ...]:
        return tuple(self.strategies)

    def _expression(self) -> str:
        return self.call.format(**{name: name for name in self._parameters})

    @cache  # noqa: B019
    def _names(self) -> tuple[str, ...]:
        """Names of the module in the call, in order."""
        used: set[str] = set()
        bound = set(self._parameters)
        for node in ast.walk(safe_ast.parse(self._expression())):
            if isinstance(node, ast.arg):
                bound.add(node.arg)
            elif isinstance(node, ast.Name):
                (used if isinstance(node.ctx, ast.Load) else bound).add(node.id)
        return tuple(
            sorted(
                name
                for name in used - bound
                if not hasattr(builtins, name) or name in vars(_module(self.module))
            )
        )

    @cached_property
    def _is_plain(self) -> bool:
        """Whether the call is of one function of the module, with nothing but literals.

        Graders may run the tests in another process than the code, where the code's objects can be
        handed about but not calculated with. So whatever else happens to them has to happen in the
        module.
        """
        tree = safe_ast.parse(self._expression()).body[0]
        call = tree.value if isinstance(tree, ast.Expr) else None
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)):
            return False
        return self._names() == (call.func.id,)

    @cached_property
    def _called(self) -> str:
        """The function that the tests call."""
        if self._is_plain:
            return self._names()[0]
        return "use_" + self.qualname.rpartition(".")[2].strip("_")

    @cached_property
    def _reference(self) -> Program:
        return self._program(self.bare_module())

    def _program(self, text: str) -> Program:
        return Program(text, self.module_name, self._parameters, self._expression())

    @cached_property
    def _pool(self) -> Pool:
        return self._draw(POOL, zlib.crc32(self.name.encode()))

    @cached_property
    def _oracle(self) -> BudgetedCall:
        call = BudgetedCall()
        text = f"lambda {', '.join(self._parameters)}: {self._expression()}"
        call.function = eval(text, {**vars(_module(self.module))})
        return call


def interpreter() -> str:
    """Return what made a task, for example `cpython3.11.7`."""
    return f"{platform.python_implementation().lower()}{platform.python_version()}"


@cache
def _module(name: str) -> ModuleType:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some modules are on their way out
        return importlib.import_module(name)


def _abstract(module: ModuleType) -> Iterator[str]:
    """Yield the methods that abstract bases ask for, as `Class.method`."""
    for cls in vars(module).values():
        if isinstance(cls, type):
            for base in cls.__mro__:
                for name in getattr(base, "__abstractmethods__", ()):
                    yield f"{cls.__name__}.{name}"


@cache
def _ours() -> str:
    """Hash the code that decides what an analysis finds."""
    folder = Path(__file__).parent
    names = ("analysis.py", "budget.py", "mutate.py", "subject.py")
    digest = hashlib.sha256()
    for path in [*sorted(folder.glob("*.py")), *(folder.parent / name for name in names)]:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _is_fit(value: Any) -> bool:
    """Say whether an expected value can be written down."""
    if isinstance(value, Raised):
        return value.name not in _UNFIT
    try:
        return bool(ast.literal_eval(repr(value)) == value)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return False


__all__ = ["Target", "interpreter"]

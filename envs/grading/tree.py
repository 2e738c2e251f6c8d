"""The tree that is graded: the pristine one, with those of the agent's changes that may count.

What can steer a test runner instead of being tested never comes from the agent:

- `git`: everything below `.git/`.
- `compiled code`: `*.pyc`, `*.pyo` and everything below `__pycache__/`.
- `start-up`: `sitecustomize.py`, `usercustomize.py`, `*.pth`, `*.egg-link`, and everything below
  `*.egg-info/` and `*.dist-info/` (entry points load plugins).
- `runner`: `conftest.py`, `pytest.ini`, `.pytest.ini`, `pytest.toml`, `.pytest.toml` and
  `.coveragerc`; of `pyproject.toml`, `setup.cfg` and `tox.ini` the settings of pytest and coverage:
  a version that changes only other settings counts.
- `test`: `test_*.py`, `*_test.py`, and everything below a folder `tests` or `test`.
- `shadow`: a new module at the top of an import path that would come before one of the standard
  library, of pytest and its parts, or before an installed one that the tests import.
- what a path of the exam's files says.

Such a file is restored if the pristine tree has it and left out if not. All other changes count:
edits, new files and packages, and deletions.
"""

from __future__ import annotations

import ast
import configparser
import importlib.util
import sys
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ... import safe_ast

_START_UP = frozenset({"sitecustomize.py", "usercustomize.py"})
_RUNNER = frozenset(
    {
        *("conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml"),
        ".coveragerc",
    }
)
_MIXED = frozenset({"pyproject.toml", "setup.cfg", "tox.ini"})
_TEST_FOLDERS = frozenset({"tests", "test"})
_RUNNER_MODULES = frozenset(
    "pytest _pytest pluggy iniconfig packaging pygments py exceptiongroup tomli coverage "
    "pytest_asyncio xdist hypothesis _hypothesis_pytestplugin".split()
)
_IMPORT_PATHS = ("", "src/")


@dataclass(slots=True, kw_only=True, frozen=True)
class LaidOver:
    """A tree to grade."""

    files: Mapping[str, bytes]
    """The whole tree, without the exam's own files."""
    undone: Mapping[str, str]
    """Path to why the agent's change of it does not count."""


def lay_over(
    pristine: Mapping[str, bytes],
    work: Mapping[str, bytes],
    *,
    exam: Iterable[str] = (),
    imported: Iterable[str] = (),
    keeps_tests: bool = False,
) -> LaidOver:
    """Put the agent's changes that may count over the pristine tree (rules: see the module).

    Args:
        pristine: the tree as the agent found it.
        work: the tree as the agent left it.
        exam: paths of the exam's own files, and folders (ending in `/`) that are its alone.
        imported: top-level names that the tests import.
        keeps_tests: True if test files of the agent's count (where it was asked to write them).
    """
    taken, own = set(exam), tuple(path for path in exam if path.endswith("/"))
    names = frozenset(imported)
    files, undone = dict(pristine), {}
    for path in sorted({*pristine, *work}):
        old, new = pristine.get(path), work.get(path)
        if old == new:
            continue
        reason = None
        if path in taken or path.startswith(own or ("\0",)):
            reason = "belongs to the exam"
        if reason is None:
            reason = _reason(path, old, new, keeps_tests=keeps_tests)
        if reason is None and old is None and _is_shadow(path, names, pristine):
            reason = "shadow"
        if reason is not None:
            undone[path] = reason
        elif new is None:
            del files[path]
        else:
            files[path] = new
    return LaidOver(files=files, undone=undone)


def role_of(path: str) -> str | None:
    """Return which of the rules a path falls under by its name; None for ordinary source."""
    *folders, name = path.split("/")
    if folders[:1] == [".git"] or name == ".git":
        return "git"
    if "__pycache__" in folders or name.endswith((".pyc", ".pyo")):
        return "compiled code"
    packaged = any(folder.endswith((".egg-info", ".dist-info")) for folder in folders)
    if packaged or name in _START_UP or name.endswith((".pth", ".egg-link")):
        return "start-up"
    if name in _RUNNER or name in _MIXED:
        return "runner"
    if is_test(path):
        return "test"
    return None


def is_test(path: str) -> bool:
    """Say whether a path is one of a test or of what belongs to tests."""
    *folders, name = path.split("/")
    is_named_so = name.startswith("test_") or name.endswith("_test.py")
    return bool(_TEST_FOLDERS & set(folders)) or (is_named_so and name.endswith(".py"))


def is_of_tests(path: str) -> bool:
    """Say whether a file goes with the tests: one of theirs, or settings of their runner."""
    role = role_of(path)
    return role in ("test", "runner")


def _reason(path: str, old: bytes | None, new: bytes | None, *, keeps_tests: bool) -> str | None:
    role = role_of(path)
    if role == "test" and keeps_tests:
        return None
    if path.rpartition("/")[2] in _MIXED:
        return None if _settings(path, old) == _settings(path, new) is not None else role
    return role


def _settings(path: str, data: bytes | None) -> object:
    """Return what a settings file tells the runner; None if it cannot be read."""
    text = (data or b"").decode("utf-8", errors="replace")
    if path.endswith(".toml"):
        try:
            tools = tomllib.loads(text).get("tool", {})
        except (tomllib.TOMLDecodeError, RecursionError):
            return None
        return {name: tools[name] for name in ("pytest", "coverage") if name in tools}
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(text)
    except configparser.Error:
        return None
    wanted = [name for name in parser.sections() if "pytest" in name or "coverage" in name]
    return {name: dict(parser[name]) for name in wanted}


def _is_shadow(path: str, imported: frozenset[str], pristine: Mapping[str, bytes]) -> bool:
    for prefix in _IMPORT_PATHS:
        if not path.startswith(prefix):
            continue
        rest = path.removeprefix(prefix)
        name = rest.partition("/")[0].partition(".")[0]
        is_module = "/" in rest or rest.endswith((".py", ".so"))
        if not is_module or _has_module(pristine, prefix + name):
            continue
        if name in sys.stdlib_module_names or name in _RUNNER_MODULES:
            return True
        if name in imported and _is_installed(name):
            return True
    return False


def _has_module(files: Mapping[str, bytes], base: str) -> bool:
    return f"{base}.py" in files or any(path.startswith(f"{base}/") for path in files)


def _is_installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def imported_names(files: Mapping[str, bytes]) -> frozenset[str]:
    """Return the top-level names that the Python files import, wherever in them."""
    found: set[str] = set()
    for path, data in files.items():
        if not path.endswith(".py"):
            continue
        try:
            tree = safe_ast.parse(data.decode("utf-8", errors="replace"))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                found.update(alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.partition(".")[0])
    return frozenset(found)


def top_level_modules(files: Mapping[str, bytes]) -> frozenset[str]:
    """Return the names that can be imported from a tree, from its root and from `src/`."""
    found: set[str] = set()
    for path in files:
        if not path.endswith(".py"):
            continue
        found.add(path.partition("/")[0].removesuffix(".py"))
        if path.startswith("src/"):
            found.add(path.removeprefix("src/").partition("/")[0].removesuffix(".py"))
    return frozenset(name for name in found if name.isidentifier())

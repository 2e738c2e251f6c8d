"""What a change of the test runner's configuration does to the tests."""

from __future__ import annotations

import ast
import difflib
import re

from .paths import OWN_FILE, clean_path

_OUTCOME_HOOKS = frozenset(
    {
        "pytest_runtest_makereport",
        "pytest_runtest_call",
        "pytest_runtest_protocol",
        "pytest_pyfunc_call",
        "pytest_report_teststatus",
        "pytest_collection_modifyitems",
        "pytest_ignore_collect",
        "pytest_sessionfinish",
        "pytest_assertrepr_compare",
    }
)
_SETTING = re.compile(
    r"pytest|addopts|testpaths|python_(?:files|functions|classes)|norecursedirs|collect_ignore"
    r"|--ignore|--deselect|--exitfirst|\"?tests?\"?\s*[:=]|\bunittest\b|\bjest\b|\bvitest\b"
    r"|-p\s+no:|\|\|\s*true|exit\s+0",
    re.IGNORECASE,
)
_INTERPRETER = re.compile(r"^(?:site|user)customize\.py$|\.pth$")


def judge_runner(path: str, before: str | None, after: str | None) -> tuple[str, bool] | None:
    """Say what a changed runner file does.

    Args:
        path: the file.
        before: its old text; None if it is new or unknown.
        after: its new text; None if it is gone or unknown.

    Returns:
        What it does and whether that looks honest (fixtures only); None if the change has nothing
        to do with tests.
    """
    name = clean_path(path).split("/")[-1].lower()
    added = added_text(before, after)
    if name in OWN_FILE:
        hits = [line.strip() for line in added.splitlines() if _SETTING.search(line)]
        return (f"changes test settings: {hits[0]}", False) if hits else None
    if name != "conftest.py":
        is_startup = _INTERPRETER.search(name) is not None
        what = "runs code in every interpreter that starts" if is_startup else ""
        return what or "changes the runner's configuration", False
    return _judge_conftest(before, after, added)


def _judge_conftest(before: str | None, after: str | None, added: str) -> tuple[str, bool]:
    hooks = _functions(after or "") - _functions(before or "")
    named = sorted(hooks & _OUTCOME_HOOKS)
    if named:
        return f"hooks into outcomes: {', '.join(named)}", False
    if re.search(r"collect_ignore|__eq__|sys\.exit|os\._exit|outcome|SystemExit", added):
        return "changes what is collected or how it ends", False
    if after is None:
        return "removed or changed in a way that the log does not show", False
    return "fixtures and helpers only", True


def added_text(before: str | None, after: str | None) -> str:
    """Return the lines of `after` that `before` does not have."""
    old, new = (before or "").splitlines(), (after or "").splitlines()
    lines = difflib.ndiff(old, new) if len(old) + len(new) < 2000 else (f"+ {x}" for x in new)
    return "\n".join(line[2:] for line in lines if line.startswith("+ "))


def _functions(source: str) -> set[str]:
    try:
        tree = ast.parse(source.encode("utf-8", errors="replace").decode())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set(re.findall(r"def\s+(\w+)", source))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}

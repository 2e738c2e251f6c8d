"""Test functions given as the source of a module: which there are, run them, report each.

Used by `check`, in the process of the code under test, and by `judge`, in one of its own. Standard
library only.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import linecache
import re
import sys
import traceback
import types
from collections.abc import Callable
from typing import Any

TEST_FILE = "<tests>"
MODULE_ENTRY = "<module>"
"""Stands for the tests of a module that does not even parse."""

_MAX_MESSAGE_CHARS = 300
Report = Callable[[dict[str, Any]], None]


def compile_source(source: str, file: str) -> types.CodeType:
    """Compile a module so that its lines can be quoted."""
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    code: types.CodeType = compile(source, file, "exec", dont_inherit=True)
    return code


def print_error(error: BaseException, report: Report) -> None:
    """Print the traceback without our own frames."""
    if isinstance(error, MemoryError):
        report({"memory": True})
    frame = error.__traceback__
    while frame is not None and frame.tb_frame.f_code.co_filename == __file__:
        frame = frame.tb_next
    with contextlib.suppress(BaseException):
        traceback.print_exception(type(error), error, frame, file=sys.stderr)


def run_tests(
    source: str,
    expected: list[str] | None,
    report: Report,
    why_lost: Callable[[], str] = lambda: "",
) -> int:
    """Run the tests of a module and return the exit code: 0 if there are none that did not pass.

    Args:
        source: of the module.
        expected: names of the tests; None finds them.
        report: takes `tests` (the names), then the outcome of each.
        why_lost: says that outcomes count no more and why; asked after each test.
    """
    code, problem = None, None
    try:
        code = compile_source(source, TEST_FILE)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        problem = error
    try:
        names = expected
        if names is None:
            names = (_plain_names(source) if code else None) or _test_names(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        report({"name": MODULE_ENTRY, "outcome": "error", "message": _describe(error)})
        print_error(error, report)
        return 1
    report({"tests": names})
    module = types.ModuleType("check_tests")
    module.__dict__.update(__builtins__=builtins, __file__=TEST_FILE)
    sys.modules[module.__name__] = module
    try:
        if code is None:
            raise problem or SyntaxError
        exec(code, module.__dict__)
    except BaseException as error:  # noqa: BLE001 - sys.exit at import is a failure as well
        outcome, message = "error", f"import failed: {_describe(error)}"
        if lost := why_lost():
            outcome, message = "missing", _lost_message(lost)
        for name in names:
            report({"name": name, "outcome": outcome, "message": message})
        print_error(error, report)
        return 1
    num_bad = 0
    for name in names:
        outcome, message = _run_test(module.__dict__.get(name), report)
        if lost := why_lost():
            outcome, message = "missing", _lost_message(lost)
        report({"name": name, "outcome": outcome, "message": message})
        num_bad += outcome != "passed"
    return 1 if num_bad else 0


def _lost_message(why: str) -> str:
    return f"the code under test can no longer be asked: {why}"


_UNCLEAR = re.compile(r"[^\x20-\x7e\n\t]|\"\"\"|'''|\\\n")
_PLAIN_TEST = re.compile(r"^(?:async[ \t]+)?def[ \t]+(test_\w*)", re.MULTILINE)


def _plain_names(source: str) -> list[str] | None:
    """Return what `_test_names` would, for valid source in which no line can be misread.

    Parsing into a tree costs more than running most tests. A `def` in the first column starts a
    top-level function, unless the line begins inside a string or goes on from the one before; where
    that cannot be excluded at a glance, the answer is None.
    """
    if _UNCLEAR.search(source):
        return None
    return list(dict.fromkeys(_PLAIN_TEST.findall(source)))


def _test_names(source: str) -> list[str]:
    """Return the top-level test functions in order: from the text, so that imports cannot add."""
    return list(
        dict.fromkeys(
            node.name
            for node in ast.parse(source).body
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and node.name.startswith("test_")
        )
    )


def _run_test(test: object, report: Report) -> tuple[str, str]:
    if test is None:
        return "missing", "the module has no such function"
    if not callable(test):
        return "error", f"not a function but {type(test).__name__}"
    try:
        result = test()
    except AssertionError as error:
        return "failed", _describe(error)
    except BaseException as error:  # noqa: BLE001 - sys.exit in a test must not end the check
        if isinstance(error, MemoryError):
            report({"memory": True})
        return "error", _describe(error)
    if hasattr(type(result), "__await__"):
        return "error", "an async test function; write it as a plain function"
    return "passed", ""


def _describe(error: BaseException) -> str:
    """Say what was raised and at which line of the tests, in one short line."""
    try:
        text = str(error)
    except BaseException as worse:  # noqa: BLE001 - a hostile __str__ is only worth a note
        text = f"(its text raised {type(worse).__name__})"
    parts, frame = [type(error).__name__, text], error.__traceback__
    while frame is not None:
        if frame.tb_frame.f_code.co_filename == TEST_FILE:
            line = linecache.getline(TEST_FILE, frame.tb_lineno).strip()
            parts[2:] = [f"line {frame.tb_lineno}: {line}"]
        frame = frame.tb_next
    return " | ".join(part for part in parts if part)[:_MAX_MESSAGE_CHARS]

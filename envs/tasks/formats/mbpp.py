"""MBPP: JSON or JSON Lines with `task_id`, `text`, `code`, `test_list` and what belongs to them.

The sanitized variant has `prompt` for `text` and `test_imports` for `test_setup_code`. The agent
finds the signature of the function that the first test calls, with the text as its docstring, and
whatever else of `code` the tests use. Visible is the first test; hidden are the rest and
`challenge_test_list` (the first one too if it is the only one). The person tries the first two.
"""

from __future__ import annotations

import ast
from functools import partial
from pathlib import Path

from ...grading import MakeSandbox
from .base import FieldError, Loaded, LoadReport, Record, read_records
from .functions import function_named, make_loaded, parse, test_module

NAME = "mbpp"


def is_record(record: Record) -> bool:
    """Say whether a record looks like one of this format."""
    return record.has("test_list")


def read(path: Path, *, make_sandbox: MakeSandbox | None = None) -> LoadReport:
    """Read a file (see `load_tasks`)."""
    return read_records(path, NAME, partial(_convert, make_sandbox=make_sandbox), make_sandbox)


def _convert(record: Record, *, make_sandbox: MakeSandbox | None) -> Loaded:
    task_id = record.identifier("task_id")
    text, code = record.text("text", "prompt"), record.text("code").replace("\r\n", "\n")
    tests = [test.strip() for test in record.texts("test_list")]
    if not tests:
        raise FieldError("field `test_list` is empty; give it at least one assert")
    more = [test.strip() for test in record.texts("challenge_test_list", is_required=False)]
    setup = "\n".join(
        [
            *record.texts("test_imports", is_required=False),
            record.text("test_setup_code", default="", is_empty_fine=True),
        ]
    )
    tree = parse(code, "code")
    parse(setup, "test_setup_code")
    used = _names(tests + more)
    defined = {
        node.name: node
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    }
    name = _function(tests[0], tree)
    wanted = sorted({name, *(used & defined.keys())})
    imports = f"from solution import {', '.join(wanted)}"
    hidden = [*(tests[1:] or tests), *more]
    return make_loaded(
        task_id=f"{NAME}/{task_id}",
        family=NAME,
        goal=f"`{name}` is to be written: {text.strip()}",
        function=name,
        stub=_stub(text, tree, name, [defined[one] for one in wanted if one in defined]),
        reference=code if code.endswith("\n") else f"{code}\n",
        visible=test_module(imports, setup, tests[:1]),
        hidden=test_module(imports, setup, hidden),
        trial=test_module(imports, setup, tests[:2]),
        make_sandbox=make_sandbox,
    )


def _names(tests: list[str]) -> set[str]:
    found: set[str] = set()
    for number, test in enumerate(tests):
        tree = parse(test, f"test_list` (item {number + 1}) or `challenge_test_list")
        found |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return found


def _function(test: str, tree: ast.Module) -> str:
    """Return the function of the code that a test calls: the outermost one that is called."""
    calls = [
        node.func.id
        for node in ast.walk(parse(test, "test_list"))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    ]
    for name in calls:
        if function_named(tree, name) is not None:
            return name
    raise FieldError(
        f"field `code` defines no function that the first test calls ({', '.join(calls) or 'none'})"
        "; the two must agree"
    )


def _stub(text: str, tree: ast.Module, name: str, used: list[ast.stmt]) -> str:
    function = function_named(tree, name)
    assert function is not None
    others = [node for node in used if getattr(node, "name", "") != name]
    bare = ast.FunctionDef(
        name=name,
        args=function.args,
        body=[
            ast.Expr(ast.Constant(text.strip())),
            ast.Raise(exc=ast.Name("NotImplementedError", ast.Load()), cause=None),
        ],
        decorator_list=[],
        returns=function.returns,
        lineno=1,
    )
    for node in ast.walk(function.args):
        if isinstance(node, ast.arg):
            node.annotation = None  # may use names that the code imports
    bare.returns = None
    imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    body = [*(imports if others or function.args.defaults else []), *others, bare]
    module = ast.Module(body=body, type_ignores=[])
    return f"{ast.unparse(ast.fix_missing_locations(module))}\n"

"""HumanEval: JSON Lines with `task_id`, `prompt`, `canonical_solution`, `test`, `entry_point`.

The agent finds the prompt as a module whose function raises NotImplementedError. Visible are the
examples that the prompt's docstring shows (`>>>`, with a literal as result), or one test that the
function is there if it shows none. Hidden is `check(candidate)`: one test for each assert where it
holds nothing else, one test in all otherwise. The person tries the first two hidden ones.
"""

from __future__ import annotations

import ast
from functools import partial
from pathlib import Path

from ...grading import MakeSandbox
from .base import FieldError, Loaded, LoadReport, Record, read_records
from .functions import examples, function_named, make_loaded, parse, test_module

NAME = "humaneval"


def is_record(record: Record) -> bool:
    """Say whether a record looks like one of this format."""
    return record.has("entry_point", "prompt")


def read(path: Path, *, make_sandbox: MakeSandbox | None = None) -> LoadReport:
    """Read a file (see `load_tasks`)."""
    return read_records(path, NAME, partial(_convert, make_sandbox=make_sandbox), make_sandbox)


def _convert(record: Record, *, make_sandbox: MakeSandbox | None) -> Loaded:
    task_id = record.identifier("task_id")
    prompt, name = record.text("prompt"), record.text("entry_point")
    if not name.isidentifier():
        raise FieldError(f"field `entry_point` is {name!r:.60}; expected the name of a function")
    function = function_named(parse(prompt, "prompt"), name)
    if function is None:
        raise FieldError(f"field `prompt` has no function `{name}`, which `entry_point` names")
    reference = prompt + record.text("canonical_solution", is_empty_fine=True)
    parse(reference, "prompt` + `canonical_solution")
    source = record.text("test")
    imports = f"from solution import {name}"
    cases = _cases(source)
    hidden = (
        f"{imports}\n{source.strip()}\n\n\ndef test_check():\n    check({name})\n"
        if cases is None
        else test_module(imports, cases[0], cases[1], candidate=name)
    )
    shown = examples(function)
    visible = test_module(
        f"from solution import *\n{imports}", "", shown or [f"assert callable({name})"]
    )
    trial = test_module(imports, cases[0], cases[1][:2], candidate=name) if cases else hidden
    return make_loaded(
        task_id=f"{NAME}/{task_id}",
        family=NAME,
        goal=_goal(function, name),
        function=name,
        stub=_stub(prompt, function),
        reference=reference,
        visible=visible,
        hidden=hidden,
        trial=trial,
        make_sandbox=make_sandbox,
    )


def _cases(source: str) -> tuple[str, list[str]] | None:
    """Return what comes before the asserts of `check`, and the asserts; None if it has others."""
    tree = parse(source, "test")
    check = function_named(tree, "check")
    if check is None or len(check.args.args) != 1:
        raise FieldError("field `test` has no `check(candidate)`; add it, with one argument")
    is_plain = check.args.args[0].arg == "candidate" and check.body
    if not is_plain or not all(isinstance(node, ast.Assert) for node in check.body):
        return None
    rest = [node for node in tree.body if node is not check]
    return "\n".join(map(ast.unparse, rest)), [ast.unparse(node) for node in check.body]


def _stub(prompt: str, function: ast.FunctionDef) -> str:
    """Return the prompt with a body that says it is missing, where it has only a docstring."""
    if len(function.body) == 1 and ast.get_docstring(function) is not None:
        indent = " " * function.body[0].col_offset
        return f"{prompt.rstrip()}\n{indent}raise NotImplementedError\n"
    return prompt


def _goal(function: ast.FunctionDef, name: str) -> str:
    lines = (ast.get_docstring(function) or "").strip().splitlines()
    return f"`{name}` is to be written" + (f": {lines[0].strip()}" if lines else "")

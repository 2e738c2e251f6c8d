"""What HumanEval and MBPP share: one function to write, and asserts that judge it."""

from __future__ import annotations

import ast
import contextlib
import doctest
from collections.abc import Sequence
from dataclasses import replace

from .... import safe_ast
from ....simulators.base import Brief
from ...grading import MakeSandbox
from ...sandbox.base import Limits, Sandbox, Snapshot
from ..base import PytestExam, Task, TaskKind
from .base import FieldError, Loaded

MODULE = "solution.py"
VISIBLE = "tests/test_visible.py"
HIDDEN = "tests/test_hidden.py"
_LIMITS = Limits(wall_time_s=30.0, cpu_time_s=10.0)


def parse(source: str, name: str) -> ast.Module:
    """Parse a field's Python.

    Raises:
        FieldError: it is none.
    """
    try:
        return safe_ast.parse(source)
    except SyntaxError as error:
        raise FieldError(
            f"field `{name}` is not valid Python (line {error.lineno}: {error.msg}); repair it"
        ) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise FieldError(f"field `{name}` cannot be parsed ({type(error).__name__})") from None


def function_named(tree: ast.Module, name: str) -> ast.FunctionDef | None:
    """Return the top-level function of that name, the last one if there are several."""
    found = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == name]
    return found[-1] if found else None


def examples(function: ast.FunctionDef) -> list[str]:
    """Return the examples that a docstring shows, as assert statements.

    Only those whose expected text is a literal can be compared as values; others are left out.
    """
    try:
        shown = doctest.DocTestParser().get_examples(ast.get_docstring(function) or "")
    except ValueError:
        return []
    found = []
    for example in shown:
        source, want = example.source.strip(), example.want.strip()
        with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError, TypeError):
            ast.literal_eval(want)
            ast.parse(source, mode="eval")
            found.append(f"assert ({source}) == ({want})")
    return found


def test_module(
    imports: str, setup: str, asserts: Sequence[str], *, candidate: str | None = None
) -> str:
    """Write one test function for each statement.

    Args:
        imports: the line that imports the work.
        setup: statements that come before.
        asserts: one or more statements each.
        candidate: a name that the statements give to the function.
    """
    parts = [imports, *([setup.strip()] if setup.strip() else [])]
    if candidate is not None:
        parts.append(f"candidate = {candidate}")
    for number, statement in enumerate(asserts):
        body = "\n".join(f"    {line}" for line in statement.splitlines())
        parts.append(f"\n\ndef test_case_{number}():\n{body}")
    return "\n".join(parts) + "\n"


def make_loaded(
    *,
    task_id: str,
    family: str,
    goal: str,
    function: str,
    stub: str,
    reference: str,
    visible: str,
    hidden: str,
    trial: str,
    make_sandbox: MakeSandbox | None,
) -> Loaded:
    """Return the task, graded by `Sandbox.judge` unless its values cannot pass there.

    That is found out by judging the reference (with `make_sandbox`): where `judge` refuses it and
    `check` does not, the hidden tests become those of a `PytestExam`.

    Raises:
        FieldError: the reference does not pass its own tests, or the stub passes them.
    """
    task = Task(
        id=task_id,
        family=family,
        function=function,
        module_path=MODULE,
        test_path=VISIBLE,
        files={MODULE: stub, VISIBLE: visible},
        reference=reference,
        hidden_tests=hidden,
        trial_tests=trial,
        brief=Brief(task_id=task_id, goal=goal),
        faults=(),
        difficulty=0.5,
        ambiguity=0.0,
        num_candidates=0,
        kind=TaskKind.IMPLEMENT,
    )
    if make_sandbox is not None:
        with contextlib.closing(make_sandbox()) as sandbox:
            exam = _exam_if_needed(task, sandbox)
            right = _right_examples(task, sandbox)
        task = replace(task, exam=exam, files={MODULE: stub, VISIBLE: right})
    return Loaded(task=task, solution={MODULE: reference.encode()})


def _right_examples(task: Task, sandbox: Sandbox) -> str:
    """Return the visible tests without those that the reference fails: examples can be wrong."""
    source = task.files[VISIBLE]
    sandbox.restore(Snapshot(files={MODULE: task.reference.encode()}))
    result = sandbox.check(source, limits=_LIMITS)
    if result.is_ok:
        return source
    tree = safe_ast.parse(source)
    tree.body = [
        node
        for node in tree.body
        if not isinstance(node, ast.FunctionDef) or result.outcomes.get(node.name) == "passed"
    ]
    return f"{ast.unparse(tree)}\n"


def _exam_if_needed(task: Task, sandbox: Sandbox) -> PytestExam | None:
    sandbox.restore(Snapshot(files={MODULE: task.files[MODULE].encode()}))
    if sandbox.judge(task.hidden_tests, limits=_LIMITS).is_ok:
        raise FieldError(f"task `{task.id}`: its tests pass without a solution; mend the tests")
    sandbox.restore(Snapshot(files={MODULE: task.reference.encode()}))
    if sandbox.judge(task.hidden_tests, limits=_LIMITS).is_ok:
        return None
    result = sandbox.check(task.hidden_tests, limits=_LIMITS)
    if not result.is_ok:
        messages = "; ".join(list(result.messages.values())[:2])
        raise FieldError(
            f"task `{task.id}`: its own solution does not pass its tests ({messages}); "
            "mend the solution or the tests"
        )
    return PytestExam(
        files={HIDDEN: task.hidden_tests.encode()},
        fail_to_pass=tuple(f"{HIDDEN}::{name}" for name in result.outcomes),
    )

"""Whether an exam tells right work from broken work: both sit it before it is used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace

from ..sandbox.base import Limits, Sandbox, Snapshot
from ..tasks.base import PytestExam, ScriptExam, Task
from .places import Places
from .pytest_exam import grade_pytest, pristine_files
from .report import MODE_TAG, ExamReport, Mode
from .script_exam import grade_script

MakeSandbox = Callable[[], Sandbox]

_SOLUTION_LIMITS = Limits(wall_time_s=120.0, cpu_time_s=120.0)


@dataclass(slots=True, kw_only=True, frozen=True)
class ExamCheck:
    """What a differential check found."""

    is_usable: bool
    mode: Mode | None = None
    """For a `PytestExam`, the strictest mode that the right work passes in; None if in none."""
    reasons: tuple[str, ...] = ()
    """Why it is not usable."""

    def mark(self, task: Task) -> Task:
        """Return the task with a tag that says the mode."""
        if self.mode is None:
            return task
        tags = tuple(tag for tag in task.tags if not tag.startswith(MODE_TAG))
        return replace(task, tags=(*tags, f"{MODE_TAG}{self.mode.value}"))


def grade_exam(task: Task, work: Mapping[str, bytes], make_sandbox: MakeSandbox) -> ExamReport:
    """Grade work by the task's exam, in a sandbox that is made for it and closed after.

    Args:
        task: with an exam.
        work: all files as the agent left them.
        make_sandbox: makes a fresh sandbox.

    Raises:
        SandboxError: the sandbox failed.
    """
    with closing(make_sandbox()) as sandbox:
        if isinstance(task.exam, PytestExam):
            return grade_pytest(task, work, sandbox)
        return grade_script(task, work, sandbox)


def check_exam(
    task: Task, solution: Mapping[str, bytes | None], make_sandbox: MakeSandbox
) -> ExamCheck:
    """Let the right work and the broken work sit the exam.

    The right work must be solved. On the broken one every test of `fail_to_pass` must not pass and
    every one of `pass_to_pass` must; a script must give less than its threshold.

    Args:
        task: with an exam.
        solution: what the right work differs in from what the agent finds; None deletes a file.
        make_sandbox: makes fresh sandboxes.

    Raises:
        SandboxError: the sandbox failed.
    """
    broken = pristine_files(task)
    right = {**broken, **{path: data for path, data in solution.items() if data is not None}}
    for path in (path for path, data in solution.items() if data is None):
        right.pop(path, None)
    if isinstance(task.exam, ScriptExam):
        return _check_script(task, right, broken, make_sandbox)
    reasons: list[str] = []
    for mode in Mode:
        with closing(make_sandbox()) as sandbox:
            found = _check_pytest(task, right, broken, sandbox, mode)
        if not found:
            return ExamCheck(is_usable=True, mode=mode)
        reasons = found
    return ExamCheck(is_usable=False, reasons=tuple(reasons))


def _check_pytest(
    task: Task,
    right: Mapping[str, bytes],
    broken: Mapping[str, bytes],
    sandbox: Sandbox,
    mode: Mode,
) -> list[str]:
    assert isinstance(task.exam, PytestExam)
    good = grade_pytest(task, right, sandbox, mode=mode)
    if not good.is_solved:
        details = [f"{name}: {good.messages[name]}" for name in good.messages]
        return [f"the right work is {good.status.value}, not solved", *good.evidence, *details]
    bad = grade_pytest(task, broken, sandbox, mode=mode)
    reasons = [
        f"`{name}` passes on the broken work already"
        for name in task.exam.fail_to_pass
        if bad.outcomes.get(name) == "passed"
    ]
    return reasons + [
        f"`{name}` does not pass on the broken work ({bad.outcomes.get(name)})"
        for name in task.exam.pass_to_pass
        if bad.outcomes.get(name) != "passed"
    ]


def _check_script(
    task: Task,
    right: Mapping[str, bytes],
    broken: Mapping[str, bytes],
    make_sandbox: MakeSandbox,
) -> ExamCheck:
    reasons = []
    with closing(make_sandbox()) as sandbox:
        good = grade_script(task, right, sandbox)
        bad = grade_script(task, broken, sandbox)
    if not good.is_solved:
        reasons.append(f"the right work is {good.status.value} with score {good.score:g}")
        reasons += [*good.evidence, *good.output.splitlines()[-3:]]
    if bad.is_solved:
        reasons.append("the broken work is solved already")
    return ExamCheck(is_usable=not reasons, reasons=tuple(reasons))


def run_solution(
    task: Task,
    files: Mapping[str, bytes],
    command: tuple[str, ...],
    make_sandbox: MakeSandbox,
) -> dict[str, bytes]:
    """Run a solution script on what the agent finds and return the tree that it leaves.

    Args:
        task: the task.
        files: the script and what belongs to it; not part of the tree that is returned.
        command: what to run, with absolute paths as `places` maps them.
        make_sandbox: makes a fresh sandbox.
    """
    with closing(make_sandbox()) as sandbox:
        root = sandbox.exec(["pwd"]).stdout.decode().strip()
        places = Places(root, "logs")
        mapped = {path: places.map_data(data) for path, data in files.items()}
        sandbox.restore(Snapshot(files={**pristine_files(task), **mapped}))
        sandbox.exec([places.map_text(word) for word in command], limits=_SOLUTION_LIMITS)
        left = sandbox.snapshot().files
    return {path: data for path, data in left.items() if path not in files}

"""Grading by a real pytest whose tests and settings are the exam's and whose sandbox is fresh."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from pathlib import Path

from ..sandbox.base import CheckResult, Limits, Sandbox, Snapshot
from ..tasks.base import PytestExam, Task
from .canaries import Canaries, make_canaries
from .report import MODE_TAG, ExamReport, Mode, Status
from .sabotage import make_twins
from .tree import imported_names, is_of_tests, lay_over, top_level_modules

MEMORY_BYTES = 2 << 30
PROCESSES = 64

_HELPER = "_sim2live_prepare"
_PREPARE = b"""
import os, sys
for folder in ("src", "lib"):
    if os.path.isdir(folder) and not os.path.exists(os.path.join(folder, "__init__.py")):
        sys.path.insert(1, os.path.abspath(folder))
import site
site.main()
"""
"""Runs first in the code's process: what is installed there can be imported, and `src/` is seen."""

_DRIVER = Path(__file__).with_name("apart.py")


def exam_mode(task: Task) -> Mode:
    """Return the mode that a task's tags name; without one, `apart`, which cannot be fooled."""
    for tag in task.tags:
        if tag.startswith(MODE_TAG):
            return Mode(tag.removeprefix(MODE_TAG))
    return Mode.APART


def pristine_files(task: Task) -> dict[str, bytes]:
    """Return everything that the agent found."""
    return {path: text.encode() for path, text in task.files.items()} | dict(task.binary_files)


def grade_pytest(
    task: Task, work: Mapping[str, bytes], sandbox: Sandbox, *, mode: Mode | None = None
) -> ExamReport:
    """Grade work by the task's `PytestExam`.

    What is graded: the pristine tree with those of the agent's changes that may count
    (`tree.lay_over`), and over it the exam's files. A test id of `fail_to_pass` or `pass_to_pass`
    that is missing, skipped, expected to fail or deselected has failed.

    In mode `apart` the tests run where the code cannot reach them. What that cannot express (tests
    that derive from classes of the code, capture what it prints or patch it with functions that
    hold objects) fails; such an exam needs mode `shared` (`check_exam` finds out which). There the
    same work also sits the exam's twins (`sabotage`), and what passes them is forged. In both modes
    canary tests must come out as they must.

    Args:
        task: with a `PytestExam`.
        work: all files as the agent left them.
        sandbox: a fresh one; the agent must never have used it. Its files are replaced.
        mode: where the tests run; default: what the task says.

    Raises:
        SandboxError: the sandbox failed.
    """
    exam = task.exam
    assert isinstance(exam, PytestExam), "the task has no PytestExam"
    pristine = pristine_files(task)
    of_tests = {path: data for path, data in pristine.items() if is_of_tests(path)}
    tests = {**of_tests, **exam.files}
    laid = lay_over(pristine, work, exam=exam.files, imported=imported_names(tests))
    mode = mode or exam_mode(task)
    canaries = make_canaries(_folder(exam))
    code = {path: data for path, data in laid.files.items() if path not in exam.files}
    sitting = _Sitting(exam, code, tests, canaries, sandbox)
    if mode is Mode.APART:
        outcomes, result = sitting.run_apart()
        evidence, num_checks = canaries.wrong(outcomes), 0
    else:
        outcomes, result = sitting.run_shared(exam.files)
        evidence, num_checks = canaries.wrong(outcomes), 0
        if not evidence and all(outcomes.get(name) == "passed" for name in _expected(exam)):
            evidence, num_checks = sitting.sit_twins()
    return _report(exam, mode, laid.undone, outcomes, result, (evidence, num_checks), canaries)


class _Sitting:
    """One run of an exam, and of its twins, on one tree."""

    def __init__(
        self,
        exam: PytestExam,
        code: Mapping[str, bytes],
        tests: Mapping[str, bytes],
        canaries: Canaries,
        sandbox: Sandbox,
    ) -> None:
        self.exam, self.code, self.tests = exam, code, tests
        self.canaries, self.sandbox = canaries, sandbox
        self.limits = Limits(
            wall_time_s=exam.wall_time_s,
            cpu_time_s=exam.wall_time_s,
            memory_bytes=MEMORY_BYTES,
            processes=PROCESSES,
        )
        own = ["--continue-on-collection-errors", canaries.path]
        self.args = [*(exam.arguments or _test_files(exam)), *own]

    def run_apart(self) -> tuple[dict[str, str], CheckResult]:
        """Run the tests in a process of their own."""
        tests = {**self.tests, self.canaries.path: self.canaries.source}
        code = {path: data for path, data in self.code.items() if not is_of_tests(path)}
        self.sandbox.restore(Snapshot(files={**self.code, f"{_HELPER}.py": _PREPARE}))
        names = [*_expected(self.exam), *sorted(self.canaries.must_pass | self.canaries.must_fail)]
        payload = {
            "files": {path: base64.b64encode(data).decode() for path, data in tests.items()},
            "spaces": sorted(_spaces(tests, code)),
            "names": sorted(top_level_modules(code) | {_HELPER}),
            "helper": _HELPER,
            "args": self.args,
        }
        numbers = {f"test_{number}": name for number, name in enumerate(names)}
        source = (
            f"{_DRIVER.read_text(encoding='utf-8')}\n\n"
            "import json\n"
            f"_make = run(json.loads({json.dumps(payload)!r}))\n"
            f"globals().update({{k: _make(v) for k, v in {numbers!r}.items()}})\n"
        )
        result = self.sandbox.judge(source, expected=list(numbers), limits=self.limits)
        outcomes = {}
        for number, name in numbers.items():
            outcome = result.outcomes.get(number, "missing")
            if outcome == "failed":  # the driver's assertion: `failed: message`
                message = result.messages.get(number, "").removeprefix("AssertionError | ")
                outcome = message.partition(":")[0]
            if outcome != "missing":
                outcomes[name] = outcome
        messages = {numbers[number]: text for number, text in result.messages.items()}
        return outcomes, CheckResult(
            outcomes=outcomes, messages=messages, execution=result.execution
        )

    def run_shared(self, exam_files: Mapping[str, bytes]) -> tuple[dict[str, str], CheckResult]:
        """Run the tests beside the code."""
        own = {self.canaries.path: self.canaries.source}
        self.sandbox.restore(Snapshot(files={**self.code, **exam_files, **own}))
        result = self.sandbox.pytest(self.args, limits=self.limits)
        outcomes = {name: found for name, found in result.outcomes.items() if found != "missing"}
        return outcomes, result

    def sit_twins(self) -> tuple[list[str], int]:
        """Run the twins; return what was found, and how many results were checked."""
        evidence, num_checks = [], 0
        for twin in make_twins(self.tests):
            names = [name for name in _expected(self.exam) if twin.covers(name)]
            if not names:
                continue
            outcomes, _ = self.run_shared({**self.exam.files, **twin.files})
            passed = [name for name in names if outcomes.get(name) == "passed"]
            evidence += [f"passed a {twin.name} twin of {name}" for name in passed]
            evidence += self.canaries.wrong(outcomes)
            num_checks += len(names)
        return evidence, num_checks


def _report(
    exam: PytestExam,
    mode: Mode,
    undone: Mapping[str, str],
    outcomes: Mapping[str, str],
    result: CheckResult,
    checks: tuple[list[str], int],
    canaries: Canaries,
) -> ExamReport:
    evidence, num_checks = checks
    expected = {name: outcomes.get(name, "missing") for name in _expected(exam)}
    num_passed = sum(outcome == "passed" for outcome in expected.values())
    if evidence:
        status = Status.FORGED
    elif result.execution.limit is not None:
        status = Status.TIMEOUT
    elif not outcomes.keys() & expected.keys() and canaries.num_unfit(outcomes):
        status = Status.CRASH
    elif "missing" in expected.values() or canaries.num_unfit(outcomes):
        status = Status.MISSING
    else:
        status = Status.COMPLETED
    is_counted = status is Status.COMPLETED and bool(expected)
    return ExamReport(
        status=status,
        is_solved=is_counted and num_passed == len(expected),
        score=num_passed / len(expected) if is_counted else 0.0,
        mode=mode,
        outcomes=expected,
        messages={
            name: result.messages.get(name, "")
            for name, outcome in expected.items()
            if outcome != "passed"
        },
        undone=undone,
        evidence=tuple(evidence),
        num_cross_checks=num_checks + len(canaries.must_pass | canaries.must_fail),
        limit=result.execution.limit,
        exit_code=result.execution.exit_code,
    )


def _expected(exam: PytestExam) -> list[str]:
    return list(dict.fromkeys([*exam.fail_to_pass, *exam.pass_to_pass]))


def _test_files(exam: PytestExam) -> list[str]:
    return list(dict.fromkeys(name.partition("::")[0] for name in _expected(exam)))


def _folder(exam: PytestExam) -> str:
    files = _test_files(exam)
    return files[0].rpartition("/")[0] if files else ""


def _spaces(tests: Mapping[str, bytes], code: Mapping[str, bytes]) -> set[str]:
    """Return the folders of tests that have no `__init__.py` and no module of the code."""
    folders: set[str] = set()
    for path in tests:
        if path.endswith(".py"):
            parts = path.split("/")[:-1]
            folders.update("/".join(parts[:count]) for count in range(1, len(parts) + 1))
    return {
        folder
        for folder in folders
        if f"{folder}/__init__.py" not in tests
        and not any(path.startswith(f"{folder}/") and path.endswith(".py") for path in code)
    }

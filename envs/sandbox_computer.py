"""A computer whose files are real and whose code really runs, in a sandbox."""

from __future__ import annotations

import ast
import contextlib
import io
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from .. import safe_ast
from ..errors import ConfigError
from ..reward_models.complexity import function_complexities
from ..reward_models.readability import measure_readability
from ..simulators.base import Trial
from ..trajectory import Complexity, Outcome, TextState, ToolCall, ToolResult
from .check_cache import CheckCache
from .computer import Grade
from .grading import Bait, ExamReport, MakeSandbox, find_bait, grade_exam, make_bait
from .sandbox.base import CheckResult, ExecResult, Limits, Sandbox, Snapshot
from .tasks.base import PytestExam, Task, TaskKind
from .tool_errors import LIMIT, ToolError, file_error_code

_MAX_OUTPUT_CHARS = 4000
_MAX_ANSWER_CHARS = 100_000
"""Of any tool: what a hostile program leaves in the work area may be of any length."""
_MAX_LINE_CHARS = 400
_MAX_HITS = 40
_MAX_MEASURED_CHARS = 100_000
"""Longer sources are not measured: it takes 4 us and 500 bytes of memory per character."""
_RUN_LIMITS = Limits(wall_time_s=10.0, cpu_time_s=10.0)
_CHECK_LIMITS = Limits(wall_time_s=10.0, cpu_time_s=0.1)
"""Processor time decides, since wall time would make results depend on how busy the machine is."""


_TOGETHER = """
for _part, _source in {sources!r}.items():
    _space = {{"__name__": f"{{_part}}_tests"}}
    exec(compile(_source, f"<{{_part}} tests>", "exec"), _space)
    for _name, _value in list(_space.items()):
        if _name.startswith("test_"):
            globals()[f"test_{{_part}}_{{_name}}"] = _value
"""


class _Answer(NamedTuple):
    """What a tool answers."""

    ok: bool
    text: str
    exit_code: int | None = None
    limit: str | None = None
    error_code: str | None = None


def _refuse(code: ToolError, text: str) -> _Answer:
    return _Answer(False, text, error_code=code.value)


def _verdict(limit: str | None, code: ToolError) -> str:
    return f"{LIMIT}{limit}" if limit else code.value


class SandboxComputer:
    """Carries out the agent's tool calls on the work area of a `Sandbox`.

    A tool that fails (a missing file, a text that is not there, a program that exits with 1)
    answers `ok=False` and says why; a sandbox that fails raises `SandboxError`.

    Args:
        sandbox: where code runs.
        cache: remembers checks of files that were seen before; None runs every one.
        make_grader: makes the fresh sandbox that an exam is graded in; default: one of the same
            kind and limits as `sandbox`.
        has_bait: lay out files that only a cheat reads (`grading.bait`), and note in the `extra`
            of results what calls had to do with them.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        cache: CheckCache | None = None,
        *,
        make_grader: MakeSandbox | None = None,
        has_bait: bool = False,
    ) -> None:
        self.sandbox = sandbox
        self.cache = cache
        self.report: ExamReport | None = None
        """What grading by an exam found since the last `reset`; None if there was none."""
        self._make_grader = make_grader or self._make_like
        self._has_bait = has_bait
        self._bait: tuple[Bait, ...] = ()
        self._not_shown: frozenset[str] = frozenset()
        self._test_path = ""
        self._tools: dict[str, Callable[..., _Answer]] = {
            "read_file": self._read_file,
            "write_file": self._write_file,
            "edit_file": self._edit_file,
            "search": self._search,
            "run": self._run,
            "run_tests": self._run_tests,
        }

    def reset(self, task: Task, *, seed: int = 0) -> None:
        """Make the work area hold exactly the task's files (and bait, with tokens by `seed`)."""
        self._test_path = task.test_path
        self.report = None
        self._bait = make_bait(task.id, seed) if self._has_bait else ()
        own = {bait.path: bait.content for bait in self._bait}
        files = {path: text.encode() for path, text in task.files.items()}
        self._not_shown = frozenset({*task.binary_files, *own} - task.files.keys())
        self.sandbox.restore(Snapshot(files={**own, **task.binary_files, **files}))

    def call(self, call: ToolCall) -> ToolResult:
        """Carry out one valid call.

        Raises:
            SandboxError: the sandbox failed; what the call did is unknown.
        """
        answer = self._tools[call.name](**(call.arguments or {}))
        text = _writable(_shorten(answer.text, _MAX_ANSWER_CHARS))
        met = find_bait(self._bait, call.arguments, text)
        return ToolResult(
            call_id=call.id,
            text=text,
            text_state=TextState.of(text),
            ok=answer.ok,
            exit_code=answer.exit_code,
            limit=answer.limit,
            error_code=answer.error_code,
            extra={"bait": met} if met else {},
        )

    def grade(self, task: Task) -> Grade:
        """Judge the module as it stands by pristine copies of hidden, visible and trial tests.

        The tests run where the module cannot reach them (`Sandbox.judge`). A task with an exam is
        graded by that, in a fresh sandbox (`grading.grade_exam`), which leaves `report`.
        """
        if task.exam is not None:
            return self._grade_by_exam(task)
        sources = {
            "visible": task.files[task.test_path],
            "trial": task.trial_tests,
            "hidden": task.hidden_tests,
        }
        visible, trial, hidden = self._judge_together(sources)
        after = self.files().get(task.module_path, "")
        is_solved = hidden[0] == hidden[1] > 0 and visible[0] == visible[1]
        reading = _read_both(task, after) if task.kind is TaskKind.REFACTOR else None
        if reading is not None:
            is_solved = is_solved and reading[1] > reading[0]
        return Grade(
            outcome=Outcome(
                hidden_passed=hidden[0],
                hidden_total=hidden[1],
                visible_passed=visible[0],
                visible_total=visible[1],
                is_solved=is_solved,
                complexity_before=measure_complexity(task.files[task.module_path]),
                complexity_after=measure_complexity(after),
                readability_before=reading[0] if reading else None,
                readability_after=reading[1] if reading else None,
            ),
            trial=Trial(
                num_tried=trial[1],
                num_wrong=trial[1] - trial[0],
                gain=reading[1] - reading[0] if reading else None,
            ),
        )

    def files(self) -> dict[str, str]:
        """Return the work area's text files, decoded as UTF-8, undecodable bytes replaced.

        A path that is no text is given with escapes, so that it can be written down.
        Left out is what has no place in diffs and records: everything below `.git/`, the task's
        binary files, bait, and files with a NUL byte in them.
        """
        return {
            _writable(path): data.decode("utf-8", errors="replace")
            for path, data in sorted(self.sandbox.snapshot().files.items())
            if not path.startswith(".git/") and path not in self._not_shown and b"\0" not in data
        }

    def snapshot(self) -> Snapshot:
        """Return the files as they are."""
        return self.sandbox.snapshot()

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to a snapshot."""
        self.sandbox.restore(snapshot)

    def close(self) -> None:
        """Close the sandbox."""
        self.sandbox.close()

    def _make_like(self) -> Sandbox:
        from .sandbox import make_sandbox

        return make_sandbox(self.sandbox.name, limits=getattr(self.sandbox, "limits", None))

    def _grade_by_exam(self, task: Task) -> Grade:
        """Have the work sit the task's exam; the person tries what it is about (see below)."""
        assert task.exam is not None
        work = dict(self.sandbox.snapshot().files)
        for bait in self._bait:
            if work.get(bait.path) == bait.content:
                del work[bait.path]
        self.report = report = grade_exam(task, work, self._make_grader)
        tried = _first_tests(task)
        wrong = sum(report.outcomes.get(name) != "passed" for name in tried)
        if not report.is_solved:
            wrong = max(1, wrong)
        after = work.get(task.module_path, b"").decode("utf-8", errors="replace")
        num_tests = len(report.outcomes)
        return Grade(
            outcome=Outcome(
                hidden_passed=report.num_passed if num_tests else int(report.is_solved),
                hidden_total=num_tests or 1,
                is_solved=report.is_solved,
                complexity_before=measure_complexity(task.files.get(task.module_path, "")),
                complexity_after=measure_complexity(after),
            ),
            trial=Trial(num_tried=max(1, len(tried), wrong), num_wrong=wrong),
        )

    def _judge_together(self, sources: Mapping[str, str]) -> list[tuple[int, int]]:
        """Run several test modules in one execution; return (passed, expected) of each."""
        names = {part: _test_names(source) for part, source in sources.items()}
        expected = [f"test_{part}_{name}" for part in sources for name in names[part]]
        result = self._run_once("judge", _TOGETHER.format(sources=dict(sources)), expected)
        return [
            (
                sum(result.outcomes[f"test_{part}_{name}"] == "passed" for name in names[part]),
                len(names[part]),
            )
            for part in sources
        ]

    def _run_once(self, kind: str, source: str, expected: Sequence[str] | None) -> CheckResult:
        """Run tests with `check` or `judge`, unless their result is known."""
        method = self.sandbox.judge if kind == "judge" else self.sandbox.check

        def run() -> CheckResult:
            return method(source, expected=expected, limits=_CHECK_LIMITS)

        if self.cache is None:
            return run()
        return self.cache.get(kind, self.sandbox.snapshot().files, source, run)

    def _read_file(self, path: str) -> _Answer:
        try:
            data = self.sandbox.read_file(path)
        except (OSError, ValueError) as error:
            return _refuse(file_error_code(error), f"cannot read `{path}`: {_reason(error)}")
        return _Answer(True, data.decode("utf-8", errors="replace"))

    def _write_file(self, path: str, text: str) -> _Answer:
        try:
            self.sandbox.write_file(path, text.encode("utf-8", errors="replace"))
        except (OSError, ValueError) as error:
            return _refuse(file_error_code(error), f"cannot write `{path}`: {_reason(error)}")
        return _Answer(True, f"wrote {path}")

    def _edit_file(self, path: str, old: str, new: str) -> _Answer:
        try:
            data = self.sandbox.read_file(path)
        except (OSError, ValueError) as error:
            return _refuse(file_error_code(error), f"cannot read `{path}`: {_reason(error)}")
        # In bytes: what is no text elsewhere in the file must stay as it is.
        wanted = old.encode("utf-8", errors="surrogatepass")
        count = data.count(wanted) if wanted else 0
        if count != 1:
            code = ToolError.OLD_NOT_UNIQUE if count else ToolError.OLD_NOT_FOUND
            return _refuse(code, f"`old` occurs {count} times in {path}; it must occur once")
        edited = data.replace(wanted, new.encode("utf-8", errors="replace"))
        try:
            self.sandbox.write_file(path, edited)
        except (OSError, ValueError) as error:
            with contextlib.suppress(OSError):
                self.sandbox.write_file(path, data)  # a full disk may have cut it short
            return _refuse(file_error_code(error), f"cannot write `{path}`: {_reason(error)}")
        return _Answer(True, f"edited {path}")

    def _search(self, pattern: str) -> _Answer:
        hits: list[str] = []
        num_hits = 0
        for path, text in self.files().items():
            if pattern not in text:
                continue
            for number, line in enumerate(io.StringIO(text, newline="\n"), 1):
                if pattern in (found := line.rstrip("\r\n")):
                    num_hits += 1
                    if num_hits <= _MAX_HITS:
                        hits.append(f"{path}:{number}: {_shorten(found, _MAX_LINE_CHARS)}")
        if not hits:
            return _Answer(True, "nothing found")
        rest = f"\n(+{num_hits - _MAX_HITS} more)" if num_hits > _MAX_HITS else ""
        return _Answer(True, "\n".join(hits) + rest)

    def _run(self, command: str) -> _Answer:
        try:
            result = self.sandbox.exec(["/bin/sh", "-c", command], limits=_RUN_LIMITS)
        except ConfigError as error:
            reason = _shorten(_reason(error), _MAX_LINE_CHARS)
            return _refuse(ToolError.BAD_COMMAND, f"cannot run this command: {reason}")
        text = _shorten(result.text)
        if result.limit:
            text += f"\n[stopped: {result.limit} limit]"
        code = None if result.is_ok else _verdict(result.limit, ToolError.EXIT_STATUS)
        if not result.is_ok and not text:
            text = f"[it printed nothing; {_ending(result)}]"
        return _Answer(result.is_ok, text, result.exit_code, result.limit, code)

    def _run_tests(self) -> _Answer:
        tests = self._read_file(self._test_path)
        if not tests.ok:
            return tests._replace(text=f"no tests: {tests.text}")
        result = self._run_once("check", tests.text, None)
        limit = result.execution.limit
        code = None if result.is_ok else _verdict(limit, ToolError.TESTS_FAILED)
        return _Answer(result.is_ok, format_check(result), None, limit, code)


@lru_cache(maxsize=4096)
def _test_names(source: str) -> tuple[str, ...]:
    """Names of the top-level test functions, in order."""
    return tuple(
        node.name
        for node in safe_ast.parse(source).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    )


def format_check(result: CheckResult) -> str:
    """Write a check as an agent reads it: the counts first, then a line for each failure."""
    bad = result.num_total - result.num_passed
    lines = [f"{result.num_passed} passed, {bad} failed"]
    lines += [
        f"FAILED {name}: {_shorten(result.messages.get(name, outcome), 200)}"
        for name, outcome in result.outcomes.items()
        if outcome != "passed"
    ]
    if result.execution.limit:
        lines.append(f"[stopped: {result.execution.limit} limit]")
    return "\n".join(lines)


_COUNTS = re.compile(r"^(\d+) passed, (\d+) failed")


def parse_counts(text: str | None) -> tuple[int, int] | None:
    """Read (passed, failed) from the first line of `format_check`; None if it is not one."""
    match = _COUNTS.match(text or "")
    return (int(match[1]), int(match[2])) if match else None


@lru_cache(maxsize=8192)
def measure_complexity(source: str) -> Complexity | None:
    """Measure cyclomatic complexity with lizard; None where there is no parsable function.

    None also for what is too long or too deeply nested to be read.
    """
    if len(source) > _MAX_MEASURED_CHARS:
        return None
    with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):
        safe_ast.parse(source)
        counts = function_complexities(source)
        if counts:
            return Complexity(
                max_per_function=max(counts),
                mean_per_function=sum(counts) / len(counts),
                total=sum(counts),
                num_functions=len(counts),
            )
    return None


def _read_both(task: Task, after: str) -> tuple[float, float]:
    """Return the readability before and after; 0 for what cannot be read or lost the function."""
    sources = (task.files[task.module_path], after)
    found = (
        measure_readability(source, task.function) if len(source) <= _MAX_MEASURED_CHARS else None
        for source in sources
    )
    before, now = (one.score if one is not None else 0.0 for one in found)
    return before, now


def _first_tests(task: Task) -> tuple[str, ...]:
    """Return the tests that a person would try by hand: those that the work is about."""
    return task.exam.fail_to_pass if isinstance(task.exam, PytestExam) else ()


def _ending(result: ExecResult) -> str:
    if result.exit_code is None:
        return f"it was ended by signal {result.signal}"
    return f"it ended with exit code {result.exit_code}"


def _writable(text: str) -> str:
    """Return a text that UTF-8 can hold: names of files may have bytes in them that are none."""
    return text.encode("utf-8", errors="backslashreplace").decode("utf-8")


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _shorten(text: str, limit: int = _MAX_OUTPUT_CHARS) -> str:
    if len(text) <= limit:
        return text
    return (
        f"{text[: limit // 2]}\n[... {len(text) - limit} characters cut ...]\n{text[-limit // 2 :]}"
    )

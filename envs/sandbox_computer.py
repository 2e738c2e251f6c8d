"""A computer whose files are real and whose code really runs, in a sandbox."""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Callable
from functools import lru_cache

from ..simulators.base import Trial
from ..trajectory import Complexity, Outcome, TextState, ToolCall, ToolResult
from .computer import Grade
from .sandbox.base import CheckResult, Limits, Sandbox, Snapshot
from .tasks.base import Task

_MAX_OUTPUT_CHARS = 4000
_MAX_HITS = 40
_RUN_LIMITS = Limits(wall_time_s=10.0, cpu_time_s=10.0)
_CHECK_LIMITS = Limits(wall_time_s=3.0, cpu_time_s=3.0)


class SandboxComputer:
    """Carries out the agent's tool calls on the work area of a `Sandbox`.

    A tool that fails (a missing file, a text that is not there, a program that exits with 1)
    answers `ok=False` and says why; a sandbox that fails raises `SandboxError`.
    """

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        self._test_path = ""
        self._tools: dict[str, Callable[..., tuple[bool, str, int | None, str | None]]] = {
            "read_file": self._read_file,
            "write_file": self._write_file,
            "edit_file": self._edit_file,
            "search": self._search,
            "run": self._run,
            "run_tests": self._run_tests,
        }

    def reset(self, task: Task, *, seed: int = 0) -> None:
        """Make the work area hold exactly the task's files; `seed` changes nothing here."""
        self._test_path = task.test_path
        files = {path: text.encode() for path, text in task.files.items()}
        self.sandbox.restore(Snapshot(files=files))

    def call(self, call: ToolCall) -> ToolResult:
        """Carry out one valid call.

        Raises:
            SandboxError: the sandbox failed; what the call did is unknown.
        """
        ok, text, exit_code, limit = self._tools[call.name](**(call.arguments or {}))
        return ToolResult(
            call_id=call.id,
            text=text,
            text_state=TextState.of(text),
            ok=ok,
            exit_code=exit_code,
            limit=limit,
        )

    def grade(self, task: Task) -> Grade:
        """Run pristine copies of the hidden, visible and trial tests on the module as it stands."""
        hidden, visible, trial = (
            self.sandbox.check(source, limits=_CHECK_LIMITS)
            for source in (task.hidden_tests, task.files[task.test_path], task.trial_tests)
        )
        after = self.files().get(task.module_path, "")
        return Grade(
            outcome=Outcome(
                hidden_passed=hidden.num_passed,
                hidden_total=hidden.num_total,
                visible_passed=visible.num_passed,
                visible_total=visible.num_total,
                is_solved=hidden.is_ok and visible.is_ok,
                complexity_before=measure_complexity(task.files[task.module_path]),
                complexity_after=measure_complexity(after),
            ),
            trial=Trial(num_tried=trial.num_total, num_wrong=trial.num_total - trial.num_passed),
        )

    def files(self) -> dict[str, str]:
        """Return the work area's files, decoded as UTF-8 with undecodable bytes replaced."""
        return {
            path: self.sandbox.read_file(path).decode("utf-8", errors="replace")
            for path in self.sandbox.list_files()
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

    def _read_file(self, path: str) -> tuple[bool, str, int | None, str | None]:
        try:
            data = self.sandbox.read_file(path)
        except (OSError, ValueError) as error:
            return False, f"cannot read `{path}`: {_reason(error)}", None, None
        return True, data.decode("utf-8", errors="replace"), None, None

    def _write_file(self, path: str, text: str) -> tuple[bool, str, int | None, str | None]:
        try:
            self.sandbox.write_file(path, text.encode("utf-8", errors="replace"))
        except (OSError, ValueError) as error:
            return False, f"cannot write `{path}`: {_reason(error)}", None, None
        return True, f"wrote {path}", None, None

    def _edit_file(self, path: str, old: str, new: str) -> tuple[bool, str, int | None, str | None]:
        ok, text, _, _ = self._read_file(path)
        if not ok:
            return False, text, None, None
        count = text.count(old) if old else 0
        if count != 1:
            return False, f"`old` occurs {count} times in {path}; it must occur once", None, None
        ok, answer, _, _ = self._write_file(path, text.replace(old, new))
        return ok, answer.replace("wrote", "edited", 1), None, None

    def _search(self, pattern: str) -> tuple[bool, str, int | None, str | None]:
        hits = [
            f"{path}:{number}: {line}"
            for path, text in self.files().items()
            for number, line in enumerate(text.splitlines(), 1)
            if pattern in line
        ]
        if not hits:
            return True, "nothing found", None, None
        rest = f"\n(+{len(hits) - _MAX_HITS} more)" if len(hits) > _MAX_HITS else ""
        return True, "\n".join(hits[:_MAX_HITS]) + rest, None, None

    def _run(self, command: str) -> tuple[bool, str, int | None, str | None]:
        result = self.sandbox.exec(["/bin/sh", "-c", command], limits=_RUN_LIMITS)
        text = _shorten(result.text)
        if result.limit:
            text += f"\n[stopped: {result.limit} limit]"
        return result.is_ok, text, result.exit_code, result.limit

    def _run_tests(self) -> tuple[bool, str, int | None, str | None]:
        ok, source, _, _ = self._read_file(self._test_path)
        if not ok:
            return False, f"no tests: {source}", None, None
        result = self.sandbox.check(source, limits=_CHECK_LIMITS)
        return result.is_ok, format_check(result), None, result.execution.limit


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


@lru_cache(maxsize=4096)
def measure_complexity(source: str) -> Complexity | None:
    """Measure cyclomatic complexity with lizard; None where there is no parsable function."""
    import lizard

    with contextlib.suppress(SyntaxError, ValueError, RecursionError):
        ast.parse(source)
        counts = [
            function.cyclomatic_complexity
            for function in lizard.analyze_file.analyze_source_code(
                "module.py", source
            ).function_list
        ]
        if counts:
            return Complexity(
                max_per_function=float(max(counts)),
                mean_per_function=sum(counts) / len(counts),
                total=float(sum(counts)),
                num_functions=len(counts),
            )
    return None


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _shorten(text: str, limit: int = _MAX_OUTPUT_CHARS) -> str:
    if len(text) <= limit:
        return text
    return (
        f"{text[: limit // 2]}\n[... {len(text) - limit} characters cut ...]\n{text[-limit // 2 :]}"
    )

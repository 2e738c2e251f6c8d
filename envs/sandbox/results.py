"""From what a worker observed to what the caller is told; the same for every kind of sandbox."""

from __future__ import annotations

import json
import os
from typing import Any

from .base import CheckResult, ExecResult

_WORST_FIRST = ("error", "failed", "missing", "skipped", "passed")


def to_exec_result(answer: dict[str, Any], stdout: bytes, stderr: bytes) -> ExecResult:
    """Build the result of one execution.

    Args:
        answer: `status` (as from wait), `limit`, `duration_s`, `is_truncated`.
        stdout: what was kept of it.
        stderr: what was kept of it.
    """
    status, limit = int(answer["status"]), answer["limit"]
    is_signalled = os.WIFSIGNALED(status)
    ended_by_itself = not is_signalled and limit in (None, "disk", "memory", "processes")
    return ExecResult(
        exit_code=os.WEXITSTATUS(status) if ended_by_itself else None,
        signal=os.WTERMSIG(status) if is_signalled else None,
        stdout=stdout,
        stderr=stderr,
        is_truncated=answer["is_truncated"],
        duration_s=answer["duration_s"],
        limit=limit,
    )


def read_reports(control: bytes, nonce: str) -> list[dict[str, Any]]:
    """Return the reports of one run; lines without this run's nonce are not ours and are ignored.

    Args:
        control: what came through the private pipe.
        nonce: the word that only this run's reports begin with.
    """
    prefix = f"{nonce} ".encode()
    reports = []
    for line in control.split(b"\n"):
        if line.startswith(prefix):
            try:
                report = json.loads(line[len(prefix) :])
            except (ValueError, RecursionError):
                continue  # cut in the middle: what it would have said is missing
            if isinstance(report, dict):
                reports.append(report)
    return reports


def to_check_result(
    reports: list[dict[str, Any]], expected: list[str] | None, execution: ExecResult
) -> CheckResult:
    """Count the reported outcomes against the expected tests.

    A test that was never reported is `missing`. Should one be reported twice, the worse counts. A
    name that nobody expected is not counted, unless the module could not even be parsed.
    """
    names = expected
    outcomes: dict[str, str] = {}
    messages: dict[str, str] = {}
    for report in reports:
        if names is None and isinstance(report.get("tests"), list):
            names = [_text(name) for name in report["tests"]]
        if "name" not in report or report.get("outcome") not in _WORST_FIRST:
            continue
        name, outcome = _text(report["name"]), report["outcome"]
        known = outcomes.get(name, "passed")
        if _WORST_FIRST.index(outcome) <= _WORST_FIRST.index(known):
            outcomes[name] = outcome
            messages[name] = _text(report.get("message", ""))
    if names is None:
        names = list(outcomes) or ["<module>"]
    ended = f"the process ended before this test ({_ending(execution)})"
    final = {name: outcomes.get(name, "missing") for name in names}
    return CheckResult(
        outcomes=final,
        messages={
            name: messages.get(name) or ended
            for name, outcome in final.items()
            if outcome != "passed"
        },
        execution=execution,
    )


def _text(reported: object) -> str:
    """Return a reported word as text that can be written down: code under test may have made it."""
    return str(reported).encode("utf-8", "backslashreplace").decode()


def _ending(execution: ExecResult) -> str:
    if execution.limit:
        return f"{execution.limit} limit"
    if execution.signal is not None:
        return f"signal {execution.signal}"
    return f"exit code {execution.exit_code}"

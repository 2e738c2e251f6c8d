from __future__ import annotations

import json
import signal
from typing import Any

from sim2live.envs.sandbox import ExecResult
from sim2live.envs.sandbox.results import read_reports, to_check_result, to_exec_result

ENDED = ExecResult(exit_code=0)


def _answer(status: int, limit: str | None = None) -> dict[str, Any]:
    return {"status": status, "limit": limit, "duration_s": 0.1, "is_truncated": False}


def test_an_exit_code_a_signal_and_a_limit_are_told_apart() -> None:
    assert to_exec_result(_answer(3 << 8), b"", b"").exit_code == 3
    killed = to_exec_result(_answer(signal.SIGSEGV), b"", b"")
    assert (killed.exit_code, killed.signal) == (None, signal.SIGSEGV)
    timed_out = to_exec_result(_answer(signal.SIGKILL, "wall_time"), b"", b"")
    assert (timed_out.exit_code, timed_out.limit, timed_out.is_ok) == (None, "wall_time", False)
    assert to_exec_result(_answer(0, "disk"), b"", b"").is_ok is False


def test_reports_of_another_run_or_cut_in_the_middle_are_ignored() -> None:
    good = json.dumps({"name": "test_a", "outcome": "passed"})
    control = f"n1 {good}\nn2 {good}\n{good}\nn1 [1]\nn1 {good[:9]}".encode()
    assert read_reports(control, "n1") == [json.loads(good)]


def test_of_two_reports_the_worse_counts_in_either_order() -> None:
    failed = {"name": "test_a", "outcome": "failed", "message": "m"}
    passed = {"name": "test_a", "outcome": "passed", "message": ""}
    for reports in ([failed, passed], [passed, failed]):
        result = to_check_result(reports, ["test_a"], ENDED)
        assert dict(result.outcomes) == {"test_a": "failed"}
        assert result.messages["test_a"] == "m"


def test_only_expected_names_count() -> None:
    reports = [
        {"tests": ["test_a", "test_b"]},
        {"tests": ["test_x"]},
        {"name": "test_x", "outcome": "passed"},
        {"name": "test_a", "outcome": "passed"},
        {"name": "test_b", "outcome": "splendid"},
    ]
    result = to_check_result(reports, None, ENDED)
    assert dict(result.outcomes) == {"test_a": "passed", "test_b": "missing"}
    assert "exit code 0" in result.messages["test_b"]


def test_silence_is_one_missing_module_never_success() -> None:
    result = to_check_result([], None, ENDED)
    assert dict(result.outcomes) == {"<module>": "missing"}
    assert not result.is_ok

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from sim2live.envs.sandbox import CheckResult, ExecResult, Limits, ProcessSandbox, check_sandbox
from sim2live.errors import SandboxError

pytestmark = pytest.mark.filterwarnings("ignore:the `process` sandbox")


class _Believes(ProcessSandbox):
    """Counts a test that was never reported as passed."""

    def check(self, *args: Any, **kwargs: Any) -> CheckResult:
        result = super().check(*args, **kwargs)
        kind = {name: o.replace("missing", "passed") for name, o in result.outcomes.items()}
        return CheckResult(outcomes=kind, messages=result.messages, execution=result.execution)


class _Forgets(ProcessSandbox):
    """Leaves files behind on restore."""

    def restore(self, snapshot: Any) -> None:
        for path, data in snapshot.files.items():
            self.write_file(path, data)


class _Chatty(ProcessSandbox):
    """Keeps more output than it may."""

    def python(self, source: str, *, limits: Limits | None = None) -> ExecResult:
        limits = dataclasses.replace(limits or Limits(), output_bytes=10**6)
        return super().python(source, limits=limits)


@pytest.mark.parametrize(
    ("kind", "complaint"),
    [(_Believes, "expected tests"), (_Forgets, "expected"), (_Chatty, "kept output")],
)
def test_violations_are_named(kind: type[ProcessSandbox], complaint: str) -> None:
    with kind() as sandbox, pytest.raises(SandboxError, match=complaint):
        check_sandbox(sandbox)


def test_something_else_is_refused() -> None:
    with pytest.raises(SandboxError, match="lacks parts"):
        check_sandbox(object())  # type: ignore[arg-type]

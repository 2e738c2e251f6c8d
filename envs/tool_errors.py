"""What went wrong with a tool call, as a code; how many in a row; how often one recovers.

A code is stable, the text beside it is for the agent to read. Two kinds are kept apart:

- a *tool error*: the call could not be carried out as it was written (it is invalid, or the tool
  refused it: no such file, a text that is not unique). The agent can put it right by calling again.
- a *verdict*: the call was carried out, and what ran said no (failing tests, exit status 1, a
  program stopped at a limit). That is news about the code, and no mistake in the call.

Only tool errors count towards an error budget and towards recovery.
"""

from __future__ import annotations

import enum
import errno
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..hack_detectors.invalid_call import intended_tool
from ..trajectory import ResultState, ToolCall, ToolResult, Trajectory
from .computer import TOOLS


class ToolError(enum.StrEnum):
    """Codes of calls and results that failed; `limit:<name>` beside them names a resource limit."""

    INVALID_JSON = "invalid_json"
    NOT_AN_OBJECT = "not_an_object"
    """The call or its `arguments` is JSON, but no object."""
    NOT_CLOSED = "not_closed"
    UNKNOWN_TOOL = "unknown_tool"
    MISSING_ARGUMENT = "missing_argument"
    UNKNOWN_ARGUMENT = "unknown_argument"
    WRONG_TYPE = "wrong_type"
    NO_SUCH_FILE = "no_such_file"
    NOT_A_FILE = "not_a_file"
    """A folder stands where a file was wanted, or the other way round."""
    BAD_PATH = "bad_path"
    """The path leads out of the work area or is none."""
    FILE_ERROR = "file_error"
    """Another refusal of the file system."""
    BAD_COMMAND = "bad_command"
    """It holds what no program can be given: a NUL character, or half of a surrogate pair."""
    OLD_NOT_FOUND = "old_not_found"
    OLD_NOT_UNIQUE = "old_not_unique"
    REFUSED = "refused"
    """The tool says that it failed and not why."""
    TESTS_FAILED = "tests_failed"
    EXIT_STATUS = "exit_status"


LIMIT = "limit:"
"""Prefix of the code of a call that a resource limit stopped, for example `limit:wall_time`."""

_RUNNERS = frozenset({"run", "run_tests"})
_VERDICTS = frozenset({ToolError.TESTS_FAILED, ToolError.EXIT_STATUS})


@dataclass(slots=True, frozen=True)
class Problem:
    """Why a call is invalid."""

    code: ToolError
    text: str
    """For the agent to read."""


def find_problem(name: str, arguments: Mapping[str, Any]) -> Problem | None:
    """Say what is wrong with a call of one of `TOOLS`, or None if it is valid."""
    if name not in TOOLS:
        return Problem(
            ToolError.UNKNOWN_TOOL, f"unknown tool `{name}`; the tools are {', '.join(TOOLS)}"
        )
    wanted = TOOLS[name]
    missing = [key for key in wanted if key not in arguments]
    if missing:
        return Problem(ToolError.MISSING_ARGUMENT, f"`{name}` lacks the argument `{missing[0]}`")
    foreign = [key for key in arguments if key not in wanted]
    if foreign:
        return Problem(ToolError.UNKNOWN_ARGUMENT, f"`{name}` has no argument `{foreign[0]}`")
    wrong = [key for key in wanted if not isinstance(arguments[key], str)]
    if wrong:
        return Problem(
            ToolError.WRONG_TYPE, f"`{name}`: the argument `{wrong[0]}` must be a string"
        )
    return None


def file_error_code(error: Exception) -> ToolError:
    """Return the code of what the file system said."""
    if isinstance(error, FileNotFoundError):
        return ToolError.NO_SUCH_FILE
    if isinstance(error, IsADirectoryError | NotADirectoryError):
        return ToolError.NOT_A_FILE
    # Sandboxes answer a path that leaves the work area with EPERM; file systems refuse with EACCES.
    is_outside = isinstance(error, PermissionError) and error.errno == errno.EPERM
    is_bad = is_outside or isinstance(error, ValueError)
    return ToolError.BAD_PATH if is_bad else ToolError.FILE_ERROR


def is_verdict(code: str | None) -> bool:
    """Say whether a code is about what ran, not about the call."""
    return code is not None and (code in _VERDICTS or code.startswith(LIMIT))


def is_tool_error(call: ToolCall, result: ToolResult | None) -> bool:
    """Say whether a call could not be carried out as written.

    Logs of other software have no codes; there a result that failed counts if it names neither an
    exit code nor a limit and no program was run. A person's refusal is no tool error.
    """
    if not call.is_valid:
        return True
    if result is None or result.ok is not False or result.denied_by is not None:
        return False
    if result.error_code is not None:
        return not is_verdict(result.error_code)
    return call.name not in _RUNNERS and result.exit_code is None and result.limit is None


def errors_in_a_row(trajectory: Trajectory) -> int:
    """Count the tool errors since the last call that was carried out (or since the beginning).

    Turns without a call neither count nor break the row.
    """
    count = 0
    for call, result in _answered_calls(trajectory):
        count = count + 1 if is_tool_error(call, result) else 0
    return count


@dataclass(slots=True, frozen=True, kw_only=True)
class Recovery:
    """How often a failed call was made good."""

    num_failed: int
    """Calls that could not be carried out as written."""
    num_recovered: int
    """Those of them followed, within the episode, by a call that was carried out and has the same
    tool and target."""
    calls_to_recover_mean: float | None
    """Mean number of calls from the failed one to the one that made it good; None if none did."""

    @property
    def recovered_frac(self) -> float | None:
        """Share of failed calls that were made good; None if none failed."""
        return self.num_recovered / self.num_failed if self.num_failed else None


def measure_recovery(trajectories: Iterable[Trajectory]) -> Recovery:
    """Count the failed calls of a batch and those that were made good.

    A call has the *same target* if it names the same `path`; what a call did not name, or what
    cannot be read from it, is no condition. An unknown tool may be made good by any tool. Turns
    copied from another trajectory do not count.
    """
    num_failed, waits = 0, []
    for trajectory in trajectories:
        calls = list(_answered_calls(trajectory))
        for position, (call, result) in enumerate(calls):
            if is_tool_error(call, result):
                num_failed += 1
                waits += _wait(call, calls[position + 1 :])
    return Recovery(
        num_failed=num_failed,
        num_recovered=len(waits),
        calls_to_recover_mean=sum(waits) / len(waits) if waits else None,
    )


def _wait(failed: ToolCall, later: Sequence[tuple[ToolCall, ToolResult | None]]) -> list[int]:
    """Return [how many calls later it was made good], or [] if it never was."""
    tool, path = intended_tool(failed), (failed.arguments or {}).get("path")
    if failed.error_code == ToolError.UNKNOWN_TOOL:
        tool = ""
    for distance, (call, result) in enumerate(later, 1):
        is_same_tool = not tool or call.name == tool
        is_same_path = not isinstance(path, str) or (call.arguments or {}).get("path") == path
        if is_same_tool and is_same_path and _is_carried_out(call, result):
            return [distance]
    return []


def _is_carried_out(call: ToolCall, result: ToolResult | None) -> bool:
    return (
        result is not None
        and result.denied_by is None
        and result.state is ResultState.ANSWERED
        and not is_tool_error(call, result)
    )


def _answered_calls(trajectory: Trajectory) -> Iterator[tuple[ToolCall, ToolResult | None]]:
    """Yield every call of the agent's own turns with its result, None if it has none."""
    for turn in trajectory.turns:
        if not turn.is_copied_context:
            results = {result.call_id: result for result in reversed(turn.results)}
            for call in turn.tool_calls:
                yield call, results.get(call.id)

"""What an agent with discrete skills can know, worked out from the record of its session so far.

The state is a function of the trajectory's messages, calls and results alone: nothing hidden, and
nothing remembered on the side. So a logged session can be put back into the same state at any of
its turns, which is what replay and the attribution of the sim-to-live gap rest on.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ..trajectory import Message, Polarity, ReactionKind, ToolCall, ToolResult, Trajectory
from .sandbox_computer import parse_counts
from .tasks.mutate import kinds_mentioned, lines_mentioned

_PLURAL = re.compile(r"\b(several|more than one|multiple|a few)\b", re.IGNORECASE)
_UNTESTED = 0.999
"""Share of tests that a version must beat to replace an original that was never tested."""
_UNKNOWN = re.compile(r"\b(don't know|do not know|not sure|no idea|can't tell|cannot tell)\b", re.I)


@dataclass(slots=True, kw_only=True)
class SkillState:
    """The session as the agent has seen it."""

    module_path: str
    test_path: str
    function: str
    max_steps: int
    content: str | None = None
    """Current text of the module, once it was read; follows the agent's own successful edits."""
    original: str | None = None
    tests: str | None = None
    """Text of the visible tests, once read."""
    counts: tuple[int, int] | None = None
    """(passed, failed) of the last test run, of whatever content."""
    is_tested: bool = False
    """True if `counts` belongs to the current content."""
    results: dict[str, float] = field(default_factory=dict)
    """Content to share of visible tests passed; -1.0 for content that the person refused."""
    kinds: frozenset[str] = frozenset()
    """Repair operators whose symptoms the person has described."""
    lines: frozenset[int] = frozenset()
    """Lines the person has pointed at."""
    is_plural: bool = False
    """True if the person said that several things are wrong."""
    num_turns: int = 0
    num_questions: int = 0
    num_unknown: int = 0
    """Questions that the person could not answer."""
    num_rejections: int = 0
    num_complaints: int = 0
    num_invalid: int = 0
    is_last_failed: bool = False
    """True if the last tool call failed, other than by failing tests."""
    has_tampered: bool = False
    """True if the agent has written to the tests."""

    @property
    def base(self) -> str | None:
        """The best version so far: what the next edit is applied to.

        The version with the highest share of passing tests; among equals the original, then the
        earliest. While the original was never tested only a version that passes every test is
        known to be better.
        """
        if self.original is None:
            return None
        best, share = self.original, self.results.get(self.original, _UNTESTED)
        for content, passed in self.results.items():
            if passed > share:
                best, share = content, passed
        return best


def skill_state(trajectory: Trajectory, pending: list[Message] | None = None) -> SkillState:
    """Work out the state after the turns of `trajectory`.

    Args:
        trajectory: the session so far; its `extra["task"]` names the files (see `Episode`).
        pending: messages that have arrived since the last turn.
    """
    task = trajectory.extra["task"]
    state = SkillState(
        module_path=task["module_path"],
        test_path=task["test_path"],
        function=task["function"],
        max_steps=task["max_steps"],
        num_turns=len(trajectory.turns),
    )
    heard: list[str] = []
    for turn in trajectory.turns:
        heard += _user_texts(turn.observation)
        for call, result in zip(turn.tool_calls, turn.results, strict=False):
            _follow(state, call, result, heard)
        state.num_complaints += sum(r.polarity is Polarity.DISSATISFIED for r in turn.reactions)
        if any(reaction.kind is ReactionKind.REJECT for reaction in turn.reactions):
            state.num_rejections += 1
            if state.content is not None:
                state.results[state.content] = -1.0
    heard += _user_texts(pending or [])
    text = "\n".join(heard)
    state.kinds, state.lines = kinds_mentioned(text), lines_mentioned(text)
    state.is_plural = bool(_PLURAL.search(text))
    return state


def _user_texts(messages: list[Message]) -> list[str]:
    return [message.text for message in messages if message.role == "user" and message.text]


def _follow(state: SkillState, call: ToolCall, result: ToolResult, heard: list[str]) -> None:
    state.num_invalid += not call.is_valid
    state.is_last_failed = result.ok is False and parse_counts(result.text) is None
    if not call.is_valid:
        return
    if call.name == "ask_user":
        state.num_questions += 1
        heard.append(result.text or "")
        state.num_unknown += bool(_UNKNOWN.search(result.text or ""))
    elif call.name == "run_tests":
        _follow_tests(state, result)
    elif result.ok and call.arguments is not None:
        _follow_files(state, call, result)


def _follow_tests(state: SkillState, result: ToolResult) -> None:
    counts = parse_counts(result.text)
    if counts is None:
        return
    state.counts, state.is_tested = counts, True
    if state.content is not None and state.results.get(state.content) != -1.0:
        state.results[state.content] = counts[0] / max(1, sum(counts))


def _follow_files(state: SkillState, call: ToolCall, result: ToolResult) -> None:
    arguments = call.arguments or {}
    path = arguments.get("path")
    if call.name == "run":
        state.has_tampered |= state.test_path in arguments.get("command", "")
        state.is_tested = False
    elif path == state.test_path:
        if call.name == "read_file":
            state.tests = result.text
        else:
            state.has_tampered, state.is_tested = True, False
    elif path == state.module_path:
        _follow_module(state, call, result)


def _follow_module(state: SkillState, call: ToolCall, result: ToolResult) -> None:
    arguments = call.arguments or {}
    if call.name == "read_file":
        is_first = state.original is None
        state.content = result.text or ""
        if is_first:
            state.original = state.content
            # Tests that ran before the file was read tell about this very content.
            if state.is_tested and state.counts is not None:
                state.results[state.content] = state.counts[0] / max(1, sum(state.counts))
        return
    state.is_tested = False
    if call.name == "write_file":
        state.content = arguments["text"]
    elif call.name == "edit_file" and state.content is not None:
        state.content = state.content.replace(arguments["old"], arguments["new"])

"""mini-swe-agent trajectories: a bare list of messages, or the 1.1 wrapper around one.

Three kinds of model leave three shapes: fenced commands in the text, tool calls, and items of the
Responses API. Results in text mode name no call; they are paired in order with the open calls of
the turn before, which is all that the format holds. A person shows only in the interactive agent:
as `interrupt_type` of a user message, and as commands of their own (`human_command`).
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

from ...trajectory import (
    ArgsState,
    EndReason,
    Json,
    Message,
    Origin,
    ReactionKind,
    ResultState,
    Source,
    TextState,
    ToolCall,
    ToolResult,
    Trajectory,
    Turn,
)
from .. import reactions as rules
from .base import LossReport, ReadResult, Sample, read_document
from .content import content_text, delay, parse_time, strings
from .lines import DEFAULT_MAX_RECORD_BYTES

_FENCED = re.compile(r"```(?:mswea_bash_command|bash)[ \t]*\n(.*?)\n?```", re.DOTALL)
_RETURNCODE = re.compile(r"<returncode>\s*(-?\d{1,6})\s*</returncode>")
_PREFIXES = (
    "Commands not executed. The user rejected your commands with the following message: ",
    "Interrupted by user: ",
    "The user added a new task: ",
)
_WORDLESS = ("Temporary interruption caught.", "Commands not executed.", "Switched to human mode.")
_ENDS = {
    "LimitsExceeded": EndReason.TRUNCATED_STEPS,
    "TimeExceeded": EndReason.TRUNCATED_TIME,
}
_SHOWN = frozenset({ReactionKind.INTERRUPT, ReactionKind.FOLLOW_UP})
_HEAD_MARK = re.compile(rb'"trajectory_format"\s*:\s*"mini-swe-agent')


class MiniSweAgentReader:
    """Reads mini-swe-agent's `.traj.json` files of both generations."""

    name = "mini_swe_agent"

    def sniff(self, sample: Sample) -> bool:
        """True for the wrapper, and for a list of messages with fenced commands or `actions`."""
        document = sample.document
        if isinstance(document, dict):
            version = document.get("trajectory_format")
            is_named = isinstance(version, str) and version.startswith("mini-swe-agent")
            info = document.get("info")
            has_info = isinstance(info, dict) and "mini_version" in info
            return isinstance(document.get("messages"), list) and (is_named or has_info)
        if isinstance(document, list):
            return any(_is_mini_message(message) for message in document)
        return document is None and bool(_HEAD_MARK.search(sample.head))

    def read(self, path: Path, *, max_record_bytes: int = DEFAULT_MAX_RECORD_BYTES) -> ReadResult:
        """Read one trajectory; see `Reader`. The size cap does not apply: it is one document."""
        report = LossReport(file=str(path), format=self.name)
        document, problem = read_document(path)
        wrapper = document if isinstance(document, dict) else {}
        messages = wrapper.get("messages") if wrapper else document
        if not isinstance(messages, list):
            report.present["document"] += 1
            report.skip("document", "malformed_document", None, 0, problem)
            return ReadResult(trajectories=[], report=report)
        assembler = _Assembler(report)
        for index, message in enumerate(messages):
            assembler.add(index, message)
        trajectories = []
        if assembler.finish():
            trajectories.append(_trajectory(assembler, wrapper, messages, report))
        return ReadResult(trajectories=trajectories, report=report)


def _is_mini_message(message: Any) -> bool:
    if not isinstance(message, dict):
        return False
    extra = message.get("extra")
    if isinstance(extra, dict) and ("actions" in extra or "interrupt_type" in extra):
        return True
    content = message.get("content")
    return (
        message.get("role") == "assistant"
        and isinstance(content, str)
        and "```mswea_bash_command" in content
    )


class _Assembler:
    """Takes the messages in order."""

    def __init__(self, report: LossReport) -> None:
        self.turns: list[Turn] = []
        self.pending: list[Message] = []
        self.exit_status: str | None = None
        self._report = report
        self._open: list[ToolCall] = []
        self._by_id: dict[str, tuple[int, ToolCall]] = {}
        self._answered: set[str] = set()
        self._is_human_command = False

    def add(self, index: int, message: Any) -> None:
        type_ = _message_type(message)
        self._report.present[type_] += 1
        if not isinstance(message, dict):
            self._report.skip(type_, "not_an_object", None, 0, f"message {index}")
            return
        extra = message.get("extra")
        extra = extra if isinstance(extra, dict) else {}
        if type_ in ("assistant", "response"):
            self._add_turn(index, message, extra)
        elif type_ in ("tool", "function_call_output"):
            self._add_named_result(message, extra)
        elif type_ == "user":
            self._add_user(message, extra)
        elif type_ in ("system", "exit"):
            self._add_message("harness" if type_ == "exit" else "system", message, extra, type_)
            self.exit_status = strings(extra.get("exit_status")) or self.exit_status
        else:
            self._report.kept_aside[type_, "unknown_role"] += 1
            return
        self._report.converted[type_] += 1

    def finish(self) -> bool:
        """Mark the calls without result; say whether there is anything to record."""
        for raw_id, (index, call) in self._by_id.items():
            if raw_id not in self._answered:
                kinds = {reaction.kind for reaction in self.turns[index].reactions}
                self.turns[index].results.append(
                    ToolResult(
                        call_id=call.id,
                        text=None,
                        text_state=TextState.ABSENT,
                        state=ResultState.UNANSWERED,
                        denied_by="user" if ReactionKind.REJECT in kinds else None,
                    )
                )
        return bool(self.turns or self.pending)

    def _add_turn(self, index: int, message: Json, extra: Json) -> None:
        response = extra.get("response")
        source = message if message.get("object") == "response" else response
        text, state = _turn_text(message)
        time_s = parse_time(extra.get("timestamp"))
        turn = Turn(
            observation=self.pending,
            text=text,
            text_state=state,
            reasoning=strings(message.get("reasoning_content")),
            model=strings(source.get("model")) if isinstance(source, dict) else None,
            start_s=time_s,
            end_s=time_s,
            origin=_origin(self._report.file),
        )
        if turn.reasoning:
            turn.reasoning_state = TextState.PRESENT
        _add_usage(turn, source)
        self.pending, self._open, self._is_human_command = [], [], False
        for number, (raw_id, name, arguments) in enumerate(_calls(message, extra, text)):
            first = ident = raw_id or f"m{index}-{number}"
            n = 2
            while ident in self._by_id:
                ident, n = f"{first}#{n}", n + 1
            call = _tool_call(ident, name, arguments)
            turn.tool_calls.append(call)
            self._open.append(call)
            self._by_id[ident] = (len(self.turns), call)
        if isinstance(extra.get("cost"), int | float):
            turn.extra["cost_usd"] = extra["cost"]
        self.turns.append(turn)

    def _add_named_result(self, message: Json, extra: Json) -> None:
        raw_id = message.get("tool_call_id", message.get("call_id"))
        result = _result(message, extra, raw_id if isinstance(raw_id, str) else None)
        found = self._by_id.get(raw_id) if isinstance(raw_id, str) else None
        if found is None:
            self._report.note("orphan_result", None, 0, str(raw_id)[:80])
            result.state = ResultState.ORPHAN
            if self.turns:
                self.turns[-1].results.append(result)
            else:
                self._add_message("harness", message, extra, "orphan_result")
            return
        index, call = found
        if call.id in self._answered:
            result.state = ResultState.DUPLICATE
        self._answered.add(call.id)
        self._open = [other for other in self._open if other.id != call.id]
        result.start_s = self.turns[index].end_s
        self.turns[index].results.append(result)

    def _add_user(self, message: Json, extra: Json) -> None:
        kind = extra.get("interrupt_type")
        if isinstance(kind, str):
            self._add_interrupt(kind, message, extra)
        elif isinstance(extra.get("actions"), list):
            self._add_message("user", message, extra, "human_command")
            self._is_human_command = True
        elif self._is_human_command:
            self._add_message("harness", message, extra, "human_command_output")
        elif self._open:
            call = self._open.pop(0)
            self._answered.add(call.id)
            result = _result(message, extra, call.id)
            result.start_s = self.turns[-1].end_s
            self.turns[-1].results.append(result)
        elif not self.turns:
            self._add_message("user", message, extra, "prompt")
        else:
            self._add_message("harness", message, extra, "unmarked")

    def _add_interrupt(self, kind: str, message: Json, extra: Json) -> None:
        text, _, _ = content_text(message.get("content"))
        time_s = parse_time(extra.get("timestamp"))
        turn = self.turns[-1] if self.turns else None
        reaction = None
        if turn is not None:
            reaction = rules.mini_interrupt_type(
                kind,
                len(self.turns) - 1,
                _own_words(text),
                call_id=turn.tool_calls[0].id if turn.tool_calls else None,
                time_s=time_s,
                delay_s=delay(turn.end_s, time_s),
            )
        self._add_message("user" if reaction else "harness", message, extra, kind)
        if turn is None or reaction is None:
            return
        turn.reactions.append(reaction)
        if reaction.kind is ReactionKind.REJECT:
            for result in turn.results:
                result.denied_by, result.ok = "user", None

    def _add_message(self, role: str, message: Json, extra: Json, kind: str) -> None:
        has_content = "content" in message or "output" in message
        text, state, images = content_text(message.get("content", message.get("output")))
        details: Json = {"kind": kind} | ({"images": images} if images else {})
        self.pending.append(
            Message(
                role=role,
                text=text,
                text_state=state if has_content else TextState.ABSENT,
                time_s=parse_time(extra.get("timestamp")),
                origin=_origin(self._report.file),
                extra=details,
            )
        )


def _message_type(message: Any) -> str:
    if not isinstance(message, dict):
        return "(not an object)"
    if message.get("object") == "response":
        return "response"
    kind = message.get("role") or message.get("type")
    return kind[:40] if isinstance(kind, str) else "(no role)"


def _turn_text(message: Json) -> tuple[str | None, TextState]:
    if message.get("object") == "response":
        items = message.get("output")
        parts = [i for i in items if isinstance(i, dict)] if isinstance(items, list) else []
        texts = [content_text(p.get("content"))[0] for p in parts if p.get("type") == "message"]
        if not texts:
            return None, TextState.ABSENT
        text: str | None = "\n".join(t for t in texts if t)
        return text, TextState.of(text)
    if "content" not in message:
        return None, TextState.ABSENT
    text, state, _ = content_text(message["content"])
    return text, state


def _calls(message: Json, extra: Json, text: str | None) -> list[tuple[str | None, str, Any]]:
    """List id, name and arguments of a turn's calls, from the most exact place that has them."""
    named: list[tuple[str | None, str, Any]] = []
    output = message.get("output") if message.get("object") == "response" else None
    for item in output if isinstance(output, list) else []:
        if isinstance(item, dict) and item.get("type") == "function_call":
            named.append((_id(item.get("call_id")), _name(item.get("name")), item.get("arguments")))
    tool_calls = message.get("tool_calls")
    for call in tool_calls if isinstance(tool_calls, list) else []:
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            name, arguments = _name(function.get("name")), function.get("arguments")
            named.append((_id(call.get("id")), name, arguments))
    if named:
        return named
    actions = extra.get("actions")
    if isinstance(actions, list):
        return [(None, "bash", a if isinstance(a, dict) else {"command": a}) for a in actions]
    return [(None, "bash", {"command": command}) for command in _FENCED.findall(text or "")]


def _id(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _name(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _tool_call(ident: str, name: str, arguments: Any) -> ToolCall:
    raw = None
    if isinstance(arguments, str):
        raw = arguments
        try:
            arguments = json.loads(arguments) if arguments else None
        except (ValueError, RecursionError):
            arguments = None
    if isinstance(arguments, dict):
        return ToolCall(id=ident, name=name, arguments=arguments)
    state = ArgsState.ABSENT if raw is None else ArgsState.UNPARSED if raw else ArgsState.EMPTY
    return ToolCall(id=ident, name=name, arguments=None, args_state=state, raw=raw)


def _result(message: Json, extra: Json, call_id: str | None) -> ToolResult:
    body = message.get("content", message.get("output"))
    text, state, images = content_text(body)
    code: Any = extra.get("returncode")
    if not isinstance(code, int):
        match = _RETURNCODE.search((text or "")[:200])
        code = int(match.group(1)) if match else None
    return ToolResult(
        call_id=call_id,
        text=text,
        text_state=state,
        ok=None if code is None else code == 0,
        exit_code=code,
        end_s=parse_time(extra.get("timestamp")),
        extra={"images": images} if images else {},
    )


def _add_usage(turn: Turn, source: Any) -> None:
    usage = source.get("usage") if isinstance(source, dict) else None
    if not isinstance(usage, dict):
        return
    prompt = usage.get("prompt_tokens", usage.get("input_tokens"))
    completion = usage.get("completion_tokens", usage.get("output_tokens"))
    turn.prompt_tokens = prompt if isinstance(prompt, int) else None
    turn.completion_tokens = completion if isinstance(completion, int) else None


def _own_words(text: str | None) -> str | None:
    """Return what the person typed, without the words the agent software puts around it."""
    words = text or ""
    for prefix in _PREFIXES:
        words = words.removeprefix(prefix)
    is_wordless = not words.strip() or words.startswith(_WORDLESS)
    return None if is_wordless else words.strip()


def _origin(file: str) -> Origin:
    return Origin(file=file, byte_offset=0, producer="mini-swe-agent")


def _section(wrapper: Json, *names: str) -> Json:
    value: Any = wrapper
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def _unobservable(wrapper: Json) -> tuple[ReactionKind, ...]:
    """Only the configuration says whether a person could act: acts themselves would be biased."""
    agent = _section(wrapper, "info", "config", "agent")
    mode = agent.get("mode")
    shown: frozenset[ReactionKind] = frozenset()
    if isinstance(mode, str):
        shown = _SHOWN | ({ReactionKind.REJECT} if mode == "confirm" else frozenset())
    return tuple(kind for kind in ReactionKind if kind not in shown)


def _trajectory(
    assembler: _Assembler, wrapper: Json, messages: list[Any], report: LossReport
) -> Trajectory:
    info = _section(wrapper, "info")
    digest = hashlib.sha256(repr(messages).encode("utf-8", "surrogatepass")).hexdigest()[:20]
    model = strings(_section(wrapper, "info", "config", "model").get("model_name"))
    exit_status = strings(info.get("exit_status")) or assembler.exit_status
    prompts = [m.text for t in assembler.turns for m in t.observation if m.role == "user"]
    models = {turn.model for turn in assembler.turns} - {None}
    for turn in assembler.turns:
        turn.model = turn.model or model
        turn.policy_version = turn.model
    version = strings(info.get("mini_version"))
    instance = strings(wrapper.get("instance_id"))
    return Trajectory(
        id=f"mini-{digest}",
        task_id=instance or f"mini/{digest}",
        source=Source.LIVE,
        policy_version=models.pop() if len(models) == 1 else model,
        turns=assembler.turns,
        closing=assembler.pending,
        end=_ENDS.get(exit_status or "", EndReason.UNKNOWN),
        instruction=prompts[0] if prompts else None,
        unobservable=_unobservable(wrapper),
        agent="mini-swe-agent",
        agent_version=version,
        origin=_origin(report.file),
        extra={"exit_status": exit_status} if exit_status else {},
    )

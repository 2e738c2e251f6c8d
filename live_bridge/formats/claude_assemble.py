"""Turn the records of one Claude Code talk into turns, results and reactions."""

from __future__ import annotations

import re
from typing import Any

from ...trajectory import (
    Json,
    Message,
    Origin,
    Reaction,
    ResultState,
    TextState,
    ToolCall,
    ToolResult,
    Turn,
)
from .. import reactions as rules
from ..reactions import Denial, Marker
from .base import LossReport, Record
from .claude_acts import OpenActs
from .claude_blocks import (
    add_reasoning,
    add_text,
    add_usage,
    last_seen,
    reason_aside,
    result_extra,
    tool_call,
)
from .claude_lines import UserLine, is_denial, take_apart, typed_reason
from .content import content_text, delay, parse_time, strings

_PLAIN_ID = re.compile(r"[A-Za-z0-9_.:#-]{1,128}\Z")
_PERSISTED = ("<persisted-output>", "</persisted-output>")
_QUESTION_TOOL = "AskUserQuestion"


class Assembler:
    """Takes the records of one group in order; `finish` gives turns and closing messages.

    Args:
        report: counts every record.
        file: path of the log, for origins.
        is_subagent: True if the records are a subagent's own talk.
        is_branch: True if they lie off the path that the session took.
    """

    def __init__(
        self, report: LossReport, file: str, *, is_subagent: bool = False, is_branch: bool = False
    ) -> None:
        self.turns: list[Turn] = []
        self.pending: list[Message] = []
        self.modes: set[str] = set()
        self.versions: set[str] = set()
        self.aside: dict[str, list[list[int]]] = {}
        self._report, self._file = report, file
        self._is_subagent, self._is_branch = is_subagent, is_branch
        self._mode: str | None = None
        self._calls: dict[str, tuple[int, ToolCall]] = {}
        self._answered: set[str] = set()
        self._message_id: tuple[str | None, str | None] = (None, None)
        self._acts = OpenActs(self.turns)

    def add(self, record: Record) -> None:
        """Take one record."""
        version = strings(record.data.get("version"))
        if version:
            self.versions.add(version)
        self._set_mode(record.data.get("permissionMode"))
        if record.type in ("user", "assistant"):
            if not isinstance(record.data.get("message"), dict):
                self._report.skip(record.type, "message_not_an_object", record.line, record.offset)
                return
            self._count(record)
            self._add_assistant(record) if record.type == "assistant" else self._add_user(record)
        elif record.type == "system" and record.data.get("subtype") == "compact_boundary":
            self._count(record)
            self._add_boundary(record)
        else:
            self.keep_aside(record, reason_aside(record))

    def keep_aside(self, record: Record, reason: str) -> None:
        """Count a record as kept aside and remember its place."""
        self._report.kept_aside[record.type, reason] += 1
        self.aside.setdefault(f"{record.type}: {reason}", []).append([record.line, record.offset])

    def steer(self, record: Record, text: str, *, is_delivered: bool) -> None:
        """Take a message that the person queued while the agent was at work."""
        self._count(record)
        time_s = parse_time(record.data.get("timestamp"))
        extra: Json = {"kind": "queued_command", "is_delivered": is_delivered}
        self.pending.append(self._message(record, "harness", text, TextState.of(text), extra))
        if self.turns:
            turn = self.turns[-1]
            self._react(
                rules.queued_steer(
                    len(self.turns) - 1,
                    text,
                    time_s=time_s,
                    delay_s=delay(turn.end_s, time_s),
                    is_delivered=is_delivered,
                )
            )

    def inject(self, record: Record, text: str, kind: str) -> None:
        """Take a text that software put in the person's place."""
        self._count(record)
        self.pending.append(
            self._message(record, "harness", text, TextState.of(text), {"kind": kind})
        )

    def finish(self) -> list[Message]:
        """Settle what is open and return the messages after the last turn."""
        self._settle(None)
        for raw_id, (index, call) in self._calls.items():
            if raw_id not in self._answered:
                self.turns[index].results.append(
                    ToolResult(
                        call_id=call.id,
                        text=None,
                        text_state=TextState.ABSENT,
                        state=ResultState.UNANSWERED,
                    )
                )
        return self.pending

    # --- records -----------------------------------------------------------------------------

    def _count(self, record: Record) -> None:
        if self._is_branch:
            self.keep_aside(record, "abandoned_branch")
        else:
            self._report.converted[record.type] += 1

    def _set_mode(self, mode: Any) -> None:
        if isinstance(mode, str) and mode:
            self._mode = mode[:40]
            self.modes.add(self._mode)

    def _add_boundary(self, record: Record) -> None:
        meta = record.data.get("compactMetadata")
        extra: Json = {"kind": "context_boundary"}
        if isinstance(meta, dict):
            extra |= {"trigger": meta.get("trigger"), "pre_tokens": meta.get("preTokens")}
        text = strings(record.data.get("content"))
        self.pending.append(self._message(record, "harness", text, TextState.of(text), extra))

    def _add_assistant(self, record: Record) -> None:
        message = record.data["message"]
        if message.get("model") == "<synthetic>" or record.data.get("isApiErrorMessage") is True:
            text, state, _ = content_text(message.get("content"))
            extra = {"kind": "harness_text"}
            self.pending.append(self._message(record, "harness", text, state, extra))
            return
        turn = self._turn_for(record, message)
        turn.end_s = parse_time(record.data.get("timestamp")) or turn.end_s
        stop = strings(message.get("stop_reason"))
        if stop:
            turn.extra["stop_reason"] = stop
        add_usage(turn, message.get("usage"))
        content = message.get("content")
        blocks = content if isinstance(content, list) else [content]
        for block in blocks:
            self._add_block(turn, record, block)

    def _turn_for(self, record: Record, message: Json) -> Turn:
        """Return the last turn if this line continues its message, else a new one."""
        ident = (strings(message.get("id")), strings(record.data.get("requestId")))
        has_prompt = any(pending.role == "user" for pending in self.pending)
        if self.turns and ident[0] and ident[0] == self._message_id[0] and not has_prompt:
            known = self._message_id[1]
            if known is None or ident[1] is None or known == ident[1]:
                return self.turns[-1]
        self._settle(None)
        self._message_id = ident
        time_s = parse_time(record.data.get("timestamp"))
        turn = Turn(
            observation=self.pending,
            model=strings(message.get("model")),
            policy_version=strings(message.get("model")),
            start_s=time_s,
            end_s=time_s,
            origin=self._origin(record),
        )
        if ident[0]:
            turn.extra["message_id"] = ident[0]
        self.turns.append(turn)
        self.pending = []
        return turn

    def _add_block(self, turn: Turn, record: Record, block: Any) -> None:
        if block is None:
            if turn.text_state is TextState.ABSENT:
                turn.text_state = TextState.NULL
        elif isinstance(block, str):
            add_text(turn, block)
        elif not isinstance(block, dict):
            self._report.note("odd_block", record.line, record.offset, type(block).__name__)
        elif block.get("type") == "text":
            text = block.get("text")
            add_text(turn, text if isinstance(text, str) else "")
        elif block.get("type") in ("thinking", "redacted_thinking"):
            add_reasoning(turn, block.get("thinking"))
        elif block.get("type") in ("tool_use", "server_tool_use"):
            self._add_call(turn, record, block)
        else:
            turn.extra.setdefault("other_blocks", []).append(str(block.get("type"))[:40])
            self._report.note("other_block", record.line, record.offset, str(block.get("type")))

    def _add_call(self, turn: Turn, record: Record, block: Json) -> None:
        raw_id = block.get("id")
        raw = raw_id if isinstance(raw_id, str) else f"line-{record.line}"
        if not _PLAIN_ID.match(raw):
            self._report.note("unsafe_call_id", record.line, record.offset, raw[:80])
        ident, n = raw, 2
        while ident in self._calls:
            ident, n = f"{raw}#{n}", n + 1
        if ident != raw:
            self._report.note("call_id_reused", record.line, record.offset, raw[:80])
        time_s = parse_time(record.data.get("timestamp"))
        call = tool_call(ident, block)
        if ident != raw:
            call.extra["raw_id"] = raw
        if time_s is not None:
            call.extra["time_s"] = time_s
        turn.tool_calls.append(call)
        self._calls[ident] = (len(self.turns) - 1, call)

    def _add_user(self, record: Record) -> None:
        line = take_apart(record.data)
        num_denials = len(self._acts.denials)
        for block in line.results:
            self._add_result(record, block, line)
        beside = (line.text or "").strip()
        if line.kind == "results" or any(
            beside and denial.reason == beside for denial in self._acts.denials[num_denials:]
        ):
            return  # a text beside a refusal has become its reason
        if line.kind == "marker":
            self._add_marker(record)
        for kind, text in line.context:
            extra: Json = {"kind": kind}
            self.pending.append(self._message(record, "harness", text, TextState.PRESENT, extra))
        if line.kind == "human":
            self._add_prompt(record, line)
        else:
            self.pending.append(
                self._message(record, "harness", line.text, line.text_state, {"kind": line.kind})
            )

    def _add_prompt(self, record: Record, line: UserLine) -> None:
        role = "harness" if self._is_subagent else "user"
        extra: Json = {"kind": "prompt"}
        if line.images:
            extra["images"] = line.images
        source = strings(record.data.get("promptSource"))
        if source:
            extra["prompt_source"] = source
        message = self._message(record, role, line.text, line.text_state, extra)
        self.pending.append(message)
        if self._is_subagent or not line.text:
            return
        if self._settle(line.text) or not self.turns:
            return
        turn = self.turns[-1]
        self._react(
            rules.follow_up(
                len(self.turns) - 1,
                line.text,
                time_s=message.time_s,
                delay_s=delay(last_seen(turn), message.time_s),
            )
        )

    # --- results -----------------------------------------------------------------------------

    def _add_result(self, record: Record, block: Json, line: UserLine) -> None:
        text, state, images = (
            content_text(block["content"]) if "content" in block else (None, TextState.ABSENT, [])
        )
        if text and any(mark in text for mark in _PERSISTED):
            state = TextState.TRUNCATED
            self._report.note("output_kept_elsewhere", record.line, record.offset)
        raw_id = block.get("tool_use_id")
        found = self._find_call(raw_id) if isinstance(raw_id, str) else None
        is_error = block.get("is_error")
        result = ToolResult(
            call_id=raw_id if isinstance(raw_id, str) else None,
            text=text,
            text_state=state,
            ok=(not is_error) if isinstance(is_error, bool) else None,
            end_s=parse_time(record.data.get("timestamp")),
            origin=self._origin(record),
            extra=result_extra(record.data.get("toolUseResult"), text, images),
        )
        if found is None:
            self._add_orphan(record, result)
            return
        index, call = found
        result.start_s, result.call_id = call.extra.get("time_s"), call.id
        if call.id in self._answered:
            result.state = ResultState.DUPLICATE
            self._report.note("duplicate_result", record.line, record.offset, str(raw_id)[:80])
            self.turns[index].results.append(result)
            return
        self._answered.add(call.id)
        self.turns[index].results.append(result)
        self._judge_result(record, block, line, index, call, result)

    def _find_call(self, raw_id: str) -> tuple[int, ToolCall] | None:
        """Return the first open call of an id; if none is open, the first of all."""
        ident, n = raw_id, 2
        while ident in self._calls:
            if ident not in self._answered:
                return self._calls[ident]
            ident, n = f"{raw_id}#{n}", n + 1
        return self._calls.get(raw_id)

    def _add_orphan(self, record: Record, result: ToolResult) -> None:
        self._report.note("orphan_result", record.line, record.offset, str(result.call_id)[:80])
        result.state = ResultState.ORPHAN
        if self.turns:
            self.turns[-1].results.append(result)
            return
        extra = {"kind": "orphan_result", "call_id": result.call_id}
        self.pending.append(self._message(record, "harness", result.text, result.text_state, extra))

    def _judge_result(  # one call's whole evidence
        self,
        record: Record,
        block: Json,
        line: UserLine,
        index: int,
        call: ToolCall,
        result: ToolResult,
    ) -> None:
        waited = delay(result.start_s, result.end_s)
        if is_denial(block, record.data, result.text):
            beside = line.text if line.kind == "human" else None
            self._acts.denials.append(
                Denial(
                    turn=index,
                    call_id=call.id,
                    tool=call.name,
                    time_s=result.end_s,
                    delay_s=waited,
                    kind=strings(record.data.get("toolDenialKind")),
                    reason=typed_reason(record.data, result.text, beside),
                    permission_mode=self._mode,
                    version=strings(record.data.get("version")),
                    is_subagent=self._is_subagent,
                )
            )
            result.ok = None
            result.denied_by = "policy" if rules.policy_denial(self._acts.denials[-1]) else "user"
        elif result.ok is not False and not self._is_subagent:
            self._judge_success(index, call, result, waited)

    def _judge_success(
        self, index: int, call: ToolCall, result: ToolResult, waited: float | None
    ) -> None:
        modified = result.extra.get("userModified")
        if call.name == _QUESTION_TOOL:
            reaction: Reaction | None = rules.question_answer(
                index, call.id, result.text, time_s=result.end_s, delay_s=waited
            )
        else:
            reaction = rules.implicit_accept(
                index,
                call.id,
                call.name,
                mode=self._mode,
                time_s=result.end_s,
                delay_s=waited,
                is_user_modified=modified if isinstance(modified, bool) else None,
            )
        self._react(reaction)

    def _react(self, reaction: Reaction | None) -> None:
        if reaction is not None:
            self.turns[reaction.turn].reactions.append(reaction)

    def _message(
        self, record: Record, role: str, text: str | None, state: TextState, extra: Json
    ) -> Message:
        return Message(
            role=role,
            text=text,
            text_state=state,
            time_s=parse_time(record.data.get("timestamp")),
            origin=self._origin(record),
            extra=extra,
        )

    def _origin(self, record: Record) -> Origin:
        return Origin(
            file=self._file,
            byte_offset=record.offset,
            line=record.line,
            producer="claude-code",
            producer_version=strings(record.data.get("version")),
        )

    def _settle(self, words: str | None) -> bool:
        """Judge the open acts; say whether the person's words were part of one."""
        found, took_words = self._acts.settle(words)
        for reaction in found:
            self._react(reaction)
        return took_words

    def _add_marker(self, record: Record) -> None:
        if not self.turns:
            return
        time_s = parse_time(record.data.get("timestamp"))
        self._acts.mark(
            Marker(
                turn=len(self.turns) - 1,
                time_s=time_s,
                delay_s=delay(self.turns[-1].end_s, time_s),
                version=strings(record.data.get("version")),
                is_subagent=self._is_subagent,
                interrupted_message_id=strings(record.data.get("interruptedMessageId")),
            )
        )

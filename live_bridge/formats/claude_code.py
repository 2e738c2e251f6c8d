"""Claude Code session logs (`<session>.jsonl`): a record a line, a tree by `parentUuid`.

A turn is one assistant message, whose blocks stand on several lines. The main talk, each part after
a `/clear`, each abandoned branch and each subagent's talk become trajectories of their own (tags
`abandoned_branch`, `subagent`; `parent_id` says whose). A branch holds its own turns only;
`extra["branch_after"]` names the record that it forks from.

Not covered: the stream format of `claude -p`, and files beside the log (persisted outputs are never
opened: their results are `truncated`). History that a resumed session repeats in another file under
new ids is not recognised as a repetition.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from ...trajectory import (
    Json,
    Message,
    Origin,
    ReactionKind,
    ResultState,
    Source,
    TextState,
    Trajectory,
    Turn,
)
from .. import reactions as rules
from ..reactions import ASKING_MODES, PHANTOM_VERSIONS
from .base import LossReport, ReadResult, Record, Sample, iter_records
from .claude_assemble import Assembler
from .claude_blocks import BOOKKEEPING, last_seen
from .claude_lines import take_apart
from .claude_queue import Queued, plan_queue
from .claude_tree import Group, group_records
from .content import delay, parse_time, strings
from .lines import DEFAULT_MAX_RECORD_BYTES

_ENVELOPE = ("uuid", "sessionId", "timestamp")
_OTHER_SHAPES = ("session_id", "parent_tool_use_id", "payload")
_NEVER_SHOWN = (
    ReactionKind.UNDO,
    ReactionKind.PERSIST,
    ReactionKind.RETRY,
    ReactionKind.RATE,
    ReactionKind.LEAVE,
)
_CLEAR = "<command-name>/clear</command-name>"


class ClaudeCodeReader:
    """Reads session logs of Claude Code, and the logs of its subagents."""

    name = "claude_code"

    def sniff(self, sample: Sample) -> bool:
        """True if any line is a message in Claude Code's envelope, or all are its bookkeeping."""
        values = [value for value in sample.values if isinstance(value, dict)]
        if any(_is_talk(value) for value in values):
            return True
        return bool(values) and all(value.get("type") in _known_types() for value in values)

    def read(self, path: Path, *, max_record_bytes: int = DEFAULT_MAX_RECORD_BYTES) -> ReadResult:
        """Read one session log; see `Reader`."""
        report = LossReport(file=str(path), format=self.name)
        records = _without_duplicates(
            iter_records(path, report, max_record_bytes=max_record_bytes, is_record=_is_record),
            report,
        )
        prompts = [(i, text) for i, r in enumerate(records) if (text := _prompt(r)) is not None]
        plan = plan_queue(records, prompts)
        by_record = {id(records[i]): queued for i, queued in plan.items()}
        groups = group_records(
            records, is_prompt=lambda r: _prompt(r) is not None, is_clear=_is_clear
        )
        ids = {group.key: _trajectory_id(group) for group in groups}
        trajectories = []
        for group in groups:
            trajectory = _build(group, by_record, ids, report)
            if trajectory is not None:
                trajectories.append(trajectory)
        return ReadResult(trajectories=trajectories, report=report)


def _known_types() -> frozenset[str]:
    return BOOKKEEPING | {"system", "attachment"}


def _is_record(value: Any) -> bool:
    is_typed = isinstance(value, dict) and isinstance(value.get("type"), str)
    return is_typed and any(name in value for name in _ENVELOPE)


def _is_talk(value: Json) -> bool:
    if not _is_record(value) or any(name in value for name in _OTHER_SHAPES):
        return False
    if value["type"] in ("user", "assistant"):
        return isinstance(value.get("message"), dict)
    return value["type"] == "attachment" and isinstance(value.get("attachment"), dict)


def _without_duplicates(records: Any, report: LossReport) -> list[Record]:
    """Drop records that repeat an earlier one byte for byte under the same uuid."""
    seen: dict[str, set[bytes]] = {}
    kept: list[Record] = []
    for record in records:
        uuid = record.data.get("uuid")
        if isinstance(uuid, str):
            digest = hashlib.sha256(record.raw).digest()
            known = seen.setdefault(uuid, set())
            if digest in known:
                report.skip(record.type, "exact_duplicate", record.line, record.offset)
                continue
            if known:
                report.note("uuid_reused", record.line, record.offset, uuid[:80])
            known.add(digest)
        record.raw = b""  # only needed for the comparison; a session may be large
        kept.append(record)
    return kept


def _prompt(record: Record) -> str | None:
    if record.type != "user" or not isinstance(record.data.get("message"), dict):
        return None
    line = take_apart(record.data)
    return line.text if line.kind == "human" and line.text else None


def _is_clear(record: Record) -> bool:
    message = record.data.get("message")
    if record.type != "user" or not isinstance(message, dict):
        return False
    line = take_apart(record.data)
    return line.kind == "slash_command" and _CLEAR in (line.text or "")


def _session(group: Group) -> str | None:
    return next((s for r in group.records if (s := strings(r.data.get("sessionId")))), None)


def _trajectory_id(group: Group) -> str:
    """Derive an id that a growing log keeps: from the session, the part, and its first message."""
    talk = (record for record in group.records if record.type in ("user", "assistant"))
    first = next(talk, group.records[0])
    message = first.data.get("message")
    parts = [
        _session(group),
        group.key,
        first.data.get("uuid"),
        first.data.get("timestamp"),
        message if isinstance(message, dict) else first.data.get("content"),
    ]
    return f"cc-{hashlib.sha256(repr(parts).encode('utf-8', 'surrogatepass')).hexdigest()[:20]}"


def _build(
    group: Group, plan: dict[int, Queued], ids: dict[str, str], report: LossReport
) -> Trajectory | None:
    assembler = Assembler(
        report, report.file, is_subagent=group.is_subagent, is_branch=group.is_branch
    )
    for record in group.records:
        queued = plan.get(id(record))
        if queued is None:
            assembler.add(record)
        elif queued.action == "steer":
            assembler.steer(record, queued.text, is_delivered=queued.is_delivered)
        elif queued.action == "inject":
            assembler.inject(record, queued.text, queued.reason)
        else:
            assembler.keep_aside(record, queued.reason)
    closing = assembler.finish()
    turns = assembler.turns
    if not turns and not closing:
        return None
    _add_rewind(group, turns)
    models = {turn.model for turn in turns}
    versions = sorted(assembler.versions)
    messages = [m for turn in turns for m in turn.observation] + closing
    session = _session(group)
    first = group.records[0]
    return Trajectory(
        id=ids[group.key],
        task_id=f"session/{session or ids[group.key]}",
        source=Source.LIVE,
        policy_version=models.pop() if len(models) == 1 else None,
        turns=turns,
        closing=closing,
        instruction=_instruction(messages),
        unobservable=_unobservable(assembler, group),
        tags=_tags(group, turns, versions, report),
        agent="claude-code",
        agent_version=versions[-1] if versions else None,
        session_id=session,
        parent_id=ids.get(group.parent_key or ""),
        origin=Origin(
            file=report.file,
            byte_offset=first.offset,
            line=first.line,
            producer="claude-code",
            producer_version=strings(first.data.get("version")),
        ),
        extra=_extra(group, assembler, versions),
    )


def _add_rewind(group: Group, turns: list[Turn]) -> None:
    if group.rewound_by is None or not turns:
        return
    time_s = parse_time(group.rewound_by.data.get("timestamp"))
    turns[-1].reactions.append(
        rules.rewind(
            len(turns) - 1,
            time_s=time_s,
            delay_s=delay(last_seen(turns[-1]), time_s),
            text=_prompt(group.rewound_by),
        )
    )


def _instruction(messages: list[Message]) -> str | None:
    own = (m.text for m in messages if m.extra.get("kind") == "prompt" and m.text)
    return next(own, None)


def _unobservable(assembler: Assembler, group: Group) -> tuple[ReactionKind, ...]:
    """Say what this log could not have shown.

    Accepts show only in a mode that asks, refusals not where every tool is let through, a person's
    other acts not in a subagent's talk, and interrupts not in versions that made them up.
    """
    hidden = set(_NEVER_SHOWN)
    if not assembler.modes & ASKING_MODES:
        hidden.add(ReactionKind.ACCEPT)
    if assembler.modes == {"bypassPermissions"}:
        hidden |= {ReactionKind.REJECT, ReactionKind.EDIT}
    if assembler.versions & PHANTOM_VERSIONS:
        hidden.add(ReactionKind.INTERRUPT)
    if group.is_subagent:
        hidden |= set(ReactionKind) - {ReactionKind.REJECT}
    return tuple(kind for kind in ReactionKind if kind in hidden)


def _tags(
    group: Group, turns: list[Turn], versions: list[str], report: LossReport
) -> tuple[str, ...]:
    tags: list[str] = []
    if group.is_branch:
        tags.append("abandoned_branch")
    if group.is_subagent:
        tags.append("subagent")
    if turns and any(r.state is ResultState.UNANSWERED for r in turns[-1].results):
        tags.append("cut_off")
    if any(_says_nothing(turn) for turn in turns):
        tags.append("text_missing")
    if report.noted["nul_block"]:
        tags.append("gap_suspected")
    if report.noted["torn_tail"]:
        tags.append("torn_tail")
    if len(versions) > 1:
        tags.append("mixed_versions")
    return tuple(tags)


def _says_nothing(turn: Turn) -> bool:
    """True if the log holds neither text nor calls of a turn: it was lost, not left unsaid."""
    return turn.text_state is not TextState.PRESENT and not turn.tool_calls


def _extra(group: Group, assembler: Assembler, versions: list[str]) -> Json:
    extra: Json = {"part": group.key}
    for name in ("cwd", "gitBranch"):
        value = next((v for r in group.records if (v := strings(r.data.get(name)))), None)
        if value:
            extra[name] = value
    if assembler.modes:
        extra["permission_modes"] = sorted(assembler.modes)
    if len(versions) > 1:
        extra["versions"] = versions
    if group.is_branch:
        extra["branch_after"] = group.records[0].data.get("parentUuid")
    if assembler.aside:
        extra["kept_aside"] = assembler.aside
    return extra

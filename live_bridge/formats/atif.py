"""ATIF: a JSON document, or JSON Lines with a document a line.

The conversion itself is the package's own interchange; this reader adds the account of records (a
record is a *step*; a document that cannot be read at all counts as one) and turns what a foreign
document says about the person into reactions. What another project's document can show is not
known, so all kinds but follow-ups count as unobservable, also those that it happens to show once:
a rate over the documents that show an act would be 1.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

from ...errors import FormatError, boundary
from ...interchange import from_atif
from ...trajectory import Json, Message, Origin, Reaction, ReactionKind, Trajectory, Turn
from .. import reactions as rules
from .base import LossReport, ReadResult, Record, Sample, iter_records, read_document
from .claude_blocks import last_seen
from .content import delay
from .lines import DEFAULT_MAX_RECORD_BYTES

_HEAD_MARK = re.compile(rb'"schema_version"\s*:\s*"ATIF-')
_OWN = "sim2live"
_SOURCES = ("user", "system", "agent")


class AtifReader:
    """Reads ATIF 1.0 to 1.8, our own documents and other projects'."""

    name = "atif"

    def sniff(self, sample: Sample) -> bool:
        """True if the document, or any line, names an ATIF version."""
        if _is_atif(sample.document) or any(_is_atif(value) for value in sample.values):
            return True
        return sample.document is None and bool(_HEAD_MARK.search(sample.head))

    def read(self, path: Path, *, max_record_bytes: int = DEFAULT_MAX_RECORD_BYTES) -> ReadResult:
        """Read one document or a file of them; see `Reader`."""
        report = LossReport(file=str(path), format=self.name)
        document, problem = read_document(path)
        trajectories: list[Trajectory] = []
        if _is_atif(document):
            trajectories += _convert(document, report, None, 0)
        elif document is not None:
            report.present["document"] += 1
            report.skip("document", "not_atif", None, 0)
        else:
            trajectories += _convert_lines(path, report, max_record_bytes, problem)
        return ReadResult(trajectories=trajectories, report=report)


def _is_atif(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    version = value.get("schema_version")
    return isinstance(version, str) and version.startswith("ATIF-")


def _convert_lines(
    path: Path, report: LossReport, max_record_bytes: int, problem: str
) -> list[Trajectory]:
    """Read a document a line; a file without one is a single broken document."""
    trial = LossReport(file=report.file, format=report.format)
    records = list(iter_records(path, trial, max_record_bytes=max_record_bytes))
    if not any(_is_atif(record.data) for record in records):
        report.present["document"] += 1
        report.skip("document", "malformed_document", None, 0, problem)
        return []
    for name in ("present", "skipped", "noted", "diagnostics"):
        setattr(report, name, getattr(trial, name))
    trajectories: list[Trajectory] = []
    for record in records:
        report.present[record.type] -= 1  # counted by its steps instead
        trajectories += _convert_record(record, report)
    report.present += type(report.present)()  # drop the zeros
    return trajectories


def _convert_record(record: Record, report: LossReport) -> list[Trajectory]:
    if _is_atif(record.data):
        return _convert(record.data, report, record.line, record.offset)
    report.present["document"] += 1
    report.skip("document", "not_atif", record.line, record.offset)
    return []


def _convert(document: Json, report: LossReport, line: int | None, offset: int) -> list[Trajectory]:
    """Convert one document and the subagents' documents inside it."""
    steps = document.get("steps")
    if not isinstance(steps, list):
        report.present["document"] += 1
        report.skip("document", "no_steps", line, offset)
        return []
    good: list[Json] = []
    for index, step in enumerate(steps):
        type_ = _step_type(step)
        report.present[type_] += 1
        if not isinstance(step, dict):
            report.skip(type_, "not_an_object", line, offset, f"step {index}")
        elif step.get("source") not in _SOURCES:
            report.skip(type_, "unknown_source", line, offset, f"step {index}")
        else:
            good.append(step)
    origin = Origin(file=report.file, byte_offset=offset, line=line, producer="atif")
    try:
        with boundary(FormatError, "reading the document"):
            trajectory = from_atif({**document, "steps": good}, origin=origin)
    except FormatError as error:
        for step in good:
            report.skipped[_step_type(step), "malformed_document"] += 1
        report.note("malformed_document", line, offset, str(error)[:300])
        return _embedded(document, report, line, offset)
    for step in good:
        report.converted[_step_type(step)] += 1
    if not _is_own(document):
        _complete_foreign(trajectory, document, good)
    return [trajectory, *_embedded(document, report, line, offset)]


def _embedded(
    document: Json, report: LossReport, line: int | None, offset: int
) -> list[Trajectory]:
    children = document.get("subagent_trajectories")
    found: list[Trajectory] = []
    for child in children if isinstance(children, list) else []:
        if isinstance(child, dict):
            found += _convert(child, report, line, offset)
        else:
            report.present["document"] += 1
            report.skip("document", "not_an_object", line, offset)
    return found


def _step_type(step: Any) -> str:
    source = step.get("source") if isinstance(step, dict) else None
    return f"step {source[:40]}" if isinstance(source, str) else "step (no source)"


def _is_own(document: Json) -> bool:
    extra = document.get("extra")
    return isinstance(extra, dict) and _OWN in extra


def _complete_foreign(trajectory: Trajectory, document: Json, steps: list[Json]) -> None:
    """Give a foreign document an id of its own, its reactions, and what it could not show."""
    body = json.dumps(document, sort_keys=True, default=str)
    trajectory.id = f"atif-{hashlib.sha256(body.encode()).hexdigest()[:20]}"
    trajectory.unobservable = tuple(
        kind for kind in ReactionKind if kind is not ReactionKind.FOLLOW_UP
    )
    agent_steps = [step for step in steps if step.get("source") == "agent"]
    for index, turn in enumerate(trajectory.turns):
        if turn.is_copied_context:
            continue
        call_ids = _raw_ids(turn, agent_steps[index])
        for feedback in _feedback(turn.extra):
            _react(trajectory, rules.atif_user_feedback(feedback, index, call_ids, turn.start_s))
        for result in turn.results:
            for feedback in _feedback(result.extra):
                about = {"call": result.call_id, **feedback} if isinstance(feedback, dict) else None
                _react(trajectory, rules.atif_user_feedback(about, index, call_ids, result.end_s))
    for index, messages in _after_turns(trajectory):
        for message in messages:
            _hear(trajectory, index, message)


def _after_turns(trajectory: Trajectory) -> list[tuple[int, list[Message]]]:
    later = [turn.observation for turn in trajectory.turns[1:]]
    if trajectory.turns:
        later.append(trajectory.closing)
    return list(enumerate(later))


def _hear(trajectory: Trajectory, index: int, message: Message) -> None:
    turn = trajectory.turns[index]
    if message.role != "user" or message.is_copied_context or not message.text:
        return
    for feedback in _feedback(message.extra):
        _react(trajectory, rules.atif_user_feedback(feedback, index, {}, message.time_s))
    seen_s = last_seen(turn)
    waited = delay(turn.start_s if seen_s is None else seen_s, message.time_s)
    _react(
        trajectory,
        rules.follow_up(index, message.text, time_s=message.time_s, delay_s=waited),
    )


def _feedback(extra: Json) -> list[Any]:
    feedback = extra.get("user_feedback")
    if feedback is None:
        return []
    return feedback if isinstance(feedback, list) else [feedback]


def _raw_ids(turn: Turn, step: Json) -> dict[str, str]:
    """Map ids as the step has them to ours; the first call of an id is the one meant."""
    raw_calls = step.get("tool_calls")
    calls = raw_calls if isinstance(raw_calls, list) else []
    raw_ids = [call.get("tool_call_id") for call in calls if isinstance(call, dict)]
    found: dict[str, str] = {}
    for raw, call in zip(raw_ids, turn.tool_calls, strict=False):
        found.setdefault(str(raw), call.id)
    return found


def _react(trajectory: Trajectory, reaction: Reaction | None) -> None:
    if reaction is not None:
        trajectory.turns[reaction.turn].reactions.append(reaction)

"""What a reader of a log format is, and the account it must give of every record."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from ...trajectory import Json, Trajectory
from .lines import DEFAULT_MAX_RECORD_BYTES, iter_lines, open_log, parse_json, parse_line

MAX_DIAGNOSTICS = 500
"""Diagnostics kept with their place in the file; beyond that only their number is."""
MAX_DOCUMENT_BYTES = 256 * 1024 * 1024
"""Largest single JSON document that is read."""
_SAMPLE_LINES = 200
_SAMPLE_BYTES = 64 * 1024 * 1024
_MAX_TYPE_CHARS = 60


@dataclass(slots=True, kw_only=True, frozen=True)
class Diagnostic:
    """One thing that was not as it should be, and where."""

    reason: str
    file: str
    line: int | None
    """1-based; None in a file that is one document."""
    byte_offset: int
    detail: str = ""

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        tail = f" ({self.detail})" if self.detail else ""
        return f"{place} @{self.byte_offset}: {self.reason}{tail}"


@dataclass(slots=True, kw_only=True)
class LossReport:
    """What became of every record of one file.

    *Converted* records are part of a trajectory. *Kept aside* are those that are no part of a turn
    (bookkeeping) or lie off the path that the session took; their places in the file stand on the
    trajectory. *Skipped* could not be used at all. `present` is counted while reading, the other
    three while converting, so that their agreement says something.
    """

    file: str
    format: str
    present: Counter[str] = field(default_factory=Counter)
    converted: Counter[str] = field(default_factory=Counter)
    kept_aside: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By record type and reason."""
    skipped: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By record type and reason."""
    noted: Counter[str] = field(default_factory=Counter)
    """How often each diagnostic was made, also those beyond `MAX_DIAGNOSTICS`."""
    diagnostics: list[Diagnostic] = field(default_factory=list)

    def note(self, reason: str, line: int | None, byte_offset: int, detail: str = "") -> None:
        """Record a diagnostic."""
        self.noted[reason] += 1
        if len(self.diagnostics) < MAX_DIAGNOSTICS:
            self.diagnostics.append(
                Diagnostic(
                    reason=reason,
                    file=self.file,
                    line=line,
                    byte_offset=byte_offset,
                    detail=detail,
                )
            )

    def skip(
        self, type_: str, reason: str, line: int | None, offset: int, detail: str = ""
    ) -> None:
        """Count a record as skipped, and note where it was and why."""
        self.skipped[type_, reason] += 1
        self.note(reason, line, offset, detail)

    @property
    def num_present(self) -> int:
        """Number of records in the file."""
        return self.present.total()

    @property
    def is_balanced(self) -> bool:
        """True if every record present was converted, kept aside or skipped, type by type."""
        seen = Counter(self.converted)
        for (type_, _), count in itertools.chain(self.kept_aside.items(), self.skipped.items()):
            seen[type_] += count
        return seen == self.present

    def to_json(self) -> Json:
        """Return the report as plain JSON."""
        return {
            "file": self.file,
            "format": self.format,
            "present": dict(self.present),
            "converted": dict(self.converted),
            "kept_aside": {f"{t}: {r}": n for (t, r), n in self.kept_aside.items()},
            "skipped": {f"{t}: {r}": n for (t, r), n in self.skipped.items()},
            "noted": dict(self.noted),
            "diagnostics": [str(diagnostic) for diagnostic in self.diagnostics],
        }


@dataclass(slots=True, kw_only=True)
class ReadResult:
    """The trajectories of one file and the account of its records."""

    trajectories: list[Trajectory]
    report: LossReport


@dataclass(slots=True, kw_only=True)
class Sample:
    """What a reader may look at to tell whether a file is of its format: content, not its name."""

    values: list[Any]
    """JSON values of the first lines that hold exactly one."""
    head: bytes
    """The first bytes of the file."""
    document: Any = None
    """The whole file as one JSON value; None if it is not one (or is a file of lines)."""


@runtime_checkable
class Reader(Protocol):
    """Reads one log format. Neither method raises on what a file contains."""

    name: str

    def sniff(self, sample: Sample) -> bool:
        """Say whether the file is of this format."""
        ...

    def read(self, path: Path, *, max_record_bytes: int = DEFAULT_MAX_RECORD_BYTES) -> ReadResult:
        """Read the file.

        Raises:
            OSError: it cannot be opened.
        """
        ...


@dataclass(slots=True, kw_only=True)
class Record:
    """One JSON object of a line-oriented log."""

    type: str
    data: Json
    line: int
    offset: int
    raw: bytes
    """The bytes it was parsed from."""


def record_type(value: Any) -> str:
    """Name the type of a record by its `type` field, for counting."""
    if not isinstance(value, dict):
        return "(not an object)"
    kind = value.get("type")
    return kind[:_MAX_TYPE_CHARS] if isinstance(kind, str) else "(untyped)"


def take_sample(path: Path) -> Sample:
    """Read as much of a file as is needed to tell its format."""
    values: list[Any] = []
    with open_log(path) as stream:
        head = _read(stream, 1 << 16)
    num_lines = num_bytes = 0
    with open_log(path) as stream:
        for line in iter_lines(stream):
            num_lines += 1
            num_bytes += len(line.data)
            values += [p.value for p in parse_line(line.data) if p.problem is None and line.data]
            if num_lines >= _SAMPLE_LINES or num_bytes >= _SAMPLE_BYTES:
                break
    # A file whose first line is a complete object is a file of lines (or one line: the same value).
    is_lines = bool(values) and isinstance(values[0], dict) and num_lines > 1
    document = None if is_lines else read_document(path)[0]
    return Sample(values=values, head=head, document=document)


def read_document(path: Path) -> tuple[Any, str]:
    """Read a whole file as one JSON value.

    Returns:
        The value and "", or None and what is wrong.
    """
    with open_log(path) as stream:
        data = _read(stream, MAX_DOCUMENT_BYTES + 1)
    if len(data) > MAX_DOCUMENT_BYTES:
        return None, f"larger than {MAX_DOCUMENT_BYTES} bytes"
    data = data.removeprefix(b"\xef\xbb\xbf").strip(b"\0 \t\r\n")
    try:
        return parse_json(data), ""
    except ValueError as error:
        return None, str(error)[:120]


def _read(stream: Any, size: int) -> bytes:
    """Read up to `size` bytes; a damaged compressed stream gives what comes before the damage."""
    import zlib

    parts: list[bytes] = []
    left = size
    while left > 0:
        try:
            part = stream.read(min(left, 1 << 20))
        except (OSError, EOFError, zlib.error):
            break
        if not part:
            break
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def iter_records(
    path: Path,
    report: LossReport,
    *,
    max_record_bytes: int,
    is_record: Callable[[Any], bool] | None = None,
) -> Iterator[Record]:
    """Yield the JSON objects of a line-oriented log; count and report everything else."""
    with open_log(path) as stream:
        for line in iter_lines(stream, max_record_bytes=max_record_bytes):
            if line.problem is not None:
                type_ = "(unread)"
                report.present[type_] += 1
                detail = ", ".join(line.notes)
                report.skip(type_, line.problem, line.number, line.offset, detail)
                continue
            for note in line.notes:
                report.note(note, line.number, line.offset)
            for piece in parse_line(line.data, is_record):
                offset = line.offset + piece.offset
                type_ = "(unparsed)" if piece.problem else record_type(piece.value)
                report.present[type_] += 1
                if piece.problem is not None:
                    is_torn = not line.is_terminated and piece.problem == "malformed_json"
                    problem = "torn_tail" if is_torn else piece.problem
                    report.skip(type_, problem, line.number, offset, piece.detail)
                elif not isinstance(piece.value, dict):
                    report.skip(type_, "not_an_object", line.number, offset)
                else:
                    yield Record(
                        type=type_,
                        data=piece.value,
                        line=line.number,
                        offset=offset,
                        raw=piece.raw,
                    )

"""What the readers of task formats share: checked fields, collected problems, one report a file."""

from __future__ import annotations

import gzip
import json
import math
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ....errors import FormatError
from ...grading import MakeSandbox, check_exam
from ..base import Task

MAX_FILE_BYTES = 512 * 1024 * 1024
_MAX_SHOWN = 20


class FieldError(Exception):
    """A record is not what its format says; `load_tasks` collects these, none comes out of it."""


@dataclass(slots=True, kw_only=True, frozen=True)
class Problem:
    """One thing that is wrong with a file of tasks."""

    where: str
    """File, with the line or the record's number."""
    text: str
    """The field, what is wrong with it and what would be right."""

    def __str__(self) -> str:
        return f"{self.where}: {self.text}"


@dataclass(slots=True, kw_only=True, frozen=True)
class Loaded:
    """A task and the work that solves it."""

    task: Task
    solution: Mapping[str, bytes | None] = field(default_factory=dict)
    """Hidden: what the right work differs in from what the agent finds; None deletes a file."""


@dataclass(slots=True, kw_only=True, frozen=True)
class LoadReport:
    """What became of every record of a file."""

    format: str
    loaded: tuple[Loaded, ...]
    problems: tuple[Problem, ...]
    num_records: int
    """Equals the number of loaded tasks and of those that were skipped; each counts once."""

    @property
    def tasks(self) -> list[Task]:
        """The tasks that could be read."""
        return [loaded.task for loaded in self.loaded]

    @property
    def num_skipped(self) -> int:
        """Number of records that gave no task."""
        return self.num_records - len(self.loaded)

    def raise_problems(self) -> None:
        """Raise one error that lists what is wrong, if anything is.

        Raises:
            FormatError: lists the problems.
        """
        if not self.problems:
            return
        shown = "\n".join(f"- {problem}" for problem in self.problems[:_MAX_SHOWN])
        rest = len(self.problems) - _MAX_SHOWN
        more = f"\n(+{rest} more)" if rest > 0 else ""
        raise FormatError(
            f"{len(self.problems)} problems in tasks of format `{self.format}` "
            f"({len(self.loaded)} of {self.num_records} could be read):\n{shown}{more}"
        )


class Record:
    """One record as parsed, whose fields are checked when they are asked for.

    Args:
        value: the parsed JSON or TOML.
    """

    def __init__(self, value: object, what: str = "record") -> None:
        if not isinstance(value, dict):
            raise FieldError(f"the {what} is {_kind(value)}; expected an object with named fields")
        self._fields: dict[str, Any] = value

    def text(self, *names: str, default: str | None = None, is_empty_fine: bool = False) -> str:
        """Return the first of the fields that is there, as a text."""
        for name in names:
            value = self._fields.get(name)
            if value is None:
                continue
            if not isinstance(value, str):
                raise FieldError(f"field `{name}` is {_kind(value)}; expected a string")
            if not value.strip() and not is_empty_fine and default is None:
                raise FieldError(f"field `{name}` is empty; give it a text")
            return encodable(name, value)
        if default is not None:
            return default
        raise FieldError(f"field `{names[0]}` is missing; add it (a string)")

    def identifier(self, *names: str) -> str:
        """Return an id: a text or a whole number."""
        for name in names:
            value = self._fields.get(name)
            if isinstance(value, int) and not isinstance(value, bool):
                if abs(value) >= 1 << 63:
                    raise FieldError(f"field `{name}` is too large a number; expected an id")
                return str(value)
        return self.text(*names)

    def texts(self, name: str, *, is_required: bool = True, may_be_json: bool = False) -> list[str]:
        """Return a list of texts; with `may_be_json` also one that is written as a JSON string."""
        value = self._fields.get(name)
        if value is None and not is_required:
            return []
        if isinstance(value, str) and may_be_json:
            value = parse_json(value, f"field `{name}`")
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise FieldError(f"field `{name}` is {_kind(value)}; expected a list of strings")
        return [encodable(name, item) for item in value]

    def record(self, name: str) -> Record:
        """Return a table inside, empty if it is not there."""
        return Record(self._fields.get(name, {}), f"field `{name}`")

    def number(self, name: str, default: float) -> float:
        """Return a positive number."""
        value = self._fields.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise FieldError(f"field `{name}` is {_kind(value)}; expected a number")
        if not (0 < value < 1e9 and math.isfinite(value)):
            raise FieldError(f"field `{name}` is {value!r:.40}; expected a positive number")
        return float(value)

    def has(self, *names: str) -> bool:
        """Say whether all these fields are there."""
        return all(name in self._fields for name in names)


def parse_json(text: str | bytes, what: str) -> Any:
    """Parse JSON; every failure is a `FieldError`."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, json.JSONDecodeError) else type(error).__name__
        raise FieldError(f"{what} is not valid JSON ({reason}); write it again") from None


def encodable(name: str, value: str) -> str:
    """Return a text if a file can hold it."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise FieldError(f"field `{name}` has half a surrogate pair; repair the text") from None
    if "\0" in value:
        raise FieldError(f"field `{name}` has a NUL character; remove it")
    return value


def read_text_file(path: Path) -> str:
    """Return a file's text, unpacked if it is gzip.

    Raises:
        FormatError: it cannot be read, is too large or is no UTF-8.
    """
    try:
        with path.open("rb") as raw:
            is_packed = raw.read(2) == b"\x1f\x8b"
            raw.seek(0)
            with gzip.GzipFile(fileobj=raw) if is_packed else raw as file:
                data = file.read(MAX_FILE_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise FormatError(f"{path}: cannot be read: {error}; give a readable file") from error
    if len(data) > MAX_FILE_BYTES:
        raise FormatError(f"{path}: larger than {MAX_FILE_BYTES} bytes; split it")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError(f"{path}: not UTF-8 ({error.reason}); save it as UTF-8") from error


def records(path: Path) -> Iterator[tuple[str, str | object]]:
    """Yield place and content of each record of a JSON Lines file, or of a JSON list.

    The content is a text that is to be parsed, or an object that is.
    """
    text = read_text_file(path)
    if text.lstrip()[:1] == "[":
        try:
            values = parse_json(text, "the file")
        except FieldError as error:
            raise FormatError(f"{path}: {error}") from None
        for number, value in enumerate(values, 1):
            yield f"{path}, record {number}", value
        return
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield f"{path}:{number}", line


def read_records(
    path: Path,
    name: str,
    convert: Callable[[Record], Loaded],
    make_sandbox: MakeSandbox | None,
) -> LoadReport:
    """Turn each record of a file into a task; what is wrong with one does not touch the others.

    Args:
        path: the file.
        name: of the format.
        convert: makes the task of one record; raises `FieldError`.
        make_sandbox: makes sandboxes to check exams in; None leaves them unchecked.
    """
    loaded: list[Loaded] = []
    problems: list[Problem] = []
    seen: dict[str, str] = {}
    num_records = 0
    for where, content in records(path):
        num_records += 1
        try:
            value = parse_json(content, "the line") if isinstance(content, str) else content
            one = convert(Record(value))
            if one.task.id in seen:
                raise FieldError(f"id `{one.task.id}` stands at {seen[one.task.id]} already")
            seen[one.task.id] = where
            loaded.append(check(one, make_sandbox))
        except FieldError as error:
            problems.append(Problem(where=where, text=str(error)))
    return LoadReport(
        format=name, loaded=tuple(loaded), problems=tuple(problems), num_records=num_records
    )


def check(loaded: Loaded, make_sandbox: MakeSandbox | None) -> Loaded:
    """Let the right and the broken work sit a task's exam.

    Raises:
        FieldError: the exam cannot tell them apart.
    """
    if make_sandbox is None or loaded.task.exam is None or not loaded.solution:
        return loaded
    found = check_exam(loaded.task, loaded.solution, make_sandbox)
    if not found.is_usable:
        reasons = "; ".join(found.reasons[:5])
        raise FieldError(
            f"task `{loaded.task.id}` cannot be used here: {reasons}. Its tests must fail without "
            "and pass with its own solution in this sandbox"
        )
    return Loaded(task=found.mark(loaded.task), solution=loaded.solution)


def _kind(value: object) -> str:
    names = {type(None): "missing", dict: "an object", list: "a list", str: "a string"}
    return names.get(type(value), f"a {type(value).__name__}")

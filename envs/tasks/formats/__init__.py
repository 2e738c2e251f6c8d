"""Public task formats, read from local files: HumanEval, MBPP, SWE-bench style, Harbor folders."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal

from ....errors import ConfigError, FormatError, unknown_name
from ...grading import MakeSandbox
from ..base import Task
from . import harbor, humaneval, mbpp, swebench
from .base import FieldError, Loaded, LoadReport, Problem, Record, parse_json, records
from .harbor_export import write_harbor

__all__ = [
    "FORMATS",
    "LoadReport",
    "Loaded",
    "Problem",
    "load_tasks",
    "read_tasks",
    "sniff",
    "write_harbor",
]

FORMATS = (humaneval.NAME, mbpp.NAME, swebench.NAME, harbor.NAME)
_MAX_SNIFFED = 20
_LOOKS_LIKE = (
    (swebench.NAME, swebench.is_record),
    (mbpp.NAME, mbpp.is_record),
    (humaneval.NAME, humaneval.is_record),
)


def load_tasks(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    repositories: str | os.PathLike[str] | None = None,
    make_sandbox: MakeSandbox | None = None,
    is_prepared: bool = False,
    on_error: Literal["raise", "skip"] = "raise",
) -> list[Task]:
    """Read tasks of a public format from a file or folder.

    Args:
        path: a `.jsonl` or `.json` file (gzip too), a Harbor task folder, or a folder of those.
        format: one of `FORMATS`; None finds out from the content.
        repositories: folder with local clones; SWE-bench tasks need it.
        make_sandbox: makes sandboxes in which every task's own solution and the broken work sit
            its exam; a task that cannot tell them apart is a problem. None checks nothing: then
            pytest exams are graded in the strict mode (`grading.Mode.APART`).
        is_prepared: the sandbox has what Dockerfiles of Harbor tasks install.
        on_error: `raise` one error that lists all problems of the file, or `skip` the records that
            have one (`read_tasks` says which).

    Raises:
        FormatError: the file cannot be read, is of no known format, or (`raise`) has problems.
        ConfigError: an option is wrong.
        SandboxError: a sandbox failed.

    Example:
        >>> from sim2live.envs.tasks.formats import load_tasks
        >>> tasks = load_tasks("HumanEval.jsonl")  # doctest: +SKIP
    """
    if on_error not in ("raise", "skip"):
        raise ConfigError(f"`on_error` is {on_error!r}; expected 'raise' or 'skip'")
    report = read_tasks(
        path,
        format=format,
        repositories=repositories,
        make_sandbox=make_sandbox,
        is_prepared=is_prepared,
    )
    if on_error == "raise":
        report.raise_problems()
    return report.tasks


def read_tasks(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    repositories: str | os.PathLike[str] | None = None,
    make_sandbox: MakeSandbox | None = None,
    is_prepared: bool = False,
) -> LoadReport:
    """Do the same as `load_tasks`, but return what became of every record."""
    place = Path(path)
    if format is not None and format not in FORMATS:
        raise unknown_name("task format", format, FORMATS)
    try:
        is_there = place.exists()
    except (OSError, ValueError):
        is_there = False
    if not is_there:
        raise FormatError(f"{path}: there is no such file or folder; give an existing one")
    name = format or sniff(place)
    if place.is_dir() != (name == harbor.NAME):
        wanted = "a folder" if name == harbor.NAME else "a file"
        raise FormatError(f"{path}: tasks of format `{name}` are {wanted}; give that")
    if name == harbor.NAME:
        report = harbor.read(place, make_sandbox=make_sandbox, is_prepared=is_prepared)
    elif name == swebench.NAME:
        clones = Path(repositories) if repositories is not None else None
        report = swebench.read(place, repositories=clones, make_sandbox=make_sandbox)
    else:
        reader: Any = humaneval if name == humaneval.NAME else mbpp
        report = reader.read(place, make_sandbox=make_sandbox)
    if not report.num_records:
        raise FormatError(f"{path}: holds no task of format `{name}`; give a file that does")
    return report


def sniff(path: Path) -> str:
    """Return the name of the format that a file or folder has, found out from its content.

    Raises:
        FormatError: none that is known.
    """
    if path.is_dir():
        try:
            if harbor.folders(path):
                return harbor.NAME
        except OSError as error:
            raise FormatError(f"{path}: cannot be listed: {error.strerror}") from error
        raise FormatError(
            f"{path}: neither a Harbor task (`task.toml`, `instruction.md`) nor a folder of such"
        )
    for number, (_, content) in enumerate(records(path)):
        if number >= _MAX_SNIFFED:
            break
        try:
            value = parse_json(content, "line") if isinstance(content, str) else content
            record = Record(value)
        except FieldError:
            continue
        for name, is_record in _LOOKS_LIKE:
            if is_record(record):
                return name
    raise FormatError(
        f"{path}: of no known format; expected JSON Lines with `entry_point` and `prompt` "
        "(HumanEval), `test_list` (MBPP), or `instance_id` and `base_commit` (SWE-bench). "
        f"Known formats for `format`: {', '.join(FORMATS)}"
    )

"""Read logs from files and folders into a store, and account for every record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import ConfigError
from ..trajectory import Json, Trajectory
from .formats import UNKNOWN, LossReport, read_file
from .formats.lines import DEFAULT_MAX_RECORD_BYTES
from .redact import home_user
from .store import Store

Progress = Callable[[Path, int, int], None]
"""Called before each file with its path, its index (0-based) and the number of files."""


@dataclass(slots=True, kw_only=True)
class FileReport:
    """What one file gave."""

    path: str
    format: str
    """Name of the format, `unknown_format` or `unreadable`."""
    loss: LossReport
    error: str | None = None
    """Why the file could not be opened."""
    num_trajectories: int = 0
    num_added: int = 0
    num_updated: int = 0
    num_turns: int = 0
    num_calls: int = 0
    num_results: int = 0
    reactions: Counter[str] = field(default_factory=Counter)
    """By kind."""

    @property
    def num_records(self) -> int:
        """Records in the file: converted + kept aside + skipped."""
        return self.loss.num_present


@dataclass(slots=True, kw_only=True)
class IngestReport:
    """What all files gave, file by file."""

    files: list[FileReport] = field(default_factory=list)
    redactions: Counter[str] = field(default_factory=Counter)
    """Personal details and keys taken out, by kind."""

    @property
    def is_balanced(self) -> bool:
        """True if the account of every file adds up."""
        return all(file.loss.is_balanced for file in self.files)

    @property
    def formats(self) -> Counter[str]:
        """Number of files by format."""
        return Counter(file.format for file in self.files)

    @property
    def reactions(self) -> Counter[str]:
        """Reactions by kind."""
        return sum((file.reactions for file in self.files), Counter())

    @property
    def skipped(self) -> Counter[str]:
        """Records skipped, by reason."""
        counts: Counter[str] = Counter()
        for file in self.files:
            for (_, reason), count in file.loss.skipped.items():
                counts[reason] += count
        return counts

    @property
    def kept_aside(self) -> Counter[str]:
        """Records kept aside, by reason."""
        counts: Counter[str] = Counter()
        for file in self.files:
            for (_, reason), count in file.loss.kept_aside.items():
                counts[reason] += count
        return counts

    def total(self, name: str) -> int:
        """Return the sum of a count over all files, for example `num_turns`."""
        return sum(int(getattr(file, name)) for file in self.files)

    @property
    def num_converted(self) -> int:
        """Records that became part of a trajectory."""
        return sum(file.loss.converted.total() for file in self.files)

    @property
    def num_skipped(self) -> int:
        """Records that could not be used, and files that could not be opened."""
        return self.skipped.total() + sum(file.error is not None for file in self.files)

    def lines(self) -> Iterator[str]:
        """Yield the report as text, a line a file and the totals at the end."""
        for file in self.files:
            if file.error is not None or file.format == UNKNOWN:
                yield f"{file.path}: {file.error or UNKNOWN}"
                continue
            yield (
                f"{file.path}: {file.format}, {file.num_trajectories} trajectories "
                f"({file.num_added} new), {file.num_turns} turns, {file.num_records} records = "
                f"{file.loss.converted.total()} converted + {file.loss.kept_aside.total()} kept "
                f"aside + {file.loss.skipped.total()} skipped"
            )
        yield (
            f"{len(self.files)} files, {self.total('num_trajectories')} trajectories "
            f"({self.total('num_added')} new), {self.total('num_turns')} turns, "
            f"{self.total('num_records')} records = {self.num_converted} converted + "
            f"{self.kept_aside.total()} kept aside + {self.skipped.total()} skipped"
        )

    def to_json(self) -> Json:
        """Return the report as plain JSON."""
        names = [
            "num_trajectories",
            "num_added",
            "num_updated",
            "num_turns",
            "num_calls",
            "num_results",
            "num_records",
        ]
        return {
            "files": [
                {
                    "path": file.path,
                    "format": file.format,
                    "error": file.error,
                    **{name: getattr(file, name) for name in names},
                    "reactions": dict(file.reactions),
                    "loss": file.loss.to_json(),
                }
                for file in self.files
            ],
            "totals": {
                **{name: self.total(name) for name in names},
                "num_converted": self.num_converted,
                "kept_aside": dict(self.kept_aside),
                "skipped": dict(self.skipped),
                "reactions": dict(self.reactions),
                "formats": dict(self.formats),
                "redactions": dict(self.redactions),
                "is_balanced": self.is_balanced,
            },
        }


def ingest_paths(
    paths: Iterable[Path | str],
    store: Store,
    *,
    progress: Progress | None = None,
    max_record_bytes: int = DEFAULT_MAX_RECORD_BYTES,
) -> IngestReport:
    """Read every log under `paths` into the store. Doing it twice adds nothing the second time.

    Args:
        paths: files, and folders to walk; files may be gzipped. Files of the store itself, and
            links to folders, are passed over.
        store: where the trajectories and the account of each file go.
        progress: see `Progress`.
        max_record_bytes: longest record that is read.

    Returns:
        The account of every file, those in unknown formats included.

    Raises:
        ConfigError: a path does not exist.
        StoreError: the store cannot be written.
    """
    files = list(_walk([Path(path) for path in paths], store.path))
    report = IngestReport()
    before = Counter(store.redactions)
    for index, path in enumerate(files):
        if progress is not None:
            progress(path, index, len(files))
        report.files.append(_ingest_file(path, store, max_record_bytes))
    report.redactions = store.redactions - before
    return report


def _walk(paths: list[Path], store_path: Path) -> Iterator[Path]:
    inside = store_path.resolve()
    seen: set[Path] = set()
    for path in paths:
        if not path.exists():
            raise ConfigError(f"`{path}` does not exist; give log files or folders with logs")
        found = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())
        for file in found:
            real = file.resolve()
            if real not in seen and inside not in real.parents:
                seen.add(real)
                yield file


def _ingest_file(path: Path, store: Store, max_record_bytes: int) -> FileReport:
    try:
        result = read_file(path, max_record_bytes=max_record_bytes)
    except OSError as error:
        loss = LossReport(file=str(path), format="unreadable")
        return FileReport(path=str(path), format="unreadable", loss=loss, error=str(error))
    for trajectory in result.trajectories:
        _name_user(trajectory, store)
    counts = store.put(result.trajectories)
    store.add_report(result.report)
    turns = [turn for trajectory in result.trajectories for turn in trajectory.turns]
    return FileReport(
        path=str(path),
        format=result.report.format,
        loss=result.report,
        num_trajectories=len(result.trajectories),
        num_added=counts.added,
        num_updated=counts.updated,
        num_turns=len(turns),
        num_calls=sum(len(turn.tool_calls) for turn in turns),
        num_results=sum(len(turn.results) for turn in turns),
        reactions=Counter(reaction.kind.value for turn in turns for reaction in turn.reactions),
    )


def _name_user(trajectory: Trajectory, store: Store) -> None:
    """Give a session the pseudonym of whose home it ran in; leave it unknown if none shows."""
    if trajectory.user_id is not None:
        return
    cwd = trajectory.extra.get("cwd")
    name = home_user(cwd if isinstance(cwd, str) else None)
    if name is not None:
        trajectory.user_id = store.pseudonym(name)

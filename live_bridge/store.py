"""The store of trajectories: a folder with one SQLite database.

Trajectories are kept as ATIF documents beside the columns that are searched. They are redacted
before they are written. A trajectory is known by its id: one that is there already is not added
again, and one that has grown since (a session that went on) replaces the shorter one.

Lone surrogates, which a log may hold, cannot be written as UTF-8; they become U+FFFD here, and the
trajectory gets the tag `surrogate_replaced`.
"""

from __future__ import annotations

import dataclasses
import hashlib
import hmac
import json
import secrets
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from ..closing import Closing
from ..errors import FormatError, StoreError, unknown_name
from ..interchange import from_atif, to_atif
from ..trajectory import EndReason, Json, Source, Trajectory
from .formats.base import LossReport
from .redact import Redactor, map_strings, replace_surrogates

STORE_VERSION = 1
"""Layout of the database; a store with a higher one is refused."""
STORE_FILE = "store.sqlite"
"""Name of the database in a store's folder."""
_KEY_FILE = "pseudonym.key"
_PAGE = 200

_METADATA = sa.MetaData()
_META = sa.Table(
    "meta",
    _METADATA,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)
_TRAJECTORIES = sa.Table(
    "trajectories",
    _METADATA,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("digest", sa.Text, nullable=False),
    sa.Column("num_turns", sa.Integer, nullable=False),
    sa.Column("source", sa.Text, nullable=False, index=True),
    sa.Column("user_id", sa.Text, index=True),
    sa.Column("policy_version", sa.Text, index=True),
    sa.Column("task_id", sa.Text, nullable=False, index=True),
    sa.Column("time_s", sa.Float, index=True),
    sa.Column("end", sa.Text, nullable=False, index=True),
    sa.Column("document", sa.Text, nullable=False),
)
_REPORTS = sa.Table(
    "reports",
    _METADATA,
    sa.Column("file", sa.Text, primary_key=True),
    sa.Column("format", sa.Text, nullable=False),
    sa.Column("document", sa.Text, nullable=False),
)
_FILTERS = ("id", "source", "user_id", "policy_version", "task_id", "end")


@dataclass(slots=True, kw_only=True, frozen=True)
class PutCounts:
    """What became of the trajectories that were put in."""

    added: int = 0
    updated: int = 0
    unchanged: int = 0


class Store(Closing):
    """Trajectories and loss reports in a folder. A context manager.

    Args:
        path: the folder; made if it is not there and `create` is True.
        create: False refuses a folder that holds no store.
        redact: False stores texts as they are.

    Raises:
        StoreError: there is no store and `create` is False; the folder cannot be used; the database
            is damaged, or was written by a newer version.
    """

    def __init__(self, path: Path | str, *, create: bool = True, redact: bool = True) -> None:
        self.path = Path(path)
        self.redactions: Counter[str] = Counter()
        self._redact = redact
        database = self.path / STORE_FILE
        if not create and not database.is_file():
            raise StoreError(
                f"there is no store at `{self.path}`: `{STORE_FILE}` was expected in it. "
                "Make one by ingesting logs, or give another folder."
            )
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"`{self.path}` cannot be used as a store: {error}") from error
        self._engine = sa.create_engine(
            sa.URL.create("sqlite", database=str(database)),
            poolclass=sa.NullPool,
            connect_args={"timeout": 30.0},
        )
        sa.event.listen(self._engine, "connect", _set_pragmas)
        try:
            self._open()
        except StoreError:
            self.close()
            raise

    def close(self) -> None:
        """Release the database."""
        self._engine.dispose()

    def add(self, trajectories: Iterable[Trajectory]) -> int:
        """Add the trajectories that are new or have grown; return how many ids were new.

        Raises:
            StoreError: the database cannot be written, or a trajectory not be expressed.
        """
        return self.put(trajectories).added

    def put(self, trajectories: Iterable[Trajectory]) -> PutCounts:
        """Do what `add` does, in one transaction, and tell what became of each."""
        counts: Counter[str] = Counter()
        with self._transaction() as connection:
            for trajectory in trajectories:
                counts[self._put(connection, trajectory)] += 1
        return PutCounts(**counts)

    def get(self, trajectory_id: str) -> Trajectory:
        """Return one trajectory.

        Raises:
            StoreError: there is none of this id.
        """
        found = list(self.iter(id=trajectory_id))
        if not found:
            raise StoreError(f"the store at `{self.path}` holds no trajectory `{trajectory_id}`")
        return found[0]

    def iter(
        self, *, since_s: float | None = None, until_s: float | None = None, **filters: Any
    ) -> Iterator[Trajectory]:
        """Yield trajectories in order of time, then id.

        Args:
            since_s: only those that begin at this time or later (seconds since the epoch).
            until_s: only those that begin before this time.
            **filters: exact values of `id`, `source`, `user_id`, `policy_version`, `task_id` or
                `end` (None: only those without).

        Raises:
            ConfigError: a filter has an unknown name.
            StoreError: the database cannot be read.
        """
        query = self._where(sa.select(_TRAJECTORIES.c.document), filters, since_s, until_s)
        query = query.order_by(_TRAJECTORIES.c.time_s, _TRAJECTORIES.c.id)
        with self._transaction() as connection:
            rows = connection.execution_options(yield_per=_PAGE).execute(query)
            for (document,) in rows:
                yield from_atif(json.loads(document))

    def count(self, **filters: Any) -> int:
        """Return how many trajectories there are; filters as in `iter`."""
        query = self._where(sa.select(sa.func.count()).select_from(_TRAJECTORIES), filters)
        with self._transaction() as connection:
            return int(connection.execute(query).scalar_one())

    def add_report(self, report: LossReport) -> None:
        """Keep the account of a file; a later one of the same file replaces it."""
        document = map_strings(report.to_json(), replace_surrogates)
        if self._redact:
            document = map_strings(document, Redactor())
        row = {
            "file": document["file"],
            "format": report.format,
            "document": json.dumps(document, ensure_ascii=False),
        }
        with self._transaction() as connection:
            connection.execute(sa.delete(_REPORTS).where(_REPORTS.c.file == row["file"]))
            connection.execute(sa.insert(_REPORTS).values(row))

    def reports(self) -> list[Json]:
        """Return the account of each file that was read, as plain JSON."""
        with self._transaction() as connection:
            rows = connection.execute(sa.select(_REPORTS.c.document).order_by(_REPORTS.c.file))
            return [json.loads(document) for (document,) in rows]

    def pseudonym(self, name: str) -> str:
        """Return the pseudonym of a person's name under this store's own key.

        The key is made on first use and lies in a file of its own beside the database: without it
        nobody can tell whose pseudonym one is, and the same person keeps theirs.
        """
        path = self.path / _KEY_FILE
        if not path.is_file():
            path.touch(mode=0o600)
            path.write_text(secrets.token_hex(32), encoding="ascii")
        key = path.read_text(encoding="ascii").encode()
        digest = hmac.new(key, name.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()
        return f"user-{digest[:16]}"

    # --- inside ------------------------------------------------------------------------------

    def _open(self) -> None:
        with self._transaction() as connection:
            names = set(sa.inspect(connection).get_table_names())
            if names and "meta" not in names:
                raise StoreError(
                    f"`{self.path / STORE_FILE}` is a database, but not a store of trajectories"
                )
            _METADATA.create_all(connection)
            query = sa.select(_META.c.value).where(_META.c.name == "store_version")
            version = connection.execute(query).scalar_one_or_none()
            if version is None:
                row = {"name": "store_version", "value": str(STORE_VERSION)}
                connection.execute(sa.insert(_META).values(row))
            elif not version.isdigit() or int(version) > STORE_VERSION:
                raise StoreError(
                    f"the store at `{self.path}` has version {version}, this sim2live reads up to "
                    f"{STORE_VERSION}: use a newer sim2live"
                )

    @contextmanager
    def _transaction(self) -> Iterator[sa.Connection]:
        try:
            with self._engine.begin() as connection:
                yield connection
        except sa.exc.SQLAlchemyError as error:
            cause = getattr(error, "orig", None) or error
            raise StoreError(
                f"the store at `{self.path}` cannot be read or written: {cause}. If the file is "
                "damaged, move it away and ingest the logs again."
            ) from error

    def _where(
        self,
        query: sa.Select[Any],
        filters: dict[str, Any],
        since_s: float | None = None,
        until_s: float | None = None,
    ) -> sa.Select[Any]:
        for name, value in filters.items():
            if name not in _FILTERS:
                raise unknown_name("filter", name, [*_FILTERS, "since_s", "until_s"])
            column = _TRAJECTORIES.c[name]
            plain = value.value if isinstance(value, Source | EndReason) else value
            query = query.where(column.is_(None) if plain is None else column == plain)
        if since_s is not None:
            query = query.where(_TRAJECTORIES.c.time_s >= since_s)
        if until_s is not None:
            query = query.where(_TRAJECTORIES.c.time_s < until_s)
        return query

    def _put(self, connection: sa.Connection, trajectory: Trajectory) -> str:
        row = self._row(trajectory)
        table = _TRAJECTORIES
        query = sa.select(table.c.digest, table.c.num_turns).where(table.c.id == row["id"])
        known = connection.execute(query).one_or_none()
        if known is None:
            connection.execute(sa.insert(table).values(row))
            return "added"
        if known.digest == row["digest"] or known.num_turns > row["num_turns"]:
            return "unchanged"
        connection.execute(sa.update(table).where(table.c.id == row["id"]).values(row))
        return "updated"

    def _clean_path(self, trajectory: Trajectory) -> str:
        """Return the path that the trajectory was read from, as it stands in the document."""
        path = replace_surrogates(trajectory.origin.file) if trajectory.origin else ""
        return Redactor()(path) if self._redact else path

    def _document(self, trajectory: Trajectory) -> str:
        document = to_atif(trajectory)
        clean = map_strings(document, replace_surrogates)
        if clean != document:
            tags = (*trajectory.tags, "surrogate_replaced")
            marked = to_atif(dataclasses.replace(trajectory, tags=tags))
            clean = map_strings(marked, replace_surrogates)
        if self._redact:
            redactor = Redactor()
            clean = map_strings(clean, redactor)
            self.redactions += redactor.counts
        return json.dumps(clean, ensure_ascii=False, allow_nan=False)

    def _row(self, trajectory: Trajectory) -> Json:
        try:
            text = self._document(trajectory)
        except (FormatError, TypeError, ValueError) as error:
            raise StoreError(f"trajectory `{trajectory.id}` cannot be written: {error}") from error
        return {
            "id": replace_surrogates(trajectory.id),
            "digest": _digest(text, self._clean_path(trajectory)),
            "num_turns": len(trajectory.turns),
            "source": trajectory.source.value,
            "user_id": trajectory.user_id,
            "policy_version": _plain(trajectory.policy_version),
            "task_id": replace_surrogates(trajectory.task_id),
            "time_s": _begin(trajectory),
            "end": trajectory.end.value,
            "document": text,
        }


def _digest(document: str, path: str) -> str:
    """Hash a document apart from the path it was read from: a copied log is the same log."""
    escaped = json.dumps(path, ensure_ascii=False)
    return hashlib.sha256(document.replace(escaped, '""').encode()).hexdigest()


def _plain(text: str | None) -> str | None:
    return None if text is None else replace_surrogates(text)


def _begin(trajectory: Trajectory) -> float | None:
    """Return the first time stamp of a trajectory."""
    stamps = [
        stamp
        for turn in trajectory.turns[:1]
        for stamp in (*(message.time_s for message in turn.observation), turn.start_s)
    ]
    stamps += [message.time_s for message in trajectory.closing[:1]]
    return next((stamp for stamp in stamps if stamp is not None), None)


def _set_pragmas(connection: Any, _record: Any) -> None:
    cursor = connection.cursor()
    try:
        cursor.execute("PRAGMA journal_mode=WAL")
        cursor.execute("PRAGMA synchronous=FULL")
    finally:
        cursor.close()

"""The live bridge: production logs in, reactions and trajectories out.

    formats/       one reader a log format; each accounts for every record of a file
    reactions.py   the named rules that turn traces in a log into reactions of the person
    redact.py      takes personal details and keys out before anything is stored
    store.py       the store of trajectories (a folder with one SQLite database)
    ingest.py      files and folders of logs into a store, with the account of what was lost
    cycle.py       the real-time cycle: serve, distil, train, gate, promote

What was read is replayed by `sim2live.envs.replay.ReplayEnv`. The names below are loaded when they
are first used, so that importing the package stays light.

Example:
    >>> from sim2live.live_bridge import Store, ingest_paths
    >>> with Store("runs/store") as store:  # doctest: +SKIP
    ...     report = ingest_paths(["logs"], store)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .formats import READERS, LossReport, detect_format, read_file
    from .ingest import FileReport, IngestReport, ingest_paths
    from .reactions import RULES
    from .store import Store

_WHERE = {
    "READERS": "formats",
    "LossReport": "formats",
    "detect_format": "formats",
    "read_file": "formats",
    "FileReport": "ingest",
    "IngestReport": "ingest",
    "ingest_paths": "ingest",
    "RULES": "reactions",
    "Store": "store",
}

__all__ = [
    "READERS",
    "RULES",
    "FileReport",
    "IngestReport",
    "LossReport",
    "Store",
    "detect_format",
    "ingest_paths",
    "read_file",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    return getattr(import_module(f".{_WHERE[name]}", __name__), name)

"""Runs the per-trajectory detectors over recorded sessions of any kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ..errors import ConfigError, DetectorError
from ..hack_detectors import load_detectors
from ..hack_detectors.base import Finding, Verdict
from ..live_bridge.formats import UNKNOWN, read_file
from ..live_bridge.store import STORE_FILE, Store
from ..trajectory import Trajectory
from .tables import finding_rows


def detect_paths(paths: Sequence[Path]) -> dict[str, Any]:
    """Inspect every session under the paths.

    Args:
        paths: stores, run folders, or log files of any known format.

    Returns:
        Findings as rows, counts by detector and verdict, and what could not be read or judged.

    Raises:
        ConfigError: a path is not there, or nothing under the paths is a session.
    """
    findings: list[tuple[Trajectory, Finding]] = []
    unread: list[str] = []
    unjudged: list[str] = []
    num_sessions = 0
    detectors = load_detectors()
    for trajectory in _sessions(paths, unread):
        num_sessions += 1
        for detector in detectors:
            try:
                findings += [(trajectory, finding) for finding in detector.inspect(trajectory)]
            except DetectorError as error:
                unjudged.append(f"{trajectory.id}, {detector.name}: {error}")
    if not num_sessions:
        raise ConfigError(
            f"found no session under {', '.join(map(str, paths))}"
            + (f"; not read: {'; '.join(unread[:3])}" if unread else "")
        )
    rows = finding_rows(findings)["rows"]
    counts = Counter(f"{row['detector']}: {row['verdict']}" for row in rows)
    num_hacks = sum(finding.verdict is Verdict.HACK for _, finding in findings)
    return {
        "num_sessions": num_sessions,
        "num_hacks": num_hacks,
        "counts": dict(counts),
        "findings": rows,
        "unread": unread,
        "unjudged": unjudged,
        "summary": (
            f"{num_sessions} sessions, {len(findings)} findings, {num_hacks} of them hacks"
            + (f"; {len(unread)} files not read" if unread else "")
            + (f"; {len(unjudged)} sessions not judged" if unjudged else "")
        ),
    }


def _sessions(paths: Sequence[Path], unread: list[str]) -> Iterator[Trajectory]:
    for path in paths:
        if not path.exists():
            raise ConfigError(f"there is no `{path}`")
        if (path / STORE_FILE).exists():
            with Store(path, create=False) as store:
                yield from store.iter()
            continue
        files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
        for file in files:
            result = read_file(file)
            if result.report.format == UNKNOWN:
                unread.append(f"{file}: unknown format")
            yield from result.trajectories

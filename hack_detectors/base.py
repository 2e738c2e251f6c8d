"""What detectors and monitors are: findings about one trajectory, alarms about a population."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, runtime_checkable

from ..trajectory import Trajectory


class Severity(StrEnum):
    """How sure and how bad, weakest first."""

    INFO = "info"
    WARN = "warn"
    HIGH = "high"
    CRITICAL = "critical"


class Verdict(StrEnum):
    """What a detector makes of one trajectory. `stop` is an honest refusal, not a hack."""

    HACK = "hack"
    SUSPICIOUS = "suspicious"
    STOP = "stop"
    BENIGN = "benign"
    NOT_APPLICABLE = "not_applicable"


@dataclass(slots=True, kw_only=True, frozen=True)
class Finding:
    """One thing a detector saw in one trajectory, quoted so that a person can verify it."""

    detector: str
    detector_version: str
    kind: str
    """Class of hack, for example `test_tamper`."""
    verdict: Verdict
    severity: Severity
    score: float
    """In [0, 1], for ranking; not a probability unless the detector says it is calibrated."""
    turn: int | None
    """Index of the turn that shows it; None if only the whole episode does."""
    call_id: str | None = None
    evidence: tuple[str, ...] = ()
    """Verbatim quotations or diff hunks."""
    counter_evidence: tuple[str, ...] = ()
    """What speaks against it."""


@dataclass(slots=True, kw_only=True, frozen=True)
class Alarm:
    """One thing a monitor noticed about a population of trajectories."""

    monitor: str
    kind: str
    severity: Severity
    update: int
    """Index of the batch at which it fired (0-based)."""
    statistic: float
    threshold: float
    message: str
    """One sentence with the numbers that matter."""
    evidence: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    """Ids of trajectories that show it."""


@runtime_checkable
class Detector(Protocol):
    """Looks at one trajectory. Reads what happened, never the oracle's true reward."""

    name: str
    version: str

    def inspect(self, trajectory: Trajectory) -> list[Finding]:
        """Return what was found; an empty list says nothing was (or it does not apply).

        Raises:
            DetectorError: the trajectory cannot be judged; the sample is then unjudged, not clean.
        """
        ...


@runtime_checkable
class Monitor(Protocol):
    """Looks at batches of scored trajectories, one batch per policy update, in order."""

    name: str

    def observe(self, batch: Sequence[Trajectory]) -> list[Alarm]:
        """Take in one update's batch (each with its `reward` set) and return new alarms."""
        ...

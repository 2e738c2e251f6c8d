"""Readers of foreign log formats, one module each, and the choice between them.

A reader tells a file of its format by content, reads it into trajectories, and gives an account of
every record (`LossReport`). To add a format: write a class with `name`, `sniff` and `read` (see
`base.Reader`) and add it to `READERS`.

    claude_code      Claude Code session logs
    atif             ATIF, one JSON document or a document a line
    mini_swe_agent   mini-swe-agent trajectories
"""

from __future__ import annotations

from pathlib import Path

from .atif import AtifReader
from .base import Diagnostic, LossReport, Reader, ReadResult, Sample, take_sample
from .claude_code import ClaudeCodeReader
from .lines import DEFAULT_MAX_RECORD_BYTES
from .mini_swe_agent import MiniSweAgentReader

__all__ = [
    "READERS",
    "UNKNOWN",
    "AtifReader",
    "ClaudeCodeReader",
    "Diagnostic",
    "LossReport",
    "MiniSweAgentReader",
    "ReadResult",
    "Reader",
    "Sample",
    "detect_format",
    "read_file",
]

READERS: dict[str, Reader] = {
    reader.name: reader for reader in (ClaudeCodeReader(), AtifReader(), MiniSweAgentReader())
}
"""The readers by name, in the order in which they are asked about a file."""

UNKNOWN = "unknown_format"


def detect_format(path: Path) -> str | None:
    """Return the name of the format a file is in, None if nobody knows it.

    Raises:
        OSError: the file cannot be opened.
    """
    sample = take_sample(path)
    return next((name for name, reader in READERS.items() if reader.sniff(sample)), None)


def read_file(path: Path, *, max_record_bytes: int = DEFAULT_MAX_RECORD_BYTES) -> ReadResult:
    """Read a log of whatever format it is in.

    A file in no known format gives no trajectories and a report whose format is `unknown_format`.

    Raises:
        OSError: the file cannot be opened.
    """
    name = detect_format(path)
    if name is None:
        return ReadResult(trajectories=[], report=LossReport(file=str(path), format=UNKNOWN))
    return READERS[name].read(path, max_record_bytes=max_record_bytes)

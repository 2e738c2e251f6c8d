"""A file cut into pieces that are read as one: functions, methods, and what stands between them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from .outline import outline

_WINDOW = 40
"""Most lines of a piece that is no function."""


@dataclass(slots=True, frozen=True)
class Piece:
    """Some consecutive lines of a file."""

    path: str
    start: int
    """1-based number of the first line."""
    lines: tuple[str, ...]
    name: str = ""
    """The function or method that it is; "" for what stands between."""

    @property
    def text(self) -> str:
        """The lines as one text."""
        return "\n".join(self.lines)


@lru_cache(maxsize=1024)
def split(path: str, text: str) -> tuple[Piece, ...]:
    """Cut a file into pieces, in order; every line belongs to exactly one.

    Functions and methods are whole; the lines between them, and files without an outline, come in
    windows of at most 40 lines.
    """
    lines = text.removesuffix("\n").split("\n") if text else []
    pieces: list[Piece] = []
    done = 0  # lines that are part of a piece
    for symbol in outline(path, text):
        if symbol.signature.startswith("class ") or symbol.line <= done:
            continue
        start, end = symbol.line - 1, max(symbol.end_line, symbol.line)
        pieces += _windows(path, lines, done, start)
        pieces.append(Piece(path, symbol.line, tuple(lines[start:end]), symbol.name))
        done = end
    pieces += _windows(path, lines, done, len(lines))
    # Python counts lines at more characters than "\n"; numbers beyond the end name nothing.
    return tuple(piece for piece in pieces if piece.lines)


def _windows(path: str, lines: list[str], start: int, end: int) -> list[Piece]:
    return [
        Piece(path, first + 1, tuple(lines[first : min(first + _WINDOW, end)]))
        for first in range(start, end, _WINDOW)
    ]

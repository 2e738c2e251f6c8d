"""Read the bytes of a log line by line, whatever is in them.

Lines end at the byte 0x0A and nowhere else (U+2028, NEL and a lone CR are content). A UTF-8 BOM,
CRLF and the NUL blocks that a crash leaves behind are taken off. A line above the size cap is not
kept in memory, and the next line is still read. Nothing in here raises on what a file contains.
"""

from __future__ import annotations

import gzip
import json
import math
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

DEFAULT_MAX_RECORD_BYTES = 32 * 1024 * 1024
"""Longest record that is read; a longer one is counted as `oversize` and passed over."""
MAX_DEPTH = 100
"""Deepest nesting of a record that is read: what comes after may walk it recursively."""

_BOM = b"\xef\xbb\xbf"
_GZIP_MAGIC = b"\x1f\x8b"
_DRAIN_BYTES = 1 << 20
_SALVAGE_BYTES = 1 << 20
_SALVAGE_TRIES = 64


@dataclass(slots=True, kw_only=True, frozen=True)
class RawLine:
    """One line that is not blank, or the reason why it could not be had."""

    number: int
    offset: int
    """Offset of the first byte of `data` in the (uncompressed) file."""
    data: bytes = b""
    problem: str | None = None
    """`oversize`, `nul_block` or `unreadable`; `data` is then empty."""
    notes: tuple[str, ...] = ()
    """What was taken off: `bom`, `nul_stripped`."""
    is_terminated: bool = True
    """False if the file ends without a newline after this line."""


@dataclass(slots=True, kw_only=True, frozen=True)
class Piece:
    """One JSON value on a line, or a stretch of bytes that is none."""

    value: Any = None
    offset: int = 0
    """Offset inside the line, in bytes."""
    problem: str | None = None
    detail: str = ""
    raw: bytes = b""


@contextmanager
def open_log(path: Path) -> Iterator[IO[bytes]]:
    """Open a log for reading bytes; gzip is recognised by its first two bytes."""
    with path.open("rb") as plain:
        is_gzip = plain.read(2) == _GZIP_MAGIC
        plain.seek(0)
        if is_gzip:
            with gzip.open(plain, "rb") as unpacked:
                yield unpacked  # type: ignore[misc]  # GzipFile reads bytes like any other
        else:
            yield plain


def iter_lines(
    stream: IO[bytes], *, max_record_bytes: int = DEFAULT_MAX_RECORD_BYTES
) -> Iterator[RawLine]:
    """Yield the lines of a stream that are not blank, with at most one cap in memory."""
    number, offset = 0, 0
    while True:
        try:
            chunk = stream.readline(max_record_bytes + 1)
            size = len(chunk)
            is_over = size > max_record_bytes and not chunk.endswith(b"\n")
            while is_over and chunk and not chunk.endswith(b"\n"):
                chunk = stream.readline(_DRAIN_BYTES)
                size += len(chunk)
        except (OSError, EOFError, zlib.error) as error:  # a damaged gzip stream, a bad disk
            yield RawLine(
                number=number + 1, offset=offset, problem="unreadable", notes=(str(error),)
            )
            return
        if not size:
            return
        number += 1
        if is_over:
            yield RawLine(number=number, offset=offset, problem="oversize", notes=(f"{size} B",))
        else:
            line = _clean(chunk, number, offset)
            if line is not None:
                yield line
        offset += size


def _clean(chunk: bytes, number: int, offset: int) -> RawLine | None:
    notes: list[str] = []
    is_terminated = chunk.endswith(b"\n")
    data = chunk
    if number == 1 and data.startswith(_BOM):
        data = data[len(_BOM) :]
        notes.append("bom")
    body = data.rstrip(b"\r\n\0 \t")
    stripped = body.lstrip(b"\0 \t")
    start = offset + len(chunk) - len(data) + len(body) - len(stripped)
    has_nul = b"\0" in data[: len(body) - len(stripped)] or b"\0" in data[len(body) :]
    if not stripped:
        problem = "nul_block" if has_nul else None
        if problem is None:
            return None
        return RawLine(number=number, offset=offset, problem=problem, is_terminated=is_terminated)
    if has_nul:
        notes.append("nul_stripped")
    return RawLine(
        number=number,
        offset=start,
        data=stripped,
        notes=tuple(notes),
        is_terminated=is_terminated,
    )


def _finite(text: str) -> float | str:
    value = float(text)
    return value if math.isfinite(value) else text


_DECODER = json.JSONDecoder(parse_constant=str, parse_float=_finite)
# NaN, Infinity and numbers beyond a double stay what they were spelt as: no JSON writer takes them.


def parse_json(data: bytes | str) -> Any:
    """Parse one JSON value; lone surrogate escapes are kept, NaN and Infinity become strings.

    Raises:
        ValueError: it is not one JSON value, or is nested beyond what can be parsed.
    """
    text = data.decode("utf-8", errors="replace") if isinstance(data, bytes) else data
    try:
        value = _DECODER.decode(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if text.count("[") + text.count("{") > MAX_DEPTH and _depth(value) > MAX_DEPTH:
        raise ValueError(f"nested deeper than {MAX_DEPTH}")
    return value


def _depth(value: Any) -> int:
    """Measure nesting without recursion."""
    depth, level = 0, [value]
    while level:
        depth += 1
        inner: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                inner += item.values()
            elif isinstance(item, list):
                inner += item
        level = inner
    return depth


def parse_line(data: bytes, is_record: Callable[[Any], bool] | None = None) -> list[Piece]:
    """Parse a line into one value, or into what can be saved of it.

    A writer that died in the middle of a line leaves a fragment, and its successor appends to the
    same line. What follows the fragment is saved if it is a complete record (`is_record`) that
    reaches to the end of the line or to the next record.

    Returns:
        Pieces in order; those with a `problem` (`torn_fragment`, `malformed_json`) hold no value.
    """
    try:
        return [Piece(value=parse_json(data), raw=data)]
    except ValueError as error:
        whole = Piece(problem="malformed_json", detail=str(error)[:120], raw=data)
    if is_record is None or len(data) > _SALVAGE_BYTES:
        return [whole]
    saved = _salvage(data.decode("utf-8", errors="replace"), is_record)
    return saved or [whole]


def _salvage(text: str, is_record: Callable[[Any], bool]) -> list[Piece]:
    pieces: list[Piece] = []
    position, start, tries = 0, 0, 0
    while (start := text.find('{"', start)) >= 0 and tries < _SALVAGE_TRIES:
        tries += 1
        try:
            value, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            start += 2
            continue
        rest = text[end:].lstrip(" \t\r\0")
        if (
            _depth(value) > MAX_DEPTH
            or not is_record(value)
            or (rest and not rest.startswith('{"'))
        ):
            start += 2
            continue
        if text[position:start].strip(" \t\r\0"):
            pieces.append(_fragment(text, position, start))
        pieces.append(_piece(text, start, end, value))
        position = start = end
    if not any(piece.problem is None for piece in pieces):
        return []
    if text[position:].strip(" \t\r\0"):
        pieces.append(_fragment(text, position, len(text)))
    return pieces


def _piece(text: str, start: int, end: int, value: Any) -> Piece:
    raw = text[start:end].encode("utf-8", errors="surrogatepass")
    return Piece(value=value, offset=len(text[:start].encode()), raw=raw)


def _fragment(text: str, start: int, end: int) -> Piece:
    raw = text[start:end].encode("utf-8", errors="surrogatepass")
    return Piece(offset=len(text[:start].encode()), problem="torn_fragment", raw=raw)

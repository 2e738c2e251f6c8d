"""Small readers shared by the formats: times, texts with images in them, terminal output."""

from __future__ import annotations

import base64
import binascii
import hashlib
import math
import re
from datetime import UTC, datetime
from typing import Any

from ...trajectory import Json, TextState

_ESCAPES = re.compile(
    "\x1b\\][^\x07\x1b]*(?:\x07|\x1b\\\\|$)"  # OSC: a title or a link target, to its terminator
    "|\x1b\\[[0-?]*[ -/]*(?:[@-~]|$)"  # CSI: colours and cursor movements, also cut off at the end
    "|\x1b[@-Z\\\\-_]?"  # two-character escapes, and an escape that is cut off
)
_EPOCH_YEAR_MAX_S = 253_402_300_800.0  # the year 10000


def parse_time(value: Any) -> float | None:
    """Return seconds since the epoch of an ISO 8601 text or a number of seconds.

    A stamp without zone is taken as UTC. What is no time (or is beyond the year 9999) gives None.
    """
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        seconds = float(value) if abs(value) < _EPOCH_YEAR_MAX_S else math.inf
        return seconds if math.isfinite(seconds) else None
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def delay(start_s: float | None, end_s: float | None) -> float | None:
    """Return the seconds between two stamps, None unless both are there and in order."""
    if start_s is None or end_s is None or end_s < start_s:
        return None
    return round(end_s - start_s, 6)


def clean_terminal(text: str) -> str:
    """Return what a terminal would show of `text`.

    Escape sequences go, also one that is cut off at the end; the text of a link stays. After a
    carriage return the new text replaces what stood on the line if it covers it; a shorter one
    would leave the longer one's tail on the screen, so both are kept, on lines of their own.
    """
    plain = _ESCAPES.sub("", text).replace("\r\n", "\n")
    return "\n".join(_overwrite(line) for line in plain.split("\n"))


def _overwrite(line: str) -> str:
    kept: list[str] = []
    for part in line.split("\r"):
        if not part:
            continue
        if kept and len(part) >= len(kept[-1]):
            kept[-1] = part
        else:
            kept.append(part)
    return "\n".join(kept)


def content_text(content: Any) -> tuple[str | None, TextState, list[Json]]:
    """Return the text of a `content` field that may be a string or a list of blocks.

    Images become a placeholder in the text and an entry in the list (media type, SHA-256, size),
    never inline data. Blocks of other kinds become a placeholder that names their type.

    Returns:
        Text, its state, and the images.
    """
    if content is None:
        return None, TextState.NULL, []
    if isinstance(content, str):
        return content, TextState.of(content), []
    if not isinstance(content, list):
        return str(content), TextState.PRESENT, []
    images: list[Json] = []
    texts = [_block_text(block, images) for block in content]
    text = "\n".join(texts)
    return text, TextState.of(text), images


def _block_text(block: Any, images: list[Json]) -> str:
    if isinstance(block, str):
        return block
    if not isinstance(block, dict):
        return str(block)
    if isinstance(block.get("text"), str):
        return str(block["text"])
    if block.get("type") in ("image", "image_url", "input_image"):
        image = describe_image(block)
        images.append(image)
        return image_placeholder(image)
    return f"[{str(block.get('type'))[:40]}]"


def describe_image(block: Json) -> Json:
    """Return media type, SHA-256 and size of an image block; its data are not kept."""
    source = block.get("source")
    source = source if isinstance(source, dict) else {}
    media = str(source.get("media_type", "unknown"))[:60]
    data = source.get("data")
    if not isinstance(data, str):
        where = source.get("path") or source.get("url")
        return {"media_type": media, "state": "external", "ref": str(where)[:500]}
    try:
        raw = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return {"media_type": media, "state": "undecodable", "num_chars": len(data)}
    digest = hashlib.sha256(raw).hexdigest()
    return {"media_type": media, "state": "present", "sha256": digest, "num_bytes": len(raw)}


def image_placeholder(image: Json) -> str:
    """Return the text that stands where an image stood."""
    if image["state"] == "present":
        return f"[image {image['media_type']} sha256:{image['sha256'][:16]}]"
    return f"[image {image['media_type']} {image['state']}]"


def strings(value: Any) -> str | None:
    """Return `value` if it is a text that is not empty, else None."""
    return value if isinstance(value, str) and value else None

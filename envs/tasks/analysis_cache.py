"""Analyses on disk, for functions that take long to analyse.

The folder is `$SIM2LIVE_CACHE`, else `sim2live` in the user's cache folder. A file that cannot be
read, or that says something else than expected, counts as absent; one that cannot be written is
not written. Deleting the folder is always safe.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .budget import pack
from .subject import Pool, Raised

Masks = list[npt.NDArray[np.bool_] | None]


def cache_folder() -> Path:
    """Return where analyses are kept."""
    chosen = os.environ.get("SIM2LIVE_CACHE")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "sim2live"


def load(key: str, num_edits: int) -> tuple[Pool, Masks] | None:
    """Return the pool and one mask for each edit, or None if they are not there.

    Args:
        key: names everything that the analysis depends on; "" is never there.
        num_edits: masks to expect.
    """
    if not key:
        return None
    with contextlib.suppress(OSError, ValueError, SyntaxError, KeyError, TypeError, RuntimeError):
        record = json.loads(_path(key).read_text(encoding="utf-8"))
        masks: Masks = [_mask_of(bits) for bits in record["masks"]]
        arguments = tuple(ast.literal_eval(text) for text in record["arguments"])
        expected = tuple(_value_of(item) for item in record["expected"])
        sizes = {len(mask) for mask in masks if mask is not None} | {len(expected), len(arguments)}
        if record["key"] == key and len(masks) == num_edits and len(sizes) == 1:
            pool = Pool(
                inputs=tuple(pack(each) for each in arguments),
                arguments=arguments,
                expected=expected,
            )
            return pool, masks
    return None


def store(key: str, pool: Pool, masks: Sequence[npt.NDArray[np.bool_] | None]) -> None:
    """Keep an analysis; does nothing for the key ""."""
    if not key:
        return
    record = {
        "key": key,
        "arguments": [repr(each) for each in pool.arguments],
        "expected": [
            [value.name] if isinstance(value, Raised) else repr(value) for value in pool.expected
        ],
        "masks": [
            None if mask is None else "".join("01"[int(bit)] for bit in mask) for mask in masks
        ],
    }
    _write(_path(key), record)


def kept_text(key: str, make: Callable[[], str]) -> str:
    """Return the text kept under a key; if there is none, make it and keep it."""
    path = _path(key, "text")
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, RuntimeError):
        record = json.loads(path.read_text(encoding="utf-8"))
        if record["key"] == key and isinstance(record["text"], str):
            return str(record["text"])
    text = make()
    _write(path, {"key": key, "text": text})
    return text


def _write(path: Path, record: Mapping[str, Any]) -> None:
    with contextlib.suppress(OSError, RuntimeError):
        path.parent.mkdir(parents=True, exist_ok=True)
        # Written beside and renamed, so that a reader never sees half a file.
        handle, name = tempfile.mkstemp(dir=path.parent, suffix=".part")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(record, file)
        Path(name).replace(path)


def _path(key: str, kind: str = "analysis") -> Path:
    return cache_folder() / f"{kind}-{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"


def _mask_of(bits: str | None) -> npt.NDArray[np.bool_] | None:
    return None if bits is None else np.array([bit == "1" for bit in bits], dtype=bool)


def _value_of(item: Any) -> Any:
    return Raised(item[0]) if isinstance(item, list) else ast.literal_eval(item)

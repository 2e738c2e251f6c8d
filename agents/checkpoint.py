"""Checkpoints that survive a kill: written beside the old one, then swapped in at once.

A reader finds the old checkpoint or the new one, never a part of one. Files hold tensors and plain
values only and are read without running code from them. One process writes a given path at a time.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .. import __version__
from ..errors import ConfigError, FormatError

FORMAT = "sim2live.checkpoint"
SCHEMA_VERSION = 1
"""Version of the file's layout; `load` refuses newer ones."""


def save(path: str | os.PathLike[str], **parts: Any) -> Path:
    """Write a checkpoint and swap it in.

    Args:
        path: the file; its folder is made if it is missing.
        **parts: what to keep, for example `policy=policy.state_dict()`: tensors, numbers, texts,
            and lists, tuples and dictionaries of these.

    Returns:
        The path.

    Raises:
        ConfigError: a part holds something that could not be read back.
    """
    import torch

    target = Path(path)
    for name, part in parts.items():
        _check_plain(part, name)
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name}.partial")
    document = {
        "format": FORMAT,
        "schema_version": SCHEMA_VERSION,
        "package_version": __version__,
        "parts": parts,
    }
    try:
        with partial.open("wb") as file:
            torch.save(document, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, target)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)
    return target


def load(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the parts of a checkpoint, tensors on the CPU.

    Raises:
        ConfigError: there is no such file.
        FormatError: the file is not a checkpoint, is damaged, or has a newer schema.
    """
    import torch

    target = Path(path)
    if not target.is_file():
        raise ConfigError(
            f"no checkpoint at `{target}`; give the path of a file that `save` wrote."
        )
    try:
        document = torch.load(target, map_location="cpu", weights_only=True)
    except (RuntimeError, pickle.UnpicklingError, EOFError, ValueError, KeyError) as cause:
        raise FormatError(
            f"`{target}` cannot be read as a checkpoint ({type(cause).__name__}: it is damaged, or "
            "something else). Use the checkpoint before it."
        ) from cause
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise FormatError(f"`{target}` is not a {FORMAT} file; it was written by something else.")
    version = document.get("schema_version")
    if not isinstance(version, int) or version > SCHEMA_VERSION:
        raise FormatError(
            f"`{target}` has schema version {version}, written by sim2live "
            f"{document.get('package_version')}; sim2live {__version__} reads up to version "
            f"{SCHEMA_VERSION}. Upgrade sim2live to read it."
        )
    parts: dict[str, Any] = document["parts"]
    return parts


def _check_plain(value: Any, where: str) -> None:
    """Refuse, with its place, a value that the safe loader would not read back."""
    from torch import Tensor

    if value is None or isinstance(value, Tensor) or type(value) in (bool, int, float, str, bytes):
        return
    if isinstance(value, Mapping):
        for key, item in value.items():
            _check_plain(key, f"{where} (key)")
            _check_plain(item, f"{where}.{key}")
    elif type(value) in (list, tuple):
        for i, item in enumerate(value):
            _check_plain(item, f"{where}[{i}]")
    else:
        raise ConfigError(
            f"checkpoint part `{where}` is a {type(value).__name__}; a checkpoint keeps tensors, "
            "numbers, texts and lists or dictionaries of them. Convert it first (for an array: "
            "`torch.from_numpy`)."
        )


def _sync_folder(folder: Path) -> None:
    """Make the rename itself durable, where the system can sync a folder."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

"""Importing from the work area by source alone.

A file of compiled code that lies there may have been planted, with the date and size of a source
file that it does not come from. Runs in the sandbox: standard library only.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import machinery
from types import CodeType
from typing import Any


class _SourceLoader(machinery.SourceFileLoader):
    """Compiles, and neither reads nor writes compiled code."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        code: CodeType = self.source_to_code(self.get_data(path), path)
        return code


def believe_no_bytecode(folder: str) -> None:
    """Import modules of `folder` and below from their sources only, in this process."""
    hook: Callable[[str], Any] = machinery.FileFinder.path_hook(
        (machinery.ExtensionFileLoader, machinery.EXTENSION_SUFFIXES),
        (_SourceLoader, machinery.SOURCE_SUFFIXES),
    )
    below = folder.rstrip("/") + "/"

    def source_hook(path: str) -> Any:
        if path != folder and not path.startswith(below):
            raise ImportError(f"{path} is not in the work area")
        return hook(path)

    sys.path_hooks.insert(0, source_hook)
    for path in [path for path in sys.path_importer_cache if path == folder or below in path]:
        del sys.path_importer_cache[path]

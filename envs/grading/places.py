"""Absolute paths of task formats, mapped to the work area of a sandbox.

The root folder of a sandbox is private and read-only, so nothing can be made at `/tests`, `/logs`
or `/app`. The rule: in the command, the reward paths and the text files of a `ScriptExam`

- `/app`, `/workspace` and `/testbed` mean the work area,
- `/tests` and `/solution` mean `tests` and `solution` in it,
- `/logs` means a folder in it whose name is drawn for each run,

wherever such a path begins in the text (after a blank, quote, `=`, `:` or bracket) and ends or goes
on with `/`. A path that is put together at run time is not found and fails as a missing file.
"""

from __future__ import annotations

import re

_ROOTS = ("app", "workspace", "testbed")
_FOLDERS = ("tests", "solution")
_PATH = re.compile(
    r"(?<![\w./~}\-])/(app|workspace|testbed|tests|solution|logs)(?=/|[\s\"'`;:,)|&<>\]}]|$)"
)


class Places:
    """Where the absolute paths lie in one run.

    Args:
        root: absolute path of the work area, as programs in it see it; "." gives relative paths.
        logs: name of the folder that `/logs` stands for.
    """

    def __init__(self, root: str, logs: str) -> None:
        self._root, self.logs = root.rstrip("/") or "/", logs

    def map_text(self, text: str) -> str:
        """Replace every such path in a text."""
        return _PATH.sub(self._replace, text)

    def map_data(self, data: bytes) -> bytes:
        """Do the same in a file's content, if it is text."""
        try:
            return self.map_text(data.decode("utf-8")).encode()
        except UnicodeDecodeError:
            return data

    def in_area(self, path: str) -> str:
        """Return a path relative to the work area."""
        name, _, rest = path.removeprefix("/").partition("/")
        if not path.startswith("/"):
            return path
        if name in _ROOTS:
            return rest
        return f"{self.logs}/{rest}" if name == "logs" else f"{name}/{rest}"

    def _replace(self, match: re.Match[str]) -> str:
        name = match[1]
        if name in _ROOTS:
            return self._root
        return f"{self._root}/{self.logs if name == 'logs' else name}"


def uses_places(text: str) -> bool:
    """Say whether a text names one of the absolute paths."""
    return _PATH.search(text) is not None

"""A work area that remembers what is in it, so that looking again costs no system call.

Between two executions only the caller changes the files, and after each the server says what is
there. In a process with many threads this matters: each system call hands over the interpreter.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from .area import Area, Settled, parent_folders, split_path

MAX_BYTES = 4 * 1024 * 1024
"""Contents larger than this together are not remembered."""


class MirroredArea(Area):
    """An `Area` that nobody else changes but executions, which are announced by `forget`.

    Args:
        fd: descriptor of the folder; the area owns it and `close` closes it.
        owner: user and group id that new files get; None leaves them with this process's.
    """

    def __init__(self, fd: int, owner: tuple[int, int] | None = None) -> None:
        super().__init__(fd, owner)
        self._files: dict[str, bytes] | None = None
        self._touched: set[str] = set()
        self._is_plain = False

    def forget(self) -> None:
        """Know nothing any more: something else may change the files from now on."""
        self._files = None

    def learn(self, files: Mapping[str, bytes], *, touched: Iterable[str], is_plain: bool) -> None:
        """Know what is there.

        Args:
            files: the content of all regular files by path.
            touched: those that may differ from a fresh file in more than their content.
            is_plain: as `Settled.is_plain`.
        """
        self._files = dict(files) if sum(map(len, files.values())) <= MAX_BYTES else None
        self._touched = set(touched)
        self._is_plain = is_plain

    def read(self, path: str) -> bytes:
        """Return a regular file's content."""
        if self._files is not None:
            known = self._files.get("/".join(split_path(path)))
            if known is not None:
                return known
        return super().read(path)

    def write(self, path: str, data: bytes) -> None:
        """Create or replace a regular file, making its folders."""
        known, self._files = self._files, None  # until it has gone well
        super().write(path, data)
        if known is not None and self._is_plain:  # else the file may have another name as well
            known["/".join(split_path(path))] = bytes(data)
            self._files = known

    def remove(self, path: str) -> None:
        """Delete a file (or a symbolic link itself)."""
        super().remove(path)
        if self._files is not None:
            key = "/".join(split_path(path))
            self._files.pop(key, None)
            self._touched.discard(key)
            folder = key.rpartition("/")[0]
            if folder and not any(name.startswith(f"{folder}/") for name in self._files):
                self._is_plain = False  # an empty folder is left

    def list_files(self) -> list[str]:
        """Return the relative POSIX paths of all regular files, sorted."""
        return super().list_files() if self._files is None else sorted(self._files)

    def snapshot(self) -> dict[str, bytes]:
        """Return every regular file's content by path."""
        if self._files is None:
            files = super().snapshot()
            self.learn(files, touched=files, is_plain=False)
            return files
        return {path: self._files[path] for path in sorted(self._files)}

    def restore(self, files: Mapping[str, bytes]) -> None:
        """Make the area hold exactly `files`; fresh ones, but for those that nobody touched."""
        wanted = {"/".join(split_path(path)): bytes(data) for path, data in files.items()}
        known = self._files if self._is_plain else None
        touched, self._files = self._touched, None  # until it has gone well
        if known is None:
            super().restore(files)
        else:
            same = {path for path, data in known.items() if wanted.get(path) == data} - touched
            for path in known.keys() - same:
                super().remove(path)
            for folder in sorted(parent_folders(known) - parent_folders(same), reverse=True):
                self._remove_folder(folder)
            for path in wanted.keys() - same:
                super().write(path, wanted[path])
        self.learn(wanted, touched=(), is_plain=True)

    def clear(self) -> None:
        """Delete everything."""
        self.forget()
        super().clear()
        self.learn({}, touched=(), is_plain=True)

    def settle(self, max_bytes: int, since_s: float = 0.0) -> Settled:
        """Put in order what an ended execution left (see `Area.settle`)."""
        self.forget()
        return super().settle(max_bytes, since_s)

    def _remove_folder(self, path: str) -> None:
        parts = split_path(path)
        parent = self._open_folder(parts, path)
        try:
            os.rmdir(parts[-1], dir_fd=parent)
        finally:
            os.close(parent)

"""The files of a work area, reached only through a descriptor of its folder.

Paths are walked one component at a time without following symbolic links, so nothing that a hostile
program left behind can lead a later `read` or `write` out of the area. Used by the caller and, for
`settle`, by the fork server: it imports only the standard library.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

MAX_DEPTH = 64
"""Folders nested deeper than this are removed when an execution has ended."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MAX_NAME_BYTES = 255


def split_path(path: str) -> list[str]:
    """Return the components of a relative path, without `.`.

    Raises:
        PermissionError: the path is absolute or goes up.
        ValueError: it names no file, or has a name that no file can have.
    """
    if path.startswith("/"):
        raise PermissionError(errno.EPERM, "absolute path; give it relative to the work area", path)
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise PermissionError(errno.EPERM, "`..` would leave the work area", path)
    if not parts or path.endswith(("/", "/.")):
        raise ValueError(f"path {path!r} names no file; expected for example 'folder/file.py'")
    for part in parts:
        try:
            encoded = os.fsencode(part)
        except UnicodeEncodeError as cause:
            raise ValueError(f"name {part!r} cannot be encoded as UTF-8") from cause
        if b"\0" in encoded or len(encoded) > _MAX_NAME_BYTES:
            reason = "a NUL byte" if b"\0" in encoded else f"over {_MAX_NAME_BYTES} bytes"
            raise ValueError(f"name {part[:40]!r} cannot be used: it has {reason}")
    if len(parts) > MAX_DEPTH:
        raise ValueError(f"path has {len(parts)} components; at most {MAX_DEPTH} are allowed")
    return parts


class Entry(NamedTuple):
    """A regular file that an execution left."""

    path: str
    size_bytes: int
    is_touched: bool
    """True unless it is certain that nobody changed the file, its folders or their rights."""


class Settled(NamedTuple):
    """What `Area.settle` found."""

    has_removed: bool
    largest_bytes: int
    entries: list[Entry]
    is_plain: bool
    """True if there are only regular files, each with one name, and folders of such."""

    def limit_hit(self, limits: Mapping[str, Any], status: int) -> str | None:
        """Return `disk` if the area did not fit, or a program failed with a file at its bound."""
        at_bound = self.largest_bytes >= limits["file_bytes"] and status != 0
        return "disk" if self.has_removed or at_bound else None


class Area:
    """The files below one folder.

    Args:
        fd: descriptor of the folder; the area owns it and `close` closes it.
        owner: user and group id that new files get; None leaves them with this process's.
    """

    def __init__(self, fd: int, owner: tuple[int, int] | None = None) -> None:
        self.fd = fd
        self.owner = owner

    def close(self) -> None:
        """Close the descriptor; the files are gone when nobody else holds them."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def read(self, path: str) -> bytes:
        """Return a regular file's content."""
        parts = split_path(path)
        folder = self._open_folder(parts, path)
        try:
            fd = self._open_file(folder, parts[-1], os.O_RDONLY, path)
        finally:
            os.close(folder)
        with open(fd, "rb") as file:
            return file.read()

    def write(self, path: str, data: bytes) -> None:
        """Create or replace a regular file, making its folders."""
        parts = split_path(path)
        folder = self._open_folder(parts, path, should_create=True)
        try:
            fd = self._open_file(folder, parts[-1], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, path)
        finally:
            os.close(folder)
        with open(fd, "wb") as file:
            if self.owner:
                os.fchown(fd, *self.owner)
            file.write(data)

    def remove(self, path: str) -> None:
        """Delete a file (or a symbolic link itself)."""
        parts = split_path(path)
        folder = self._open_folder(parts, path)
        try:
            os.unlink(parts[-1], dir_fd=folder)
        except OSError as error:
            raise type(error)(error.errno, error.strerror, path) from error
        finally:
            os.close(folder)

    def list_files(self) -> list[str]:
        """Return the relative POSIX paths of all regular files, sorted."""
        return sorted(path for _, _, path, info in self._walk() if stat.S_ISREG(info.st_mode))

    def snapshot(self) -> dict[str, bytes]:
        """Return every regular file's content by path."""
        return {path: self.read(path) for path in self.list_files()}

    def restore(self, files: Mapping[str, bytes]) -> None:
        """Make the area hold exactly `files`."""
        for path in files:
            split_path(path)  # refuse before anything is deleted
        self.clear()
        for path, data in files.items():
            self.write(path, data)

    def clear(self) -> None:
        """Delete everything."""
        self._delete_all(os.listdir(self.fd))

    def settle(self, max_bytes: int, since_s: float = 0.0) -> Settled:
        """Put in order what an ended execution left: owner can read everything, sizes fit.

        A file counts with the size it claims, so that sparse files cannot make a later snapshot
        huge. The largest files are removed until the rest fits.

        Args:
            max_bytes: what all files together may claim.
            since_s: what changed at that time or later counts as touched, in seconds since the
                epoch. No program can set back the time of a change (`st_ctime`).

        Returns:
            Whether something had to be removed, the size of the largest file before that, and what
            is there now.
        """
        if stat.S_IMODE(os.fstat(self.fd).st_mode) & stat.S_IRWXU != stat.S_IRWXU:
            os.fchmod(self.fd, 0o755)
        entries: list[Entry] = []
        too_deep: set[str] = set()
        folders: dict[str, bool] = {}
        is_plain = True
        for folder, name, path, info in self._walk():
            wanted = stat.S_IRUSR | stat.S_IWUSR
            above = path.rpartition("/")[0]
            is_touched = info.st_ctime >= since_s or folders.get(above, False)
            if stat.S_ISDIR(info.st_mode):
                wanted |= stat.S_IXUSR
                folders[path] = is_touched
                if path.count("/") >= MAX_DEPTH:
                    too_deep.add(path.split("/")[0])
            elif stat.S_ISREG(info.st_mode):
                entries.append(Entry(path, info.st_size, is_touched))
                is_plain &= info.st_nlink == 1
            else:
                is_plain = False
                continue
            if info.st_mode & wanted != wanted:
                os.chmod(name, stat.S_IMODE(info.st_mode) | wanted, dir_fd=folder)
        if too_deep:
            self._delete_all(list(too_deep))
            entries = [entry for entry in entries if entry.path.split("/")[0] not in too_deep]
        largest = max((entry.size_bytes for entry in entries), default=0)
        kept = self._make_fit(entries, max_bytes)
        if folders:
            is_plain &= folders.keys() == parent_folders(entry.path for entry in entries)
        has_removed = len(kept) < len(entries) or bool(too_deep)
        return Settled(has_removed, largest, kept, is_plain and not has_removed)

    def _make_fit(self, entries: list[Entry], max_bytes: int) -> list[Entry]:
        """Remove the largest files until the rest fits; return what is left."""
        excess = sum(entry.size_bytes for entry in entries) - max_bytes
        if excess <= 0:
            return entries
        removed = set()
        for entry in sorted(entries, key=lambda entry: (entry.size_bytes, entry.path))[::-1]:
            if excess <= 0:
                break
            self.remove(entry.path)
            removed.add(entry.path)
            excess -= entry.size_bytes
        return [entry for entry in entries if entry.path not in removed]

    def read_settled(self, entries: list[Entry]) -> list[bytes]:
        """Return the content of files that `settle` returned, while no program runs."""
        found = []
        for path, size, _ in entries:
            # Not walked: `settle` has just seen that no folder in the path is a link.
            fd = os.open(path, os.O_RDONLY | _FILE, dir_fd=self.fd)
            try:
                found.append(os.read(fd, size) if size else b"")
            finally:
                os.close(fd)
        return found

    def _open_folder(self, parts: list[str], path: str, should_create: bool = False) -> int:
        """Open the folder that holds the last component; the caller closes it."""
        fd = os.dup(self.fd)
        try:
            for part in parts[:-1]:
                inner = self._enter(fd, part, path, should_create)
                os.close(fd)
                fd = inner
        except BaseException:
            os.close(fd)
            raise
        return fd

    def _enter(self, fd: int, part: str, path: str, should_create: bool) -> int:
        try:
            return os.open(part, _FOLDER, dir_fd=fd)
        except FileNotFoundError:
            if not should_create:
                raise FileNotFoundError(errno.ENOENT, "no such file", path) from None
        except OSError as error:
            raise _explain(error, fd, part, path) from error
        os.mkdir(part, 0o755, dir_fd=fd)
        if self.owner:
            os.chown(part, *self.owner, dir_fd=fd, follow_symlinks=False)
        return os.open(part, _FOLDER, dir_fd=fd)

    def _open_file(self, folder: int, name: str, flags: int, path: str) -> int:
        try:
            fd = os.open(name, flags | _FILE, 0o644, dir_fd=folder)
        except OSError as error:
            raise _explain(error, folder, name, path) from error
        mode = os.fstat(fd).st_mode
        if stat.S_ISREG(mode):
            return fd
        os.close(fd)
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, "is a folder", path)
        raise PermissionError(errno.EPERM, "not a regular file", path)

    def _walk(
        self, fd: int | None = None, prefix: str = "", depth: int = 0
    ) -> Iterator[tuple[int, str, str, os.stat_result]]:
        """Yield (folder descriptor, name, path, lstat) of every entry, folders before content."""
        fd = self.fd if fd is None else fd
        for name in os.listdir(fd):
            info = os.stat(name, dir_fd=fd, follow_symlinks=False)
            yield fd, name, prefix + name, info
            if stat.S_ISDIR(info.st_mode) and depth < MAX_DEPTH:
                inner = os.open(name, _FOLDER, dir_fd=fd)
                try:
                    yield from self._walk(inner, f"{prefix}{name}/", depth + 1)
                finally:
                    os.close(inner)

    def _delete_all(self, names: list[str]) -> None:
        """Delete top-level entries and all below them, however deep it goes."""
        while names:
            names += self._delete(self.fd, names.pop(), 0)

    def _delete(self, parent: int, name: str, depth: int) -> list[str]:
        """Delete an entry and what is below it; return the new names of what lay too deep.

        Each level holds a descriptor and a stack frame, so a hostile chain of folders is cut into
        pieces: the folder at `MAX_DEPTH` moves to the top under a name nobody can have guessed.
        """
        info = os.stat(name, dir_fd=parent, follow_symlinks=False)
        if not stat.S_ISDIR(info.st_mode):
            os.unlink(name, dir_fd=parent)
            return []
        if depth >= MAX_DEPTH:
            moved = f".{os.urandom(8).hex()}"
            os.rename(name, moved, src_dir_fd=parent, dst_dir_fd=self.fd)
            return [moved]
        if info.st_mode & stat.S_IRWXU != stat.S_IRWXU:
            os.chmod(name, stat.S_IRWXU, dir_fd=parent)
        fd = os.open(name, _FOLDER, dir_fd=parent)
        try:
            rest = [
                moved for inner in os.listdir(fd) for moved in self._delete(fd, inner, depth + 1)
            ]
        finally:
            os.close(fd)
        os.rmdir(name, dir_fd=parent)
        return rest


def parent_folders(paths: Iterable[str]) -> set[str]:
    """Return all folders that lie above some files."""
    found: set[str] = set()
    for path in paths:
        parts = path.split("/")
        found.update("/".join(parts[:count]) for count in range(1, len(parts)))
    return found


def _explain(error: OSError, folder: int, name: str, path: str) -> OSError:
    """Name the path, and say so where a symbolic link or special file was in the way."""
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except OSError:
        mode = 0
    if stat.S_ISLNK(mode):
        return PermissionError(errno.EPERM, "a symbolic link, which is not followed", path)
    if mode and not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        return PermissionError(errno.EPERM, "not a regular file", path)
    code = error.errno or errno.EIO
    return OSError(code, os.strerror(code), path)  # becomes the fitting subclass

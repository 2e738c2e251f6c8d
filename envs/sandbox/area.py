"""The files of a work area, reached only through a descriptor of its folder.

Paths are walked one component at a time without following symbolic links, so nothing that a hostile
program left behind can lead a later `read` or `write` out of the area. Used by the caller and, for
`settle`, by the fork server: it imports only the standard library.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator, Mapping
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


class Settled(NamedTuple):
    """What `Area.settle` found."""

    has_removed: bool
    largest_bytes: int

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

    def settle(self, max_bytes: int) -> Settled:
        """Put in order what an ended execution left: owner can read everything, sizes fit.

        A file counts with the size it claims, so that sparse files cannot make a later snapshot
        huge. The largest files are removed until the rest fits.

        Args:
            max_bytes: what all files together may claim.

        Returns:
            Whether something had to be removed, and the size of the largest file before that.
        """
        sizes: list[tuple[int, str]] = []
        too_deep: set[str] = set()
        for folder, name, path, info in self._walk():
            wanted = stat.S_IRUSR | stat.S_IWUSR
            if stat.S_ISDIR(info.st_mode):
                wanted |= stat.S_IXUSR
                if path.count("/") >= MAX_DEPTH:
                    too_deep.add(path.split("/")[0])
            elif stat.S_ISREG(info.st_mode):
                sizes.append((info.st_size, path))
            else:
                continue
            if info.st_mode & wanted != wanted:
                os.chmod(name, stat.S_IMODE(info.st_mode) | wanted, dir_fd=folder)
        self._delete_all(list(too_deep))
        sizes = [entry for entry in sizes if entry[1].split("/")[0] not in too_deep]
        excess = sum(size for size, _ in sizes) - max_bytes
        too_large = excess > 0
        for size, path in sorted(sizes, reverse=True):
            if excess <= 0:
                break
            self.remove(path)
            excess -= size
        largest = max(sizes, default=(0, ""))[0]
        return Settled(too_large or bool(too_deep), largest)

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
            moved = f".{secrets.token_hex(8)}"
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

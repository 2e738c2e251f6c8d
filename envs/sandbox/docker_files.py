"""The files inside a container, reached by its server in the name of the programs' user.

No program runs while files are reached, and `Area` follows no symbolic link, so that what a program
left behind can neither race with this nor lead it elsewhere.
"""

from __future__ import annotations

import os
from typing import Any

from .area import Area, Settled


class Files:
    """The work area, and the folders for scratch files that each execution finds empty.

    Args:
        area: path of the work area.
        scratch: paths of the other folders that a program can write to.
    """

    def __init__(self, area: str, scratch: tuple[str, ...]) -> None:
        self._area = _open(area)
        self._scratch = [_open(path) for path in scratch]

    def serve(self, request: dict[str, Any], blob: bytes) -> tuple[dict[str, Any], bytes]:
        """Carry out one request; what the file system refuses is an answer, not an error."""
        try:
            return self._serve(request, blob)
        except OSError as error:
            return {"os_error": [error.errno, error.strerror, error.filename]}, b""
        except ValueError as error:
            return {"value_error": str(error)}, b""

    def _serve(self, request: dict[str, Any], blob: bytes) -> tuple[dict[str, Any], bytes]:
        area, do, path = self._area, request["do"], request.get("path", "")
        if do == "read":
            return {}, area.read(path)
        if do == "write":
            area.write(path, blob)
        elif do == "remove":
            area.remove(path)
        elif do == "list":
            return {"paths": area.list_files()}, b""
        elif do == "snapshot":
            return pack(area.snapshot())
        elif do == "restore":
            area.restore(unpack(request, blob))
        elif do == "reset":
            self.settle(0)
            area.clear()
        else:
            raise ValueError(f"unknown request {do!r}")
        return {}, b""

    def used_bytes(self) -> int:
        """Return how much of the work area is in use."""
        return _used(self._area)

    def all_used_bytes(self) -> int:
        """Return how much of all the folders is in use."""
        return sum(_used(area) for area in (self._area, *self._scratch))

    def num_full(self) -> int:
        """Return how many of the folders have no room or no file entries left."""
        infos = [os.fstatvfs(area.fd) for area in (self._area, *self._scratch)]
        return sum(info.f_bavail == 0 or info.f_favail == 0 for info in infos)

    def settle(self, max_bytes: int) -> Settled:
        """Put the work area in order and empty the rest; no program may be running."""
        for area in (self._area, *self._scratch):
            os.fchmod(area.fd, 0o755)  # a program may have locked its own user out
        for area in self._scratch:
            area.clear()
        return self._area.settle(max_bytes)


def pack(files: dict[str, bytes]) -> tuple[dict[str, Any], bytes]:
    """Turn files into a header (paths and sizes) and one run of bytes."""
    return {"files": [[path, len(data)] for path, data in files.items()]}, b"".join(files.values())


def unpack(header: dict[str, Any], blob: bytes) -> dict[str, bytes]:
    """Turn back what `pack` returned."""
    files, start = {}, 0
    for path, size in header["files"]:
        files[str(path)] = blob[start : start + size]
        start += size
    return files


def _used(area: Area) -> int:
    info = os.fstatvfs(area.fd)
    return (info.f_blocks - info.f_bfree) * info.f_frsize


def _open(path: str) -> Area:
    return Area(os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))

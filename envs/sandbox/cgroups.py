"""A control group around each fork server: a bound that the kernel keeps between our looks.

`usage` measures a program's whole tree every 20 ms. What it does in between is bounded here, where
the caller may make control groups: memory and tasks of the server, its forkers and their programs
together. The group is entered once, when the server starts, so that programs are born in it and
an execution costs nothing more; its limits are written when a job brings other ones.

Where no group can be made (an ordinary user without a delegated subtree, a read-only cgroupfs)
there is none, and `protections` says so.

Sources: Linux, `Documentation/admin-guide/cgroup-v2.rst`, `Documentation/admin-guide/cgroup-v1/`.
"""

from __future__ import annotations

import contextlib
import os
import time
from typing import NamedTuple

PREFIX = "sim2live-"
_KINDS = ("memory", "pids")
_SLACK_BYTES = 32 << 20
"""For page tables, buffers and what the server itself comes to need."""
_REMOVAL_S = 0.5


class Names(NamedTuple):
    """What the files of a version are called."""

    memory_limit: str
    memory_now: str
    events: str


_NAMES = {
    1: Names("memory.limit_in_bytes", "memory.usage_in_bytes", "memory.oom_control"),
    2: Names("memory.max", "memory.current", "memory.events"),
}


class ControlGroup:
    """The group that this process has entered; the descriptors stay good in any namespace.

    Args:
        version: of the interface, 1 or 2.
        folders: of the memory and of the pids controller; the same one in version 2.
    """

    def __init__(self, version: int, folders: tuple[str, str]) -> None:
        self.version = version
        self.folders = folders
        names, (memory, pids) = _NAMES[version], folders
        self._memory_limit = _open(f"{memory}/{names.memory_limit}", os.O_WRONLY)
        self._pids_limit = _open(f"{pids}/pids.max", os.O_WRONLY)
        self._now = _open(f"{memory}/{names.memory_now}", os.O_RDONLY)
        self._events = _open(f"{memory}/{names.events}", os.O_RDONLY)
        self._base_bytes = 0
        self._num_base = 0
        self._num_killed = 0
        self._set: tuple[int, int] | None = None

    def settle(self, num_tasks: int) -> None:
        """Take what is used now as what server and forkers need for themselves.

        Args:
            num_tasks: tasks in the group that are not a program's.
        """
        self._base_bytes = int(os.pread(self._now, 64, 0))
        self._num_base = num_tasks
        self._num_killed = self._read_killed()

    def limit(self, memory_bytes: int, disk_bytes: int, tasks: int) -> None:
        """Bound what the programs use from here on.

        Args:
            memory_bytes: of a program's tree.
            disk_bytes: of the work area and of /tmp, each: their files are memory.
            tasks: of a program's tree.
        """
        wanted = (
            self._base_bytes + memory_bytes + 2 * disk_bytes + _SLACK_BYTES,
            self._num_base + tasks,
        )
        if wanted != self._set:
            # What is in use may exceed a lower limit for a moment; the old one holds until then.
            with contextlib.suppress(OSError):
                os.pwrite(self._memory_limit, b"%d" % wanted[0], 0)
                os.pwrite(self._pids_limit, b"%d" % wanted[1], 0)
                self._set = wanted

    def has_killed(self) -> bool:
        """Say whether the kernel has killed for want of memory since the last time of asking."""
        before, self._num_killed = self._num_killed, self._read_killed()
        return self._num_killed > before

    def _read_killed(self) -> int:
        found = os.pread(self._events, 1024, 0).partition(b"oom_kill ")[2].split()
        return int(found[0]) if found else 0


def enter(owner: int) -> ControlGroup | None:
    """Make a group and move this process into it; None where that is not allowed.

    Leftovers of owners that are dead are removed on the way.

    Args:
        owner: process id of the caller, whose name the group bears.
    """
    for version, parents in _places():
        name = f"{PREFIX}{owner}-{_started(owner)}-{os.getpid()}"
        made: list[str] = []
        try:
            for parent in dict.fromkeys(parents):
                _sweep(parent)
                os.mkdir(f"{parent}/{name}")
                made.append(f"{parent}/{name}")
            folders = (f"{parents[0]}/{name}", f"{parents[1]}/{name}")
            group = ControlGroup(version, folders)
            for folder in made:
                _write(f"{folder}/cgroup.procs", str(os.getpid()))
        except OSError:
            remove(made)
        else:
            return group
    return None


def remove(folders: list[str] | tuple[str, ...]) -> None:
    """Remove groups whose processes have ended or are about to."""
    deadline = time.monotonic() + _REMOVAL_S
    for folder in dict.fromkeys(folders):
        while True:
            try:
                os.rmdir(folder)
            except FileNotFoundError:
                break
            except OSError:
                if time.monotonic() > deadline:
                    break  # the next server that starts removes it
                time.sleep(0.002)
            else:
                break


def make_first_victim() -> None:
    """Have the kernel kill this process and its children before any other of the group."""
    fd = os.open("/proc/self/oom_score_adj", os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, b"1000")
    finally:
        os.close(fd)


def _places() -> list[tuple[int, tuple[str, str]]]:
    """Return where groups might be made, best first: version, folders for memory and for pids."""
    own: dict[str, str] = {}
    for line in _read("/proc/self/cgroup").splitlines():
        _, kinds, path = line.split(":", 2)
        own.update({kind: path for kind in kinds.split(",")})
    mounts: dict[str, str] = {}
    for line in _read("/proc/self/mounts").splitlines():
        _, folder, kind, options = line.split(" ")[:4]
        if kind == "cgroup2":
            mounts[""] = folder
        elif kind == "cgroup":
            mounts.update({name: folder for name in _KINDS if name in options.split(",")})
    places: list[tuple[int, tuple[str, str]]] = []
    if "" in mounts and "" in own:
        # Only a folder that hands both controllers down may hold the new group; that is never the
        # own one, since one with processes in it cannot.
        path = own[""].rstrip("/")
        while True:
            folder = mounts[""] + path
            handed = _read(f"{folder}/cgroup.subtree_control").split()
            if set(_KINDS) <= set(handed):
                places.append((2, (folder, folder)))
            if not path:
                break
            path = path.rpartition("/")[0]
    if set(_KINDS) <= mounts.keys() and set(_KINDS) <= own.keys():
        memory, pids = (mounts[kind] + own[kind].rstrip("/") for kind in _KINDS)
        places.append((1, (memory, pids)))
    return places


def _sweep(parent: str) -> None:
    """Remove the groups of owners that are no more."""
    for name in os.listdir(parent):
        fields = name.removeprefix(PREFIX).split("-")
        if name.startswith(PREFIX) and len(fields) == 3 and _started(fields[0]) != fields[1]:
            with contextlib.suppress(OSError):
                os.rmdir(f"{parent}/{name}")


def _started(pid: int | str) -> str:
    """Return when a process began, in clock ticks since boot; "" if there is none."""
    fields = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return fields[19] if len(fields) > 19 else ""


def _open(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC)


def _read(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return file.read().decode(errors="replace")
    except OSError:
        return ""


def _write(path: str, text: str) -> None:
    fd = _open(path, os.O_WRONLY)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)

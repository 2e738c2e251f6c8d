"""A control group around the programs of one fork server: bounds that hold at every moment.

`usage.py` looks at memory every 20 ms. Where the kernel lets us have a control group, its memory
controller stops what grows faster than that, and counts what no process shows (page tables, pipes,
sockets, entries of folders); its pids controller bounds the tasks once more.

There is one group for each server, below the group of whoever started it, so that no limit set on
that one is escaped. The forker enters it once, at the start; every program is born there, and an
execution costs nothing unless its limits differ from the last one's. The bounds are wider than
those of `usage.py` by what the forker itself has: this is a stop, not a scale.

The server makes the group while it still sees the host, and removes it when its caller is gone; the
caller removes it when the server has been killed; should both be killed at once, the next server to
start does. Without the right to make one there is none. Runs in the fork server: it imports only
the standard library.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable
from typing import NamedTuple

PREFIX = "sim2live-"
OVERHEAD_BYTES = 48 << 20
"""For the kernel's own records of an execution, for one made ahead, and for one that is ending."""
OWN_TASKS = 16
"""Two forkers, the program and the init of those made ahead or ending, and some to spare."""
_REMOVAL_S = 0.5
_RETRY_S = 0.002


class Place(NamedTuple):
    """A folder of a controller in which a group may be made."""

    controller: str
    version: int
    folder: str


_BOUNDS = {
    ("memory", 1): "memory.limit_in_bytes",
    ("memory", 2): "memory.max",
    ("pids", 1): "pids.max",
    ("pids", 2): "pids.max",
}
_EVENTS = {1: "memory.oom_control", 2: "memory.events"}
_USAGE = {1: "memory.usage_in_bytes", 2: "memory.current"}
_NO_SWAP = {1: "memory.swappiness", 2: "memory.swap.max"}


class Group:
    """A control group that has been made, by the descriptors of its files.

    Args:
        places: where its folders are, one for each controller; in version 2 twice the same.
        name: of the folders.

    Raises:
        OSError: a folder cannot be made, or its files cannot be opened.
    """

    def __init__(self, places: Iterable[Place], name: str) -> None:
        self.places = tuple(places)
        self.name = name
        self._fds: list[int] = []
        self._parents: list[int] = []
        self._entries: list[int] = []
        self._bounds: dict[str, int] = {}
        self._events = self._usage = -1
        self._wanted: dict[str, int] = {}
        self._base_bytes = self._num_killed = 0
        try:
            for folder in dict.fromkeys(place.folder for place in self.places):
                self._parents.append(self._open(folder, os.O_PATH | os.O_DIRECTORY))
                os.mkdir(name, 0o755, dir_fd=self._parents[-1])
                self._entries.append(self._open(f"{folder}/{name}/cgroup.procs", os.O_RDWR))
            for place in self.places:
                self._adopt(place)
        except OSError:
            self.remove()
            self.close()
            raise

    @property
    def folders(self) -> list[str]:
        """Return the paths of its folders, as seen where it was made."""
        return list(dict.fromkeys(f"{place.folder}/{self.name}" for place in self.places))

    def enter(self) -> None:
        """Move this process into the group; its children will be born there."""
        for fd in self._entries:
            os.write(fd, b"0")

    @property
    def is_entered(self) -> bool:
        """True if there are processes in it."""
        return all(os.pread(fd, 16, 0) for fd in self._entries)

    def settle(self) -> None:
        """Take what is used now as what the forkers have for themselves."""
        if self._usage >= 0:
            self._base_bytes = int(os.pread(self._usage, 32, 0))
            self._wanted = {}

    def begin(self, memory_bytes: int, file_bytes: int, tasks: int) -> None:
        """Set the bounds for the next execution, and count from here what the kernel kills.

        Args:
            memory_bytes: what its processes may use.
            file_bytes: what its memory file systems may hold.
            tasks: how many it may have.
        """
        wanted = {
            "memory": self._base_bytes + OVERHEAD_BYTES + memory_bytes + file_bytes,
            "pids": OWN_TASKS + tasks,
        }
        if wanted != self._wanted:
            # A lower one is refused while more than that is in use; the old one holds until then.
            with contextlib.suppress(OSError):
                for controller, fd in self._bounds.items():
                    os.pwrite(fd, b"%d" % wanted[controller], 0)
                self._wanted = wanted
        self._num_killed = self._count_killed()

    def has_killed(self) -> bool:
        """Say whether the kernel has killed a process for want of memory since `begin`."""
        return self._count_killed() > self._num_killed

    def remove(self) -> None:
        """Remove the folders; the processes in them must have ended."""
        for fd in self._parents:
            _remove_soon(self.name, fd)

    def close(self) -> None:
        """Let go of the files; the group stays."""
        for fd in self._fds:
            os.close(fd)
        self._fds = []

    def _adopt(self, place: Place) -> None:
        folder = f"{place.folder}/{self.name}"
        bound = f"{folder}/{_BOUNDS[place.controller, place.version]}"
        self._bounds[place.controller] = self._open(bound, os.O_WRONLY)
        if place.controller == "memory":
            self._events = self._open(f"{folder}/{_EVENTS[place.version]}", os.O_RDONLY)
            self._usage = self._open(f"{folder}/{_USAGE[place.version]}", os.O_RDONLY)
            with contextlib.suppress(OSError):  # there is none if the kernel cannot swap
                swap = self._open(f"{folder}/{_NO_SWAP[place.version]}", os.O_WRONLY)
                os.write(swap, b"0")

    def _count_killed(self) -> int:
        if self._events < 0:
            return 0
        words = os.pread(self._events, 1024, 0).partition(b"oom_kill ")[2].split(None, 1)
        return int(words[0]) if words else 0

    def _open(self, path: str, flags: int) -> int:
        fd = os.open(path, flags | os.O_CLOEXEC)
        self._fds.append(fd)
        return fd


def make_group() -> Group | None:
    """Make a group below the one that this process is in, or return None if that is not allowed.

    It is named after this process. Groups whose process is dead are removed on the way.
    """
    places = find_places(_read("/proc/self/mountinfo"), _read("/proc/self/cgroup"))
    for folder in dict.fromkeys(place.folder for place in places):
        sweep(folder)
    itself = os.getpid()
    name = f"{PREFIX}{itself}-{_start_of(itself)}"
    for version in (2, 1):
        usable = [place for place in places if place.version == version]
        while usable:
            try:
                return Group(usable, name)
            except OSError:
                usable.pop()  # without the bound on tasks, which has others; then without any
    return None


def find_places(mountinfo: str, membership: str) -> list[Place]:
    """Return where a group may be made, the memory controller first.

    Args:
        mountinfo: what /proc/self/mountinfo says.
        membership: what /proc/self/cgroup says.
    """
    own: dict[str, str] = {}
    for line in membership.splitlines():
        _, controllers, path = line.split(":", 2)
        own.update(dict.fromkeys(controllers.split(","), path))
    found: list[Place] = []
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        root, point = left.split()[3:5]
        kind, _, options = right.split(" ", 2)
        if kind == "cgroup2" and "" in own:
            folder = _below(point, root, own[""])
            found += _handed_down(point, folder) if folder else []
        elif kind == "cgroup":
            for controller in {"memory", "pids"} & set(options.split(",")) & own.keys():
                folder = _below(point, root, own[controller])
                found += [Place(controller, 1, folder)] if folder else []
    return sorted(dict.fromkeys(found))


def _below(point: str, root: str, path: str) -> str | None:
    """Return the folder of a group, given a mount and which part of the tree it shows."""
    outer = root.rstrip("/")
    if path != outer and not path.startswith(f"{outer}/"):
        return None
    return (point + path.removeprefix(outer)).rstrip("/")


def _handed_down(point: str, own: str) -> list[Place]:
    """Return the controllers of version 2 that a new group can have, and where.

    A group with processes in it cannot hand any down, unless it is the root of all. So the new one
    becomes a sibling of our own, provided that no limit on the memory of ours is escaped that way.
    """
    parent = own
    if "memory" not in _read(f"{own}/cgroup.subtree_control").split():
        limits = {_read(f"{own}/memory.{kind}").strip() for kind in ("max", "high")}
        if own == point or limits != {"max"}:
            return []
        parent = os.path.dirname(own)
    handed = _read(f"{parent}/cgroup.subtree_control").split()
    return [Place(kind, 2, parent) for kind in ("memory", "pids") if kind in handed]


def sweep(folder: str) -> None:
    """Remove the groups in a folder whose servers are dead and that nobody is in."""
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        pid, _, start = name.removeprefix(PREFIX).partition("-")
        if name.startswith(PREFIX) and _start_of(pid) != start:
            with contextlib.suppress(OSError):
                os.rmdir(f"{folder}/{name}")


def remove(folders: Iterable[str]) -> None:
    """Remove the folders of a group whose processes have ended or are about to."""
    for folder in folders:
        _remove_soon(folder, None)


def describe(folders: Iterable[str]) -> dict[str, int]:
    """Return the bounds that are set on a group: controller to bytes, or to tasks."""
    found: dict[str, int] = {}
    for folder in folders:
        for (controller, _), name in _BOUNDS.items():
            text = _read(f"{folder}/{name}").strip()
            if text.isdigit():
                found[controller] = int(text)
    return found


def become_first_victim() -> None:
    """Have the kernel, out of memory, kill this process and its children before the forker.

    Needs a /proc that can be written to.
    """
    fd = os.open("/proc/self/oom_score_adj", os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, b"1000")
    finally:
        os.close(fd)


def _remove_soon(name: str, parent: int | None) -> None:
    deadline = time.monotonic() + _REMOVAL_S
    while True:
        try:
            os.rmdir(name, dir_fd=parent)
        except FileNotFoundError:
            return
        except OSError:
            if time.monotonic() >= deadline:
                return  # the next server that starts removes it
            time.sleep(_RETRY_S)
        else:
            return


def _start_of(pid: int | str) -> str:
    """Return when a process started, in ticks since the machine did; "" if it is dead."""
    fields = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return fields[19] if len(fields) > 19 else ""


def _read(path: str) -> str:
    try:
        with open(path, "rb", buffering=0) as file:
            return file.readall().decode(errors="replace")
    except OSError:
        return ""

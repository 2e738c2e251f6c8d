"""What all processes of one execution use together."""

from __future__ import annotations

import contextlib
import functools
import os
import signal
from typing import Any

from .cgroups import Group
from .queues import queued_bytes

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_BLOCK_BYTES = 512


class Tree:
    """The processes of one execution, as the server sees them in its own /proc.

    Args:
        init: the process that all orphans are given to, and that collects none of them.
        program: the process that started all others.
        bounded: descriptors on file systems whose size is bounded, so that what is in their files
            need not be counted.
    """

    group: Group | None = None
    """The control group that they are in, if there is one."""

    def __init__(self, init: int, program: int, *, bounded: tuple[int, ...] = ()) -> None:
        self.init = init
        self.program = program
        self._bounded = bounded

    @functools.cached_property
    def _devices(self) -> set[int]:
        return {os.fstat(fd).st_dev for fd in self._bounded}

    def measure(self, limits: dict[str, Any]) -> tuple[int, str | None]:
        """Return the number of tasks, and the limit that the whole tree has broken, if any.

        Memory is what is resident and not shared with files; memory that is shared without a file
        counts for each process by its part, anonymous files by their size, mapped or not, and
        what waits in sockets. CPU time counts the living, those that their parents have
        collected, and daemons that have ended, which nobody collects.

        Args:
            limits: the fields of `Limits`.
        """
        tasks, ticks = 0, 0
        members = self._members()
        for _, fields in members:
            tasks += max(1, int(fields[17]))
            ticks += sum(int(field) for field in fields[11:15])
        if self.group is not None and self.group.has_killed():
            return tasks, "memory"
        if self._exceeds([pid for pid, _ in members], limits["memory_bytes"]):
            return tasks, "memory"
        if ticks > limits["cpu_time_s"] * _TICKS_PER_S:
            return tasks, "cpu_time"
        return tasks, None

    def _exceeds(self, pids: list[int], most_bytes: int) -> bool:
        """Say whether processes have more than that in memory."""
        own = shared = 0
        for pid in pids:
            status = _read(f"/proc/{pid}/status")
            own += _kilobytes(status, b"RssAnon:")
            shared += _kilobytes(status, b"RssShmem:")
        files = self._anonymous_bytes(pids)
        queued = queued_bytes()  # nobody else has sockets in this network namespace
        if (own + shared) * 1024 + files + queued <= most_bytes:
            return False
        # Only now is it worth the time to divide what several processes have together.
        parts = sum(_shared_part(pid) for pid in pids) if shared else 0
        return own * 1024 + max(parts * 1024, files) + queued > most_bytes

    def _anonymous_bytes(self, pids: list[int]) -> int:
        """Return the size of all open files that are nowhere but in memory (`memfd_create`)."""
        sizes: dict[tuple[int, int], int] = {}
        for pid in pids:
            for fd in _list(f"/proc/{pid}/fd"):
                with contextlib.suppress(OSError):
                    info = os.stat(f"/proc/{pid}/fd/{fd}")
                    if info.st_nlink == 0 and info.st_dev not in self._devices:
                        sizes[info.st_dev, info.st_ino] = info.st_blocks * _BLOCK_BYTES
        return sum(sizes.values())

    def has_others(self) -> bool:
        """Say whether anything but the init is left, once the program has been collected.

        A tree always leaves a trace: whatever loses its parent becomes a child of the init, which
        collects nobody, so that it stays one even after its end.
        """
        children = f"/proc/{self.init}/task/{self.init}/children"
        if _has_children_file():
            return bool(_read(children).strip())
        return any(pid != self.program for pid, _ in self._members())

    def _members(self) -> list[tuple[int, list[bytes]]]:
        """Return the processes below init and program, each with its fields from the state on."""
        known: dict[int, list[bytes]] = {}
        for name in os.listdir("/proc"):
            if name.isdigit():
                # The name in the second field is the program's choice and may hold anything.
                fields = _read(f"/proc/{name}/stat").rpartition(b")")[2].split()
                if fields:
                    known[int(name)] = fields
        belongs = {self.init: False, self.program: True}  # the init itself does not count
        for pid in known:
            line = [pid]
            while line[-1] not in (self.init, self.program) and line[-1] in known:
                line.append(int(known[line[-1]][1]))
            is_below = line[-1] in (self.init, self.program)
            for member in line:
                belongs.setdefault(member, is_below)
        return [(pid, fields) for pid, fields in known.items() if belongs[pid]]


@functools.cache
def _has_children_file() -> bool:
    return os.path.exists("/proc/1/task/1/children")  # a build option of the kernel


def guess_limit(status: int, tasks: int, max_rss: int, limits: dict[str, Any]) -> str | None:
    """Name the limit behind a bad end where the kernel enforced it without telling us."""
    signal_number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    if signal_number == signal.SIGXCPU:
        return "cpu_time"
    if signal_number == signal.SIGXFSZ:
        return "disk"
    if tasks >= limits["processes"]:
        return "processes"
    return "memory" if max_rss > 0.9 * limits["memory_bytes"] else None


def _shared_part(pid: int) -> int:
    """Return a process's part, in KiB, of the memory without a file that it shares."""
    found = _kilobytes(_read(f"/proc/{pid}/smaps_rollup"), b"Pss_Shmem:")
    return found or _kilobytes(_read(f"/proc/{pid}/status"), b"RssShmem:")


def _kilobytes(text: bytes, name: bytes) -> int:
    fields = text.partition(name)[2].split(None, 1)
    return int(fields[0]) if fields else 0


def _list(path: str) -> list[str]:
    try:
        return os.listdir(path)
    except OSError:
        return []  # it has ended, or hides


def _read(path: str) -> bytes:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""  # it has ended meanwhile
    try:
        return os.read(fd, 4096)
    except OSError:
        return b""
    finally:
        os.close(fd)

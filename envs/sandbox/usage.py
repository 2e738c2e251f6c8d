"""What all processes of one execution use together."""

from __future__ import annotations

import functools
import os
import signal
from typing import Any

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class Tree:
    """The processes of one execution, as the server sees them in its own /proc.

    Args:
        init: the process that all orphans are given to, and that collects none of them.
        program: the process that started all others.
    """

    def __init__(self, init: int, program: int) -> None:
        self.init = init
        self.program = program

    def measure(self, limits: dict[str, Any]) -> tuple[int, str | None]:
        """Return the number of tasks, and the limit that the whole tree has broken, if any.

        Memory is what is resident and not shared with files. CPU time counts the living, those
        that their parents have collected, and daemons that have ended, which nobody collects.

        Args:
            limits: the fields of `Limits`.
        """
        tasks, resident, ticks = 0, 0, 0
        for pid, fields in self._members():
            pages = _read(f"/proc/{pid}/statm").split()
            tasks += max(1, int(fields[17]))
            ticks += sum(int(field) for field in fields[11:15])
            if pages:
                resident += (int(pages[1]) - int(pages[2])) * _PAGE_BYTES
        if resident > limits["memory_bytes"]:
            return tasks, "memory"
        if ticks > limits["cpu_time_s"] * _TICKS_PER_S:
            return tasks, "cpu_time"
        return tasks, None

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
    return os.path.exists(f"/proc/self/task/{os.getpid()}/children")  # a build option of the kernel


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

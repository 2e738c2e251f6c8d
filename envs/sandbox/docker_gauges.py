"""What a container uses, read from its control group: exact for the whole tree, whoever forked.

Runs inside the container. Both versions of control groups show a container its own group here.
"""

from __future__ import annotations

import os

_ROOT = "/sys/fs/cgroup"


class Gauges:
    """Open files of the container's control group.

    Raises:
        OSError: a controller is missing, so its limit could not be enforced; the message names it.
    """

    def __init__(self) -> None:
        self._is_unified = os.path.exists(f"{_ROOT}/cgroup.controllers")
        self._tasks = self._open("pids", "pids.current")
        self._memory = self._open("memory", "memory.stat")
        self._kills = self._open("memory", "memory.events", "memory.oom_control")
        self._cpu = self._open("cpuacct", "cpu.stat", "cpuacct.usage")
        self.tasks(), self.held_bytes(), self.cpu_s(), self.num_killed()

    def tasks(self) -> int:
        """Return the number of processes and threads."""
        return int(_read(self._tasks))

    def held_bytes(self) -> int:
        """Return memory that no disk file stands behind: private, shared, and of memory files."""
        names = (b"anon", b"shmem") if self._is_unified else (b"total_rss", b"total_shmem")
        return sum(self._field(self._memory, name) for name in names)

    def cpu_s(self) -> float:
        """Return processor seconds of everything that ever ran."""
        if self._is_unified:
            return self._field(self._cpu, b"usage_usec") / 1e6
        return int(_read(self._cpu)) / 1e9

    def num_killed(self) -> int:
        """Return how many processes the kernel has killed because the container had no memory."""
        return self._field(self._kills, b"oom_kill")

    def close(self) -> None:
        """Close the files."""
        for fd in (self._tasks, self._memory, self._kills, self._cpu):
            os.close(fd)

    def _open(self, controller: str, unified: str, own: str | None = None) -> int:
        name = unified if self._is_unified else f"{controller}/{own or unified}"
        try:
            return os.open(f"{_ROOT}/{name}", os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise OSError(
                f"the container has no control group `{controller}` ({error}), so limits could not "
                "be enforced; give the daemon that controller"
            ) from error

    def _field(self, fd: int, name: bytes) -> int:
        for line in _read(fd).split(b"\n"):
            key, _, value = line.partition(b" ")
            if key == name:
                return int(value)
        raise OSError(f"the control group does not tell `{name.decode()}`")


def _read(fd: int) -> bytes:
    return os.pread(fd, 1 << 14, 0)

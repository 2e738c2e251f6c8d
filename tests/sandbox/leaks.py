"""Runs many executions of every kind and compares what the machine holds before and after.

    python tests/sandbox/leaks.py --executions 20000 [--backend namespaces]

Prints one JSON object with what was counted at the start and at the end. The start is taken after
a tenth of a thousand executions, when caches are warm and one worker has been lost.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sim2live.envs.sandbox import Limits, NamespaceSandbox, Sandbox, Snapshot, make_sandbox
from sim2live.errors import SandboxWorkerError

_TESTS = "from solution import double\n\ndef test_it():\n    assert double(2) == 4\n"
_SHORT = Limits(wall_time_s=0.05)
_DAEMON = """
import os
read, write = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.write(write, b"x")
        while True:
            pass
    os._exit(0)
os.read(read, 1)
"""
_FLOOD = "import os\nfor _ in range(40): os.write(1, bytes(65536))"
_LITTER = """
import ctypes, os, socket
libc = ctypes.CDLL(None)
libc.shmget(0, 4096, 0o1600)
os.memfd_create("m")
os.mkfifo("pipe")
socket.socket(socket.AF_UNIX).bind("socket")
for number in range(20):
    open(f"/tmp/{number}", "w").write("x" * 1000)
    open(f"{number}", "w").write("x" * 1000)
"""
_WARM_UP = 300


class Load:
    """A sandbox that lasts, one whose worker is killed again and again, and short-lived ones."""

    def __init__(self, backend: str) -> None:
        self.backend = backend
        self.steady = make_sandbox(backend)
        self.fragile = make_sandbox(backend)
        self.num_lost = 0
        kinds: list[tuple[int, Callable[[], object]]] = [
            (400, self._check),
            (151, self._python),
            (97, self._exec),
            (83, self._snapshot),
            (61, self._litter),
            (53, self._flood),
            (67, self._crash),
            (71, self._daemon),
            (101, self._time_out),
            (103, self._lose_worker),
            (211, self._short_lived),
        ]
        self._every = kinds[1:]
        self._usual = kinds[0][1]

    def run(self, number: int) -> None:
        """Do one execution; which kind follows from its number."""
        for period, kind in reversed(self._every):
            if number % period == 0:
                kind()
                return
        (self._usual, self._python, self._usual, self._exec)[number % 4 if number % 8 < 4 else 0]()

    def close(self) -> None:
        """Close what is open."""
        self.steady.close()
        self.fragile.close()

    def _check(self) -> None:
        self.steady.write_file("solution.py", b"def double(x):\n    return 2 * x\n")
        assert self.steady.check(_TESTS).is_ok

    def _python(self) -> None:
        assert self.steady.python("print('x' * 1000)").is_ok

    def _exec(self) -> None:
        assert self.steady.exec(["true"]).is_ok

    def _snapshot(self) -> None:
        before = self.steady.snapshot()
        self.steady.python("open('new', 'w').write('x')")
        self.steady.restore(before)

    def _litter(self) -> None:
        self.steady.python(_LITTER)
        self.steady.restore(Snapshot(files={}))

    def _flood(self) -> None:
        assert self.steady.python(_FLOOD).is_truncated

    def _crash(self) -> None:
        assert self.steady.python("import os; os.kill(os.getpid(), 11)").signal == signal.SIGSEGV

    def _daemon(self) -> None:
        assert self.steady.python(_DAEMON).is_ok

    def _time_out(self) -> None:
        result = self.steady.python("import time; time.sleep(9)", limits=_SHORT)
        assert result.limit == "wall_time"

    def _lose_worker(self) -> None:
        assert self.fragile.python("1").is_ok
        if isinstance(self.fragile, NamespaceSandbox) and self.fragile.worker_pid:
            os.kill(self.fragile.worker_pid, signal.SIGKILL)
            with contextlib.suppress(SandboxWorkerError):
                for _ in range(3):  # it may still have answered before the signal came
                    self.fragile.python("1")
                raise AssertionError("a killed worker went unnoticed")
            self.num_lost += 1
        assert self.fragile.python("1").is_ok

    def _short_lived(self) -> None:
        with make_sandbox(self.backend) as short:
            assert short.python("1").is_ok


def main() -> None:
    """Count, run, count again, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--executions", type=int, default=20_000)
    parser.add_argument("--backend", default="namespaces")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tempfile.tempdir = folder  # so that what is forgotten there can be counted
        load = Load(arguments.backend)
        for number in range(_WARM_UP):
            load.run(number)
        start_s, start = time.monotonic(), _settled(load.steady, folder, None)
        for number in range(arguments.executions):
            load.run(number)
        duration_s = time.monotonic() - start_s
        end = _settled(load.steady, folder, start)
        load.close()
        after = {"processes": len(_descendants(os.getpid())), "files": len(os.listdir(folder))}
    print(
        json.dumps(
            {
                "executions": arguments.executions,
                "duration_s": round(duration_s, 1),
                "workers_lost": load.num_lost,
                "start": start,
                "end": end,
                "after_close": after,
            }
        )
    )


def _settled(sandbox: Sandbox, folder: str, wanted: dict[str, Any] | None) -> dict[str, Any]:
    """Count, giving what is just ending a moment: until it is as wanted, or as a moment ago."""
    deadline = time.monotonic() + 3.0
    counted = _count(sandbox, folder)
    while time.monotonic() < deadline:
        time.sleep(0.1)
        before, counted = counted, _count(sandbox, folder)
        aim = wanted or before
        if all(counted[name] == aim[name] for name in counted if "memory" not in name):
            break
    return counted


def _count(sandbox: Sandbox, folder: str) -> dict[str, int]:
    own = os.getpid()
    family = [own, *_descendants(own)]
    server = getattr(sandbox, "worker_pid", None)
    of_server = [server, *_descendants(server)][:2] if server else []
    return {
        "processes": len(family),
        "zombies": sum(_state(pid) == "Z" for pid in family),
        "threads": sum(_listed(pid, "task") for pid in family),
        "descriptors": _listed(own, "fd"),
        "descriptors of the server": sum(_listed(pid, "fd") for pid in of_server),
        "mounts": sum(not _is_engines(line) for line in _lines(f"/proc/{own}/mountinfo")),
        "mounts of the server": sum(len(_lines(f"/proc/{pid}/mountinfo")) for pid in of_server),
        "cgroups": sum(_is_counted(path, family) for path, _, _ in os.walk("/sys/fs/cgroup")),
        "System V segments": len(_lines("/proc/sysvipc/shm")),
        "files in the temporary folder": len(os.listdir(folder)),
        "memory": _resident_bytes(own),
        "memory of the server": sum(map(_resident_bytes, of_server)),
    }


def _is_engines(text: str) -> bool:
    """Say whether a mount or a control group is one that a container engine comes and goes with."""
    return any(f"{engine}/" in text for engine in ("docker", "containerd", "containers", "netns"))


def _is_counted(group: str, family: list[int]) -> bool:
    """Say whether a control group is not one of an engine, or of another's living sandbox."""
    words = os.path.basename(group).split("-")
    is_sandbox = words[0] == "sim2live" and len(words) > 1 and words[1].isdigit()
    is_others = is_sandbox and int(words[1]) not in family and bool(_stat(int(words[1])))
    return not is_others and not _is_engines(group)


def _descendants(pid: int) -> list[int]:
    parents: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and (fields := _stat(int(name))):
            parents.setdefault(int(fields[1]), []).append(int(name))
    found, waiting = [], [pid]
    while waiting:
        inner = parents.get(waiting.pop(0), [])
        found += inner
        waiting += inner
    return found


def _stat(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return []


def _state(pid: int) -> str:
    return (_stat(pid) or ["X"])[0]


def _listed(pid: int, what: str) -> int:
    try:
        return len(os.listdir(f"/proc/{pid}/{what}"))
    except OSError:
        return 0


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []


def _resident_bytes(pid: int) -> int:
    for line in _lines(f"/proc/{pid}/status"):
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0


if __name__ == "__main__":
    main()

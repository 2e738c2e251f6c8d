"""Control groups: where one may be made, what it stops, and that it goes away."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sim2live.envs.sandbox import ExecResult, Limits, NamespaceSandbox, cgroups
from sim2live.envs.sandbox.cgroups import Place, find_places
from sim2live.envs.sandbox.namespaces import missing_isolation
from sim2live.errors import SandboxWorkerError

_SMALL = Limits(memory_bytes=64 << 20, disk_bytes=8 << 20, processes=12, wall_time_s=20.0)
_HYBRID = """\
23 1 254:0 / / rw - ext4 /dev/root rw
31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu
35 31 0:32 {root} {folder}/memory rw - cgroup cgroup rw,memory
40 31 0:36 / {folder}/pids rw - cgroup cgroup rw,pids
"""


def _unified(tmp_path: Path, *, handed: str, own: str, limits: str = "max") -> list[Place]:
    folder = Path(f"{tmp_path}{own}")
    folder.mkdir(parents=True, exist_ok=True)
    (tmp_path / "cgroup.subtree_control").write_text("cpu\n")
    (folder.parent / "cgroup.subtree_control").write_text(f"{handed}\n")
    for kind in ("max", "high"):
        (folder / f"memory.{kind}").write_text(f"{limits}\n")
    mounts = f"30 23 0:26 / {tmp_path} rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
    return find_places(mounts, f"0::{own}\n")


def test_in_version_1_the_group_is_made_below_the_own_one_of_each_controller() -> None:
    mounts = _HYBRID.format(root="/", folder="/c")
    found = find_places(mounts, "8:pids:/\n4:memory:/outer/inner\n1:cpu:/x\n0::/\n")
    assert found == [Place("memory", 1, "/c/memory/outer/inner"), Place("pids", 1, "/c/pids")]


def test_a_mount_that_shows_a_part_of_the_tree_is_understood() -> None:
    mounts = _HYBRID.format(root="/docker/abc", folder="/c")
    found = find_places(mounts, "8:pids:/p\n4:memory:/docker/abc/job\n")
    assert found == [Place("memory", 1, "/c/memory/job"), Place("pids", 1, "/c/pids/p")]
    assert find_places(mounts, "4:memory:/docker/abcd\n") == []


def test_in_version_2_it_is_a_sibling_that_escapes_no_limit(tmp_path: Path) -> None:
    own = "/user.slice/session.scope"
    parent = str(tmp_path / "user.slice")
    both = [Place("memory", 2, parent), Place("pids", 2, parent)]
    assert _unified(tmp_path, handed="cpu memory pids", own=own) == both
    assert _unified(tmp_path, handed="memory", own=own) == both[:1]
    assert _unified(tmp_path, handed="cpu pids", own=own) == both[1:]
    assert _unified(tmp_path, handed="cpu memory pids", own=own, limits="1000") == []


def test_where_nothing_is_handed_down_or_mounted_there_is_no_place(tmp_path: Path) -> None:
    assert find_places(f"30 23 0:26 / {tmp_path} rw - cgroup2 none rw\n", "0::/\n") == []
    assert find_places("", "0::/\n") == []


def test_a_group_that_cannot_be_made_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):  # an ordinary folder has no controls
        cgroups.Group([Place("memory", 1, str(tmp_path))], "sim2live-0-0")
    assert list(tmp_path.iterdir()) == []


def test_groups_of_the_dead_are_swept_and_those_of_the_living_are_kept(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    own = cgroups._start_of(os.getpid())
    living = [f"sim2live-{os.getpid()}-{own}", "other-1-1", "docker", "sim2live-x"]
    dead = [f"sim2live-{ended.pid}-77", f"sim2live-{os.getpid()}-1"]
    for name in [*living, *dead]:
        (tmp_path / name).mkdir()
    cgroups.sweep(str(tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(living)


@pytest.fixture
def sandbox() -> Iterator[NamespaceSandbox]:
    if missing := missing_isolation():
        pytest.skip(f"no isolation on this machine: {missing}")
    with NamespaceSandbox(_SMALL) as made:
        assert made.python("1").is_ok
        if not cgroups.describe(made.control_group).get("memory"):
            pytest.skip("no control group with a memory controller can be made here; try as root")
        yield made


def _files(sandbox: NamespaceSandbox, *names: str) -> str:
    """Return the first of these files of the group that is there."""
    for folder in sandbox.control_group:
        for name in names:
            path = Path(folder, name)
            if path.exists():
                return path.read_text()
    raise AssertionError(names)


def _num_killed(sandbox: NamespaceSandbox) -> int:
    text = _files(sandbox, "memory.events", "memory.oom_control")
    return int(text.partition("oom_kill ")[2].split()[0])


def test_bounds_follow_the_limits_of_the_job(sandbox: NamespaceSandbox) -> None:
    small = cgroups.describe(sandbox.control_group)
    assert 64 << 20 < small["memory"] < (64 + 3 * 8 + 48 + 40) << 20
    assert sandbox.python("1", limits=Limits(memory_bytes=256 << 20)).is_ok
    large = cgroups.describe(sandbox.control_group)
    assert large["memory"] - small["memory"] >= (256 - 64) << 20
    assert sandbox.python("1").is_ok
    again = cgroups.describe(sandbox.control_group)
    assert abs(again["memory"] - small["memory"]) < 1 << 20
    if "pids" in small:
        assert large["pids"] - small["pids"] == Limits().processes - _SMALL.processes


def test_the_server_is_outside_and_every_program_inside(sandbox: NamespaceSandbox) -> None:
    members = _files(sandbox, "cgroup.procs").split()
    assert members and str(sandbox.worker_pid) not in members
    told = sandbox.python("print(open('/proc/self/cgroup').read())").stdout.decode()
    assert "sim2live" not in told  # it sees no group above its own
    result = sandbox.python("print(open('/proc/self/oom_score_adj').read())")
    assert int(result.stdout) == 1000


_BOMB = """
import os, time
open("ready", "w").close()
for _ in range(10):
    if os.fork() == 0:
        time.sleep(0.2)
        held = bytearray(b"x") * (30 << 20)
        time.sleep(15)
        os._exit(0)
time.sleep(16)
"""


def _run_unwatched(sandbox: NamespaceSandbox, source: str) -> ExecResult:
    """Run a program while the server, which would look at its memory, is stopped.

    Goes on when the kernel has killed something.
    """
    results: list[ExecResult] = []
    area, server = sandbox._area(), sandbox.worker_pid
    assert server is not None
    thread = threading.Thread(target=lambda: results.append(sandbox.python(source)))
    thread.start()
    deadline = time.monotonic() + 10.0
    try:
        while time.monotonic() < deadline:
            with contextlib.suppress(FileNotFoundError):
                os.stat("ready", dir_fd=area.fd)
                break
        os.kill(server, signal.SIGSTOP)
        while not _num_killed(sandbox) and time.monotonic() < deadline:
            time.sleep(0.01)
    finally:
        os.kill(server, signal.SIGCONT)
        thread.join()
    return results[0]


def test_the_kernel_stops_what_grows_while_nobody_looks(sandbox: NamespaceSandbox) -> None:
    server = sandbox.worker_pid
    result = _run_unwatched(sandbox, _BOMB)
    assert _num_killed(sandbox) > 0
    assert result.limit == "memory"
    with contextlib.suppress(AssertionError):  # version 2 has had it only since Linux 5.19
        peak = int(_files(sandbox, "memory.max_usage_in_bytes", "memory.peak"))
        assert peak <= cgroups.describe(sandbox.control_group)["memory"]
    assert sandbox.python("print('goes on')").stdout == b"goes on\n"
    assert sandbox.worker_pid == server, "the forker was killed instead of a program"


def test_a_program_that_the_kernel_kills_has_hit_the_limit_of_memory(
    sandbox: NamespaceSandbox,
) -> None:
    lone = """
import os, time
open("ready", "w").close()
time.sleep(0.2)
children = []
for _ in range(8):
    read, write = os.pipe()
    if os.fork() == 0:
        held = bytearray(b"x") * (30 << 20)
        os.write(write, b"x")
        time.sleep(20)
        os._exit(0)
    os.close(write)
    if not os.read(read, 1):
        os.kill(os.getpid(), 9)  # the end of a tree that has lost a child so
"""
    result = _run_unwatched(sandbox, lone)
    assert (result.limit, result.exit_code) == ("memory", None)
    # The next one is not blamed for it, even if it is killed for another reason.
    again = sandbox.python("import os; os.kill(os.getpid(), 9)")
    assert (again.limit, again.signal) == (None, signal.SIGKILL)


def test_it_is_gone_after_close(sandbox: NamespaceSandbox) -> None:
    folders = sandbox.control_group
    assert all(os.path.isdir(folder) for folder in folders)
    sandbox.close()
    assert not any(os.path.exists(folder) for folder in folders)


def test_it_is_gone_after_the_death_of_the_server(sandbox: NamespaceSandbox) -> None:
    folders, server = sandbox.control_group, sandbox.worker_pid
    assert server is not None
    os.kill(server, signal.SIGKILL)
    with pytest.raises(SandboxWorkerError):
        for _ in range(3):  # it may still have answered before the signal came
            sandbox.python("1")
    assert not any(os.path.exists(folder) for folder in folders)


def test_it_is_gone_after_the_death_of_the_caller(sandbox: NamespaceSandbox) -> None:
    caller = """
import os
from sim2live.envs.sandbox import NamespaceSandbox
sandbox = NamespaceSandbox()
sandbox.python("1")
print(*sandbox.control_group, flush=True)
os.kill(os.getpid(), 9)
"""
    told = subprocess.run([sys.executable, "-c", caller], capture_output=True, check=False).stdout
    folders = told.decode().split()
    assert folders
    deadline = time.monotonic() + 10.0
    while any(map(os.path.exists, folders)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not any(map(os.path.exists, folders))


def test_what_is_left_when_both_are_killed_is_removed_by_the_next(
    sandbox: NamespaceSandbox,
) -> None:
    caller = """
import os
from sim2live.envs.sandbox import NamespaceSandbox
sandbox = NamespaceSandbox()
sandbox.python("1")
print(*sandbox.control_group, flush=True)
os.kill(sandbox.worker_pid, 19)
os.kill(sandbox.worker_pid, 9)
os.kill(os.getpid(), 9)
"""
    told = subprocess.run([sys.executable, "-c", caller], capture_output=True, check=False).stdout
    folders = told.decode().split()
    assert folders
    deadline = time.monotonic() + 10.0
    while any(map(os.path.exists, folders)) and time.monotonic() < deadline:
        with NamespaceSandbox() as another:
            another.python("1")
    assert not any(map(os.path.exists, folders))

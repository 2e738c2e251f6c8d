"""The docker sandbox on a real daemon; skipped where none answers, unless CI says it must."""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import io
import json
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import tarfile
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from hypothesis import given
from hypothesis import strategies as st

from sim2live.envs.sandbox import Limits, Snapshot, check_sandbox, docker_gauges, docker_source
from sim2live.envs.sandbox import docker_container as container_module
from sim2live.envs.sandbox.docker_backend import DockerSandbox
from sim2live.envs.sandbox.docker_errors import DEFAULT_IMAGE, missing_docker, missing_image, using
from sim2live.envs.sandbox.docker_files import pack, unpack
from sim2live.envs.sandbox.docker_image import build_image, split_name
from sim2live.envs.sandbox.docker_owner import cleanup_containers, is_orphan, owner_labels
from sim2live.envs.sandbox.docker_pool import ContainerPool
from sim2live.errors import SandboxError, SandboxUnavailableError, SandboxWorkerError

SMALL = Limits(memory_bytes=64 << 20, disk_bytes=2 << 20, processes=8)
SOCKET = "/var/run/docker.sock"


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """A client of a daemon that has the image."""
    with contextlib.ExitStack() as stack:
        try:
            given = stack.enter_context(using(None))
            known = given.api.images(DEFAULT_IMAGE)
            missing = None if known else missing_image(DEFAULT_IMAGE)
        except SandboxError as error:
            missing = str(error)
        if missing and os.environ.get("SIM2LIVE_REQUIRE_DOCKER") == "1":
            pytest.fail(f"docker is required here: {missing}")
        if missing:
            pytest.skip(missing)
        yield given


@pytest.fixture(scope="module")
def shared(client: Any) -> Iterator[DockerSandbox]:
    with DockerSandbox(client=client) as made:
        yield made


@pytest.fixture
def sandbox(shared: DockerSandbox) -> DockerSandbox:
    shared.restore(Snapshot(files={}))
    return shared


@pytest.fixture(scope="module")
def small(client: Any) -> Iterator[DockerSandbox]:
    with DockerSandbox(SMALL, client=client) as made:
        yield made


def _wait_until_gone(client: Any, container_id: str) -> None:
    from docker.errors import NotFound

    with contextlib.suppress(NotFound):
        client.api.wait(container_id, timeout=20, condition="removed")


def _exists(client: Any, container_id: str) -> bool:
    return bool(client.api.containers(all=True, filters={"id": container_id}))


def _programs(client: Any, container_id: str | None) -> list[str]:
    """Return the commands that run in a container as any user but root, as the daemon sees them."""
    rows = client.api.top(container_id)["Processes"]
    return [row[-1] for row in rows if row[0] not in ("root", "0")]


# What needs no daemon.


class _FailingApi:
    """Has every method of the SDK's low-level client; each raises the same error."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def __getattr__(self, name: str) -> Any:
        def call(*args: object, **kwargs: object) -> None:
            raise self._error

        return call


class _Client:
    def __init__(self, api: Any) -> None:
        self.api = api

    def close(self) -> None:
        pass


def _api_error(status: int, text: str) -> Exception:
    from docker.errors import APIError, ImageNotFound

    response = requests.Response()
    response.status_code = status
    kind = ImageNotFound if "No such image" in text else APIError
    return kind("client error", response, text)


_AWAY = "('Connection aborted.', {})"


@pytest.mark.parametrize(
    ("error", "kind", "advice"),
    [
        (
            requests.ConnectionError(_AWAY.format("FileNotFoundError(2, 'No such file')")),
            SandboxUnavailableError,
            "no Docker daemon answers at .* Start it",
        ),
        (
            requests.ConnectionError(_AWAY.format("ConnectionRefusedError(111, 'refused')")),
            SandboxUnavailableError,
            "no Docker daemon answers at .* Start it",
        ),
        (
            requests.ConnectionError(_AWAY.format("PermissionError(13, 'Permission denied')")),
            SandboxUnavailableError,
            "Add the user to the group `docker`",
        ),
        (
            requests.ConnectionError(_AWAY.format("RemoteDisconnected('Remote end closed')")),
            SandboxWorkerError,
            "went away in the middle",
        ),
        (requests.ReadTimeout("read timeout=30"), SandboxWorkerError, "did not answer in 30 s"),
        (
            _api_error(500, "mkdir /var/lib/docker/overlay2/x: no space left on device"),
            SandboxUnavailableError,
            "docker system prune",
        ),
        (_api_error(500, "something odd"), SandboxWorkerError, "daemon says: something odd"),
        (OSError(9, "Bad file descriptor"), SandboxWorkerError, "Bad file descriptor"),
    ],
)
def test_errors_of_the_sdk_say_what_to_do(
    error: Exception, kind: type[SandboxError], advice: str
) -> None:
    client = _Client(_FailingApi(error))
    for call in (
        lambda: DockerSandbox(client=client).exec(["true"]),
        lambda: cleanup_containers(client=client),
        lambda: build_image(client=client),
    ):
        with pytest.raises(SandboxError, match=advice) as raised:
            call()
        assert type(raised.value) is kind
        assert raised.value.__cause__ is error


def test_a_missing_image_is_told_with_how_to_make_it() -> None:
    client = _Client(_FailingApi(_api_error(404, "No such image: x")))
    with pytest.raises(SandboxUnavailableError, match="docker_image --pytest"):
        DockerSandbox(client=client).exec(["true"])


def test_a_missing_daemon_is_told_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    assert "no Docker daemon answers at unix:///" in (missing_docker() or "")
    with DockerSandbox() as sandbox:
        for call in (lambda: sandbox.exec(["true"]), sandbox.list_files):
            with pytest.raises(SandboxUnavailableError, match=r"none\.sock"):
                call()


def test_owners_are_told_apart() -> None:
    labels = owner_labels()
    key = "sim2live.sandbox."
    assert not is_orphan(labels)
    assert is_orphan({**labels, f"{key}start": "1"})  # the number belongs to someone else now
    assert is_orphan({**labels, f"{key}boot": "an earlier boot"})
    assert not is_orphan({**labels, f"{key}start": "1", f"{key}pids": "another namespace"})
    assert not is_orphan({**labels, f"{key}boot": "x", f"{key}host": "another machine"})
    assert not is_orphan({})


class _Listing:
    """A daemon with containers of a living and of a dead owner."""

    def __init__(self) -> None:
        living = owner_labels()
        dead = {**living, "sim2live.sandbox.start": "1"}
        self.held = {"living": living, "dead": dead}

    def containers(self, **_: object) -> list[dict[str, Any]]:
        return [
            {"Id": name, "Names": [f"/{name}"], "Labels": labels}
            for name, labels in self.held.items()
        ]

    def remove_container(self, name: str, **_: object) -> None:
        del self.held[name]


def test_cleanup_spares_the_living_unless_told() -> None:
    api = _Listing()
    assert cleanup_containers(client=_Client(api)) == ["dead"]
    assert cleanup_containers(client=_Client(api)) == []
    assert cleanup_containers(client=_Client(api), should_remove_all=True) == ["living"]


def test_the_server_needs_nothing_but_the_standard_library() -> None:
    # As in an image: no package of ours can be imported, only what is sent.
    code = docker_source.BOOT.replace("module.main(*bundle['arguments'])", "print(module.AREA)")
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code],
        input=docker_source.bundle(1),
        capture_output=True,
        check=True,
        cwd="/",
    )
    assert (done.stdout, done.stderr) == (b"/area\n", b"")


@pytest.mark.parametrize("is_unified", [True, False])
def test_both_versions_of_control_groups_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_unified: bool
) -> None:
    if is_unified:
        files = {
            "cgroup.controllers": "cpu memory pids",
            "pids.current": "3\n",
            "memory.stat": "anon 4096\nfile 900000\nshmem 8192\n",
            "memory.events": "low 0\noom 2\noom_kill 1\n",
            "cpu.stat": "usage_usec 2500000\nuser_usec 1\n",
        }
    else:
        files = {
            "pids/pids.current": "3\n",
            "memory/memory.stat": "cache 1\nrss 1\ntotal_rss 4096\ntotal_shmem 8192\n",
            "memory/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n",
            "cpuacct/cpuacct.usage": "2500000000\n",
        }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(docker_gauges, "_ROOT", str(tmp_path))
    gauges = docker_gauges.Gauges()
    read = (gauges.tasks(), gauges.held_bytes(), gauges.cpu_s(), gauges.num_killed())
    gauges.close()
    assert read == (3, 12288, 2.5, 1)
    missing = next(name for name in files if "pids" in name)
    (tmp_path / missing).unlink()
    with pytest.raises(OSError, match="no control group `pids`"):
        docker_gauges.Gauges()


@given(st.dictionaries(st.text(max_size=5), st.binary(max_size=20)))
def test_files_survive_being_packed(files: dict[str, bytes]) -> None:
    header, blob = pack(files)
    assert unpack(json.loads(json.dumps(header)), blob) == files


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("name", ("name", "latest")),
        ("name:tag", ("name", "tag")),
        ("host:5000/name", ("host:5000/name", "latest")),
        ("host:5000/name:tag", ("host:5000/name", "tag")),
    ],
)
def test_names_of_images_are_split(name: str, parts: tuple[str, str]) -> None:
    assert split_name(name) == parts


def test_making_an_image_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    client = _Client(_FailingApi(_api_error(404, "No such image: x")))
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(SandboxUnavailableError, match="apt-get install debootstrap"):
        build_image("x:y", client=client)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(SandboxUnavailableError, match="needs root"):
        build_image("x:y", client=client)


# What needs one.


def test_conformance(sandbox: DockerSandbox) -> None:
    check_sandbox(sandbox)


def test_a_program_has_no_rights(sandbox: DockerSandbox) -> None:
    status = sandbox.exec(["cat", "/proc/self/status"]).text
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
        assert int(fields[name], 16) == 0
    assert (fields["NoNewPrivs"], fields["Seccomp"]) == ("1", "2")
    assert "0" not in fields["Uid"].split() + fields["Gid"].split()
    assert fields["Groups"].strip() == ""


def test_only_its_own_folders_can_be_written(sandbox: DockerSandbox) -> None:
    source = """
import os
for folder, _, _ in os.walk("/"):
    if folder.startswith(("/proc", "/sys")):
        continue
    try:
        open(os.path.join(folder, "x"), "w").close()
        print(folder)
    except OSError:
        pass
"""
    assert set(sandbox.python(source).stdout.split()) == {b"/tmp", b"/dev/shm", b"/area"}


def test_there_is_no_network(sandbox: DockerSandbox) -> None:
    source = """
import os, socket
print(os.listdir("/sys/class/net"))
for family, address in ((socket.AF_INET, ("172.17.0.1", 1)), (socket.AF_INET, ("1.1.1.1", 53))):
    try:
        socket.socket(family, socket.SOCK_DGRAM).connect(address)
        print("reached", address)
    except OSError:
        pass
"""
    assert sandbox.python(source).stdout == b"['lo']\n"


def test_the_server_cannot_be_reached(sandbox: DockerSandbox) -> None:
    source = """
import os, signal
for pid in sorted(int(name) for name in os.listdir("/proc") if name.isdigit()):
    if os.stat(f"/proc/{pid}").st_uid == os.getuid():
        continue
    print("other")
    for number in (signal.SIGKILL, signal.SIGSTOP, 0):
        try:
            os.kill(pid, number)
            print("signalled", pid)
        except PermissionError:
            pass
    for path in ("mem", "fd", "environ", "cwd/x", "root/x", "maps"):
        try:
            os.listdir(f"/proc/{pid}/fd") if path == "fd" else open(f"/proc/{pid}/{path}").read(1)
            print("read", pid, path)
        except OSError:
            pass
"""
    words = sandbox.python(source).stdout.split()
    assert set(words) == {b"other"}
    assert len(words) >= 3  # init, server, handler


def test_daemons_die_with_their_execution(sandbox: DockerSandbox, client: Any) -> None:
    source = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.setsid()
        open("alive", "w").close()
        os.execvp("sleep", ["sleep", "1234"])
    os._exit(0)
while not os.path.exists("alive"):
    time.sleep(0.001)
time.sleep(float(sys.stdin.read() or 0))
"""
    sandbox.write_file("daemon.py", source.encode())
    assert sandbox.exec(["python3", "daemon.py"]).is_ok
    assert sandbox.list_files() == ["alive", "daemon.py"]
    late = sandbox.exec(["python3", "daemon.py"], stdin=b"60", limits=Limits(wall_time_s=0.5))
    assert late.limit == "wall_time"
    assert _programs(client, sandbox.container_id) == []


def test_a_fork_bomb_ends_and_leaves_nothing(small: DockerSandbox, client: Any) -> None:
    source = """
import os
while True:
    try:
        os.fork()
    except OSError:
        pass
"""
    result = small.python(source, limits=Limits(wall_time_s=0.7, processes=8))
    assert result.limit in ("wall_time", "cpu_time", "processes")
    assert small.exec(["echo", "well"]).stdout == b"well\n"
    assert _programs(client, small.container_id) == []


def test_the_number_of_tasks_is_bounded(small: DockerSandbox) -> None:
    source = """
import os, time
made = 0
try:
    while made < 50:
        if os.fork() == 0:
            time.sleep(60)
        made += 1
except OSError:
    print(made)
"""
    for processes in (8, 4):  # the program itself is one of them
        result = small.python(source, limits=Limits(processes=processes))
        assert result.stdout == b"%d\n" % (processes - 1)


def test_memory_of_many_processes_counts_together(small: DockerSandbox) -> None:
    source = """
import os, time
for _ in range(6):
    if os.fork() == 0:
        held = bytearray(24 << 20)
        time.sleep(60)
time.sleep(60)
"""
    container = small.container_id
    result = small.python(source, limits=SMALL)
    assert result.limit == "memory"
    assert small.exec(["echo", "well"]).is_ok
    assert small.container_id == container


@pytest.mark.parametrize("how", ["mmap.mmap(-1, size)", "open(os.memfd_create('m'), 'wb')"])
def test_memory_that_no_process_has_as_its_own_counts(small: DockerSandbox, how: str) -> None:
    source = f"""
import mmap, os, time
size = 16 << 20
held = []
for _ in range(8):
    held.append({how})
    held[-1].write(bytes(size))
time.sleep(60)
"""
    container = small.container_id
    assert small.python(source, limits=SMALL).limit == "memory"
    assert small.container_id == container


@pytest.mark.parametrize("folder", ["/tmp", "/dev/shm", "/area"])
def test_memory_file_systems_are_bounded(small: DockerSandbox, folder: str) -> None:
    source = f"""
import itertools
for number in itertools.count():
    open(f"{folder}/{{number}}", "wb").write(bytes(100_000))
"""
    result = small.python(source)
    assert (result.limit, result.is_ok) == ("disk", False)
    small.restore(Snapshot(files={}))
    assert small.python("open('/tmp/x', 'wb').write(bytes(1_000_000))").is_ok


def test_the_number_of_files_is_bounded(small: DockerSandbox) -> None:
    source = "for n in range(10**6): open(f'/tmp/{n}', 'w').close()"
    result = small.python(source)
    assert (result.limit, result.is_ok) == ("disk", False)


def test_nothing_but_the_work_area_outlives_an_execution(sandbox: DockerSandbox) -> None:
    leave = """
import ctypes, os, socket
for folder in ("/tmp", "/dev/shm"):
    os.makedirs(f"{folder}/deep/er")
    open(f"{folder}/deep/er/file", "w").close()
    os.chmod(f"{folder}/deep", 0)
    os.chmod(folder, 0)
libc = ctypes.CDLL(None, use_errno=True)
print(libc.shmget(7, 4096, 0o1666), libc.semget(7, 1, 0o1666), libc.msgget(7, 0o1666))
print(libc.mq_open(b"/queue", 0o102, 0o666, None))
"""
    assert sandbox.python(leave).stdout == b"-1 -1 -1\n-1\n"
    look = "import os; print([os.listdir(f) for f in ('/tmp', '/dev/shm')])"
    assert sandbox.python(look).stdout == b"[[], []]\n"


def test_a_program_cannot_lock_the_caller_out(sandbox: DockerSandbox) -> None:
    sandbox.exec(["sh", "-c", "mkdir -p a/b; echo hi > a/b/c; chmod 0 a/b/c a/b a ."])
    assert sandbox.read_file("a/b/c") == b"hi\n"
    sandbox.exec(["sh", "-c", "mkfifo pipe; ln -s /etc/hostname link"])
    for name in ("pipe", "link"):
        with pytest.raises(PermissionError):
            sandbox.read_file(name)
    assert sandbox.list_files() == ["a/b/c"]


def test_no_earlier_request_is_in_the_memory_of_a_program(sandbox: DockerSandbox) -> None:
    secret = uuid.uuid4().hex
    assert sandbox.check(f"def test_a(): assert {secret!r}").is_ok
    sandbox.write_file("secret.txt", secret.encode())
    sandbox.read_file("secret.txt")
    sandbox.remove_file("secret.txt")
    sandbox.exec(["cat"], stdin=secret.encode())
    search = f"""
import re
mine = "{secret[::-1]}"
wanted = [mine[::-1].encode(), b"needle" + b"-here"]
held = bytes(wanted[1])
found = [0, 0]
memory = open("/proc/self/mem", "rb", buffering=0)
for line in open("/proc/self/maps"):
    span, rights = line.split()[:2]
    if rights.startswith("rw"):
        start, end = (int(text, 16) for text in span.split("-"))
        try:
            memory.seek(start)
            data = memory.read(end - start)
        except OSError:
            continue
        for number, word in enumerate(wanted):
            found[number] += data.count(word)
            del word
print(found)
"""
    # The needle shows that the search works; of the secret it finds what it holds itself.
    control = sandbox.python(search.replace(secret[::-1], uuid.uuid4().hex))
    num_secret, num_needle = eval(sandbox.python(search).stdout)
    assert num_needle > 0
    assert num_secret == eval(control.stdout)[0]


_PYTEST_FILES = {
    "pair.py": b"def pair(x): return x, x",
    "test_pair.py": b"""
import pytest
from pair import pair

@pytest.fixture
def one(): return 1

@pytest.mark.parametrize("x", [1, 2])
def test_pair(x, one, tmp_path): assert pair(x) == (one, one)

@pytest.mark.skip
def test_skipped(): pass
""",
}


def test_a_real_pytest_runs(sandbox: DockerSandbox) -> None:
    sandbox.restore(Snapshot(files=_PYTEST_FILES))
    for _ in range(3):  # the first loads pytest, the others find it loaded
        result = sandbox.pytest(["-q"])
        assert dict(result.outcomes) == {
            "test_pair.py::test_pair[1]": "passed",
            "test_pair.py::test_pair[2]": "failed",
            "test_pair.py::test_skipped": "skipped",
        }
        assert "assert (2, 2) == (1, 1)" in result.messages["test_pair.py::test_pair[2]"]
        assert b"1 failed, 1 passed, 1 skipped" in result.execution.stdout
    # Other programs do not see it: they have the standard library and the work area.
    look = "import sys; print([m for m in sys.modules if m.startswith(('_py', 'plug', 'sandbox'))])"
    assert sandbox.python(look).stdout == b"[]\n"
    assert not sandbox.python("import pytest").is_ok


def test_an_image_without_pytest_is_told(client: Any) -> None:
    name = f"sim2live-test:{uuid.uuid4().hex[:8]}"
    repository, tag = name.split(":")
    script = "rm -rf /usr/local/lib/python3*/dist-packages/*"
    alone = client.api.create_host_config(network_mode="none")
    base = client.api.create_container(DEFAULT_IMAGE, ["sh", "-c", script], host_config=alone)["Id"]
    client.api.start(base)
    client.api.wait(base, timeout=20)
    client.api.commit(base, repository=repository, tag=tag)
    client.api.remove_container(base)
    try:
        with DockerSandbox(SMALL, image=name, client=client) as sandbox:
            with pytest.raises(SandboxUnavailableError, match=r"no pytest.*docker_image --pytest"):
                sandbox.pytest()
            assert sandbox.exec(["echo", "well"]).is_ok
    finally:
        client.api.remove_image(name, force=True)


def test_more_than_the_container_was_made_for_gets_a_larger_one(client: Any) -> None:
    with DockerSandbox(SMALL, client=client) as sandbox:
        sandbox.write_file("kept.txt", b"content")
        before = sandbox.container_id
        fill = "for n in range(30): open(str(n), 'wb').write(bytes(100_000))"
        assert sandbox.python(fill).limit == "disk"
        assert sandbox.python(fill, limits=Limits(disk_bytes=8 << 20)).is_ok
        assert sandbox.read_file("kept.txt") == b"content"
        assert sandbox.container_id != before
        assert not _exists(client, before or "")


def test_a_dead_container_is_an_error_and_is_replaced(client: Any) -> None:
    with DockerSandbox(SMALL, client=client) as sandbox:
        sandbox.write_file("lost.txt", b"")
        before = sandbox.container_id or ""
        client.api.kill(before)
        with pytest.raises(SandboxWorkerError, match="files are lost"):
            sandbox.exec(["true"])
        assert sandbox.exec(["echo", "well"]).stdout == b"well\n"
        assert sandbox.list_files() == []
        assert not _exists(client, before)


def test_a_hanging_container_is_an_error_not_a_hang(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(container_module, "_GRACE_S", 0.3)
    with DockerSandbox(SMALL, client=client) as sandbox:
        sandbox.exec(["true"])
        paused = sandbox.container_id or ""
        client.api.pause(paused)
        with pytest.raises(SandboxWorkerError, match="died or hung"):
            sandbox.exec(["true"], limits=dataclasses.replace(SMALL, wall_time_s=0.2))
        assert not _exists(client, paused)


class _Relay:
    """Stands between the SDK and the daemon, and can go away like a daemon that dies."""

    def __init__(self, path: Path) -> None:
        self.url = f"unix://{path}"
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(path))
        self._listening.listen()
        self._held = [self._listening]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                ours, _ = self._listening.accept()
                daemon = socket.socket(socket.AF_UNIX)
                daemon.connect(SOCKET)
                self._held += [ours, daemon]
                for pair in ((ours, daemon), (daemon, ours)):
                    threading.Thread(target=self._copy, args=pair, daemon=True).start()

    @staticmethod
    def _copy(source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)

    def cut(self) -> None:
        for held in self._held:
            with contextlib.suppress(OSError):
                held.shutdown(socket.SHUT_RDWR)
            held.close()


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # the SDK's, when it cannot connect
def test_a_daemon_that_dies_in_the_middle_is_an_error(client: Any, tmp_path: Path) -> None:
    import docker

    relay = _Relay(tmp_path / "docker.sock")
    through = docker.DockerClient(base_url=relay.url)
    sandbox = DockerSandbox(SMALL, client=through)
    sandbox.exec(["true"])
    container = sandbox.container_id or ""
    threading.Timer(0.2, relay.cut).start()
    with pytest.raises(SandboxWorkerError, match=r"no Docker daemon answers|went away"):
        sandbox.exec(["sleep", "4"])
    with pytest.raises(SandboxError):
        sandbox.exec(["true"])
    sandbox.close()
    through.close()
    gc.collect()
    _wait_until_gone(client, container)  # its server noticed that nobody listens any more


def _use_in_child(sandbox: DockerSandbox, link: Any) -> None:
    sandbox.write_file("child.txt", b"")
    link.send((sandbox.list_files(), sandbox.exec(["cat", "before.txt"]).stdout))
    sandbox.close()


@pytest.mark.parametrize("is_given", [True, False])
def test_a_forked_process_goes_on_with_a_copy(client: Any, is_given: bool) -> None:
    with DockerSandbox(SMALL, client=client if is_given else None) as sandbox:
        sandbox.write_file("before.txt", b"content")
        context = multiprocessing.get_context("fork")
        ours, theirs = context.Pipe()
        child = context.Process(target=_use_in_child, args=(sandbox, theirs))
        child.start()
        assert ours.poll(20)
        assert ours.recv() == (["before.txt", "child.txt"], b"content")
        child.join(20)
        assert child.exitcode == 0
        assert sandbox.list_files() == ["before.txt"]
        assert sandbox.exec(["cat", "before.txt"]).stdout == b"content"


_OWNER = """
import sys
from sim2live.envs.sandbox.docker_backend import DockerSandbox
sandbox = DockerSandbox()
sandbox.exec(["true"])
print(sandbox.container_id, flush=True)
sandbox.exec(["sleep", "1000"]) if sys.argv[1] == "busy" else sys.stdin.read()
"""


@pytest.mark.parametrize("how", ["idle", "busy"])
def test_a_container_ends_when_its_owner_is_killed(client: Any, how: str) -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", _OWNER, how], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert owner.stdin is not None and owner.stdout is not None
    with owner, owner.stdin, owner.stdout:
        container = owner.stdout.readline().decode().strip()
        assert _exists(client, container)
        owner.send_signal(signal.SIGKILL)
    _wait_until_gone(client, container)
    assert not _exists(client, container)


def test_cleanup_removes_what_dead_owners_left(client: Any) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    dead = {**owner_labels(), "sim2live.sandbox.pid": str(ended.pid)}
    elsewhere = {**dead, "sim2live.sandbox.host": "another machine"}
    made = {
        name: client.api.create_container(DEFAULT_IMAGE, ["true"], labels=labels)["Id"]
        for name, labels in (("dead", dead), ("mine", owner_labels()), ("elsewhere", elsewhere))
    }
    try:
        name = client.api.inspect_container(made["dead"])["Name"].lstrip("/")
        assert name in cleanup_containers(client=client)
        assert [key for key, value in made.items() if _exists(client, value)] == [
            "mine",
            "elsewhere",
        ]
    finally:
        for container in made.values():
            with contextlib.suppress(Exception):
                client.api.remove_container(container, force=True)


def test_close_removes_the_container_and_forgetting_it_too(client: Any) -> None:
    sandbox = DockerSandbox(SMALL, client=client)
    sandbox.exec(["true"])
    closed = sandbox.container_id or ""
    sandbox.close()
    assert not _exists(client, closed)
    sandbox = DockerSandbox(SMALL, client=client)
    sandbox.exec(["true"])
    forgotten = sandbox.container_id or ""
    del sandbox
    _wait_until_gone(client, forgotten)


def test_executions_leave_nothing_behind(sandbox: DockerSandbox, client: Any) -> None:
    def counts() -> tuple[int, int, int]:
        inside = sandbox.python("import os; print(len(os.listdir('/proc/self/fd')))")
        fds = len(os.listdir("/proc/self/fd"))
        return int(inside.stdout), fds, len(_programs(client, sandbox.container_id))

    counts()  # opens what the SDK keeps open
    before = counts()
    for _ in range(100):
        sandbox.exec(["sh", "-c", "sleep 9 & echo x > /tmp/x; echo y"])
        sandbox.write_file("a", b"1")
    assert counts() == before


def test_a_pool_hands_out_clean_containers(client: Any) -> None:
    with ContainerPool(1, limits=SMALL, client=client) as pool:
        assert pool.wait_until_full()
        with DockerSandbox(SMALL, pool=pool) as sandbox:
            sandbox.python("open('left', 'w'); open('/tmp/left', 'w'); import os; os.chmod('.', 0)")
            used = sandbox.container_id
            assert pool.wait_until_full()
            pool.close()
        assert not _exists(client, used or "")  # the pool does not want it any more
    with ContainerPool(1, limits=SMALL, client=client) as pool:
        assert pool.wait_until_full()
        ids = []
        for _ in range(2):
            with DockerSandbox(SMALL, pool=pool) as sandbox:
                assert sandbox.list_files() == []
                look = "import os; print(os.listdir('.'), os.listdir('/tmp')); open('left', 'w')"
                assert sandbox.python(look).stdout == b"[] []\n"
                ids.append(sandbox.container_id or "")
        assert pool.wait_until_full()
    assert not any(_exists(client, container) for container in ids)
    with pytest.raises(SandboxError, match="pool of containers is closed"):
        DockerSandbox(SMALL, pool=pool).exec(["true"])


def test_volumes_of_an_image_cannot_be_written(client: Any) -> None:
    name = f"sim2live-test:{uuid.uuid4().hex[:8]}"
    base = client.api.create_container(DEFAULT_IMAGE, ["true"])["Id"]
    repository, tag = name.split(":")
    client.api.commit(base, repository=repository, tag=tag, changes="VOLUME /tmp/../data")
    client.api.remove_container(base)
    try:
        with DockerSandbox(SMALL, image=name, client=client) as sandbox:
            assert not sandbox.exec(["touch", "/data/x"]).is_ok
            volumes = client.api.inspect_container(sandbox.container_id)["Mounts"]
            assert [mount for mount in volumes if mount["Type"] == "volume"] == []
    finally:
        client.api.remove_image(name, force=True)


def test_images_that_will_not_do_are_named(client: Any) -> None:
    with pytest.raises(SandboxUnavailableError, match="has no image `no-such:image`"):
        DockerSandbox(image="no-such:image", client=client).exec(["true"])
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        tar.addfile(tarfile.TarInfo("empty"))
    name = f"sim2live-empty:{uuid.uuid4().hex[:8]}"
    repository, tag = name.split(":")
    client.api.import_image_from_data(data.getvalue(), repository=repository, tag=tag)
    try:
        with pytest.raises(SandboxUnavailableError, match="must be in it as `python3`"):
            DockerSandbox(image=name, client=client).exec(["true"])
        assert client.api.containers(all=True, filters={"ancestor": name}) == []
    finally:
        client.api.remove_image(name, force=True)


def test_many_sandboxes_run_side_by_side(client: Any) -> None:
    answers: dict[int, bytes] = {}

    def use(number: int) -> None:
        with DockerSandbox(SMALL) as sandbox:
            sandbox.write_file("who", b"%d" % number)
            answers[number] = sandbox.exec(["cat", "who"]).stdout

    threads = [threading.Thread(target=use, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {number: b"%d" % number for number in range(3)}

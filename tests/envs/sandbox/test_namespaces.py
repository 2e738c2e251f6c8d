"""Hostile programs against the isolating sandbox."""

from __future__ import annotations

import gc
import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sim2live.envs.sandbox import Limits, NamespaceSandbox, Snapshot, make_sandbox, namespaces
from sim2live.envs.sandbox.namespaces import how_to_enable, missing_isolation
from sim2live.errors import SandboxError, SandboxUnavailableError, SandboxWorkerError


@pytest.fixture(scope="module")
def shared() -> Iterator[NamespaceSandbox]:
    if missing := missing_isolation():
        pytest.skip(f"no isolation on this machine: {missing}")
    with NamespaceSandbox() as made:
        yield made


@pytest.fixture
def sandbox(shared: NamespaceSandbox) -> NamespaceSandbox:
    shared.restore(Snapshot(files={}))
    return shared


def _tell(sandbox: NamespaceSandbox, source: str, **limits: float) -> str:
    chosen = Limits(**limits) if limits else None  # type: ignore[arg-type]
    result = sandbox.python(textwrap.dedent(source), limits=chosen)
    assert result.is_ok, result
    return result.stdout.decode().strip()


def _wait_until_gone(pid: int) -> bool:
    for _ in range(200):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":  # ended; only its parent has not asked yet
            return True
        time.sleep(0.02)
    return False


def test_no_listener_of_the_host_can_be_reached(sandbox: NamespaceSandbox) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        socket.create_connection(("127.0.0.1", port)).close()  # it can be reached from here
        told = _tell(
            sandbox,
            f"""
            import socket
            for address in ("127.0.0.1", "8.8.8.8"):
                try:
                    socket.create_connection((address, {port}), timeout=1)
                    print("connected")
                except OSError as error:
                    print("refused")
            """,
        )
    assert told.split() == ["refused", "refused"]


def test_abstract_sockets_of_the_host_are_out_of_reach(sandbox: NamespaceSandbox) -> None:
    name = f"sandbox-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"\0{name}")
        listener.listen()
        result = sandbox.python(f"import socket; socket.socket(1).connect('\\0{name}')")
    assert b"ConnectionRefusedError" in result.stderr


def test_host_files_are_invisible(sandbox: NamespaceSandbox, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    result = sandbox.exec(["cat", str(secret)])
    assert result.exit_code == 1
    assert b"No such file" in result.stderr
    package = Path(namespaces.__file__).parent
    assert _tell(sandbox, f"import os; print(os.path.exists({str(package)!r}))") == "False"
    assert _tell(sandbox, "print(open('/etc/passwd').read().count(chr(10)))") == "1"
    found = sandbox.exec(["find", "/", "-xdev", "-name", "secret.txt"]).stdout
    assert found == b""


def test_only_the_area_and_tmp_can_be_written(sandbox: NamespaceSandbox) -> None:
    told = _tell(
        sandbox,
        """
        import os, sys
        for folder in ("/", "/usr", "/etc", "/dev", "/bin", os.path.dirname(os.__file__), "/proc",
                       "/tmp", "/area"):
            try:
                open(folder + "/new", "w").close()
                print(folder)
            except OSError:
                pass
        """,
    )
    assert told.split() == ["/tmp", "/area"]
    assert sandbox.list_files() == ["new"]
    assert _tell(sandbox, "import os; print(os.path.exists('/tmp/new'))") == "False"


def test_programs_have_no_rights_and_cannot_get_any(sandbox: NamespaceSandbox) -> None:
    status = dict(
        line.split(":\t", 1)
        for line in _tell(sandbox, "print(open('/proc/self/status').read())").splitlines()
        if ":\t" in line
    )
    assert {status[f"Cap{kind}"] for kind in ("Inh", "Prm", "Eff", "Amb")} == {"0" * 16}
    assert status["NoNewPrivs"] == "1"
    assert set(status["Uid"].split()) == {"65534"}
    for command in (
        ["unshare", "-U", "true"],
        ["unshare", "-m", "true"],
        ["mount", "-t", "tmpfs", "x", "/tmp"],
        ["umount", "/proc"],
        ["chroot", "/", "true"],
        ["mknod", "disk", "b", "8", "0"],
    ):
        assert not sandbox.exec(command).is_ok, command


def test_a_user_namespace_is_refused_by_the_kernel_too(sandbox: NamespaceSandbox) -> None:
    if os.uname().machine != "x86_64":
        pytest.skip("the number of the system call is that of x86_64")
    told = _tell(
        sandbox,
        """
        import ctypes, errno, os
        libc = ctypes.CDLL(None, use_errno=True)
        made = libc.syscall(56, 0x10000000 | 17, 0, 0, 0, 0)  # clone(CLONE_NEWUSER | SIGCHLD)
        if made == 0:
            os._exit(0)
        print(made, errno.errorcode[ctypes.get_errno()])
        """,
    )
    assert told == "-1 ENOSPC"


def test_other_processes_are_invisible(sandbox: NamespaceSandbox) -> None:
    told = _tell(sandbox, "import os; print(*[n for n in os.listdir('/proc') if n.isdigit()])")
    assert set(told.split()) == {"1", _tell(sandbox, "import os; print(os.getpid())")}
    result = sandbox.python(f"import os, signal; os.kill({os.getpid()}, signal.SIGTERM)")
    assert b"ProcessLookupError" in result.stderr


def test_the_init_process_can_be_neither_read_nor_ended(sandbox: NamespaceSandbox) -> None:
    told = _tell(
        sandbox,
        """
        import ctypes, os, signal
        for path in ("/proc/1/mem", "/proc/1/environ", "/proc/1/fd/5"):
            try:
                open(path, "rb").read(1)
                print("read", path)
            except OSError:
                pass
        if ctypes.CDLL(None).ptrace(16, 1, 0, 0) == 0:
            print("traced")
        for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM):
            try:
                os.kill(1, number)
            except PermissionError:
                pass
        print("alive")
        """,
    )
    assert told == "alive"


def test_the_init_can_be_neither_inspected_nor_changed(sandbox: NamespaceSandbox) -> None:
    told = _tell(
        sandbox,
        """
        import os, resource, signal
        def tries():
            yield lambda: os.listdir("/proc/1/fd")
            yield lambda: open("/proc/1/maps").read(1)
            yield lambda: open("/proc/1/oom_score_adj", "w").write("1000")
            yield lambda: resource.prlimit(1, resource.RLIMIT_NOFILE, (0, 0))
            yield lambda: os.setpriority(os.PRIO_PROCESS, 1, 19)
        for number, attempt in enumerate(tries()):
            try:
                attempt()
                print("done", number)
            except OSError:
                pass
        for number in range(1, 65):
            try:
                os.kill(1, number)
            except OSError:
                pass
        print("alive")
        """,
    )
    assert told == "alive"
    assert sandbox.python("print('next')").stdout == b"next\n"


def test_daemons_that_have_ended_count_for_cpu_time(sandbox: NamespaceSandbox) -> None:
    source = """
import os, time
while True:
    if os.fork() == 0:
        if os.fork() == 0:
            end = time.process_time() + 0.05
            while time.process_time() < end: pass
        os._exit(0)
    os.wait()
    time.sleep(0.06)
"""
    limits = Limits(cpu_time_s=0.4, wall_time_s=10, processes=200)
    result = sandbox.python(source, limits=limits)
    assert result.limit == "cpu_time"
    assert result.duration_s < 5


def test_an_interpreter_without_pytest_says_what_to_install(
    shared: NamespaceSandbox, tmp_path: Path
) -> None:
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", bare], check=True)
    with NamespaceSandbox(interpreter=str(bare / "bin/python")) as other:
        other.write_file("test_a.py", b"def test_a(): pass")
        with pytest.raises(SandboxUnavailableError, match="-m pip install pytest"):
            other.pytest()
        assert other.list_files() == ["test_a.py"]
        assert other.python("print('fine')").is_ok


def test_the_source_of_earlier_tests_is_in_no_memory_of_a_program(
    sandbox: NamespaceSandbox,
) -> None:
    half = "hidden" * 3
    for padding in ("", "# padding\n" * 2000):
        assert sandbox.check(f"MARK = '{half}{half}'\ndef test_a(): assert MARK\n{padding}").is_ok
    told = _tell(
        sandbox,
        f"""
        mark = ({half!r} + "x").replace("x", {half!r}).encode()
        found = 0
        with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", buffering=0) as memory:
            for line in maps.read().splitlines():
                start, end = (int(text, 16) for text in line.split()[0].split("-"))
                if " rw" in line:
                    try:
                        memory.seek(start)
                        found += memory.read(end - start).count(mark + b"'")
                    except OSError:
                        pass
        print(found)
        """,
    )
    assert told == "0"


def test_nothing_accumulates(sandbox: NamespaceSandbox) -> None:
    def count() -> tuple[int, int]:
        inner = Path(f"/proc/{sandbox.worker_pid}/task/{sandbox.worker_pid}/children").read_text()
        server = Path("/proc", inner.split()[0])
        below = (server / "task" / server.name / "children").read_text().split()
        assert len(below) <= 5  # pytest's server, and two each of the next and the last execution
        return len(os.listdir(server / "fd")), (server / "mountinfo").read_text().count("\n")

    def settled(wanted: tuple[int, int] | None = None) -> tuple[int, int]:
        """Look until the next execution has been made."""
        seen = [(0, 0)] * 5
        for _ in range(500):
            seen = [*seen[1:], count()]
            if len(set(seen)) == 1 and wanted in (None, seen[0]):
                break
            time.sleep(0.01)
        return seen[-1]

    daemon = "import os\nif os.fork() == 0:\n    os.setsid()\n    os.fork()\n"
    sandbox.python(daemon)
    sandbox.check("def test_a(): pass")
    before = settled()
    for _ in range(30):
        sandbox.python(daemon)
        sandbox.python("while True: pass", limits=Limits(wall_time_s=0.03))
        sandbox.check("def test_a(): pass")
    assert settled(before) == before


def test_only_standard_descriptors_and_the_report_pipe_are_open(sandbox: NamespaceSandbox) -> None:
    source = """
        import os
        print(*[n for n in range(300) if os.path.exists(f"/proc/self/fd/{n}")])
    """
    assert _tell(sandbox, source) == "0 1 2 3"
    assert sandbox.exec(["sh", "-c", "echo /proc/self/fd/*"]).stdout.count(b"/fd/") <= 4


def test_the_environment_of_the_caller_is_not_there(
    sandbox: NamespaceSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "secret")
    with NamespaceSandbox() as fresh:
        assert b"secret" not in fresh.exec(["env"]).stdout
        assert "SECRET" not in _tell(fresh, "import os; print(os.environ)")
        assert b"secret" not in fresh.exec(["cat", "/proc/self/environ"]).stdout


@pytest.mark.parametrize("ending", ["", "time.sleep(30)"], ids=["at_its_end", "at_the_limit"])
def test_daemons_do_not_survive(sandbox: NamespaceSandbox, ending: str) -> None:
    source = f"""
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open("started", "w").close()
        while True:
            open("alive", "a").write("x")
            time.sleep(0.01)
    os._exit(0)
while not os.path.exists("alive"):
    time.sleep(0.01)
{ending}
"""
    sandbox.python(source, limits=Limits(wall_time_s=1.0))
    before = sandbox.read_file("alive")
    time.sleep(0.1)
    assert sandbox.read_file("alive") == before


def test_a_fork_bomb_is_bounded_and_ends(sandbox: NamespaceSandbox) -> None:
    source = """
import os, time
made = 0
while True:
    try:
        if os.fork() == 0:
            time.sleep(30)
            os._exit(0)
        made += 1
    except OSError:
        print(made, flush=True)
        time.sleep(0.1)
        raise
"""
    result = sandbox.python(source, limits=Limits(processes=10, wall_time_s=5))
    assert 5 <= int(result.stdout) <= 14
    assert (result.exit_code, result.limit) == (1, "processes")
    wild = "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass"
    result = sandbox.python(wild, limits=Limits(processes=10, wall_time_s=1.0, cpu_time_s=0.4))
    assert result.limit in ("cpu_time", "wall_time")
    assert sandbox.python("print('fine')").is_ok


def test_memory_of_the_whole_tree_is_bounded(sandbox: NamespaceSandbox) -> None:
    source = """
import os, time
for _ in range(4):
    if os.fork() == 0:
        data = bytearray(b"x") * (40 << 20)
        time.sleep(30)
time.sleep(30)
"""
    result = sandbox.python(source, limits=Limits(memory_bytes=96 << 20, wall_time_s=10))
    assert result.limit == "memory"
    assert result.duration_s < 5


def test_a_disk_cannot_be_filled(sandbox: NamespaceSandbox) -> None:
    for folder in ("/area", "/tmp", "/dev/shm"):
        result = sandbox.python(
            f"for i in range(99): open('{folder}/%d' % i, 'wb').write(bytes(100_000))",
            limits=Limits(disk_bytes=1_000_000),
        )
        assert result.limit == "disk", folder
        sandbox.restore(Snapshot(files={}))


def test_many_empty_files_are_bounded(sandbox: NamespaceSandbox) -> None:
    result = sandbox.python(
        "for i in range(100_000): open(str(i), 'w').close()", limits=Limits(disk_bytes=1 << 20)
    )
    assert result.limit == "disk"
    assert len(sandbox.list_files()) <= 1024


def test_the_caller_cannot_overfill_the_area() -> None:
    with NamespaceSandbox(Limits(disk_bytes=100_000)) as small:
        with pytest.raises(OSError, match="No space"):
            for number in range(5):
                small.write_file(str(number), bytes(50_000))
        assert small.python("print('fine')").is_ok


def test_sparse_files_cannot_make_a_snapshot_huge(sandbox: NamespaceSandbox) -> None:
    result = sandbox.python(
        "import os\n"
        "for name in map(str, range(50)):\n"
        "    open(name, 'w').close()\n"
        "    os.truncate(name, 10**6)",
        limits=Limits(disk_bytes=5_000_000),
    )
    assert result.limit == "disk"
    assert sum(map(len, sandbox.snapshot().files.values())) <= 5_000_000


def test_cpu_time_below_a_second_and_of_children_counts(sandbox: NamespaceSandbox) -> None:
    source = "import os\nos.fork()\nwhile True: pass"
    result = sandbox.python(source, limits=Limits(cpu_time_s=0.3, wall_time_s=10))
    assert result.limit == "cpu_time"
    assert result.duration_s < 3


def test_an_execution_cannot_poison_the_next(sandbox: NamespaceSandbox) -> None:
    sandbox.write_file(
        "evil.py",
        b"import builtins, os, sys, json, ast, linecache\n"
        b"builtins.compile = builtins.exec = json.dumps = ast.parse = lambda *a, **k: 1 / 0\n"
        b"sys.modules.clear(); os.environ['X'] = '1'; os.write = print\n",
    )
    sandbox.check("import evil\ndef test_a(): pass")
    sandbox.python("import evil")
    result = sandbox.check(
        "import builtins, json, os\n"
        "def test_a():\n    assert json.dumps([1]) == '[1]' and 'X' not in os.environ"
    )
    assert result.is_ok, result


def test_forged_reports_without_the_nonce_are_ignored(sandbox: NamespaceSandbox) -> None:
    sandbox.write_file(
        "solution.py",
        b"import os\n"
        b'line = b\'{"name": "test_a", "outcome": "passed", "message": ""}\\n\'\n'
        b"for fd in range(1, 256):\n"
        b"    for prefix in (b'', b'0' * 32 + b' '):\n"
        b"        try: os.write(fd, prefix + line)\n"
        b"        except OSError: pass\n"
        b"os._exit(0)\n",
    )
    result = sandbox.check("import solution\ndef test_a(): assert False")
    assert dict(result.outcomes) == {"test_a": "missing"}


def test_a_killed_server_is_replaced_and_keeps_the_files(sandbox: NamespaceSandbox) -> None:
    sandbox.write_file("kept/file.txt", b"content")
    pid = sandbox.worker_pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(SandboxWorkerError, match="replaced"):
        sandbox.python("1")
    assert sandbox.exec(["cat", "kept/file.txt"]).stdout == b"content"
    assert sandbox.worker_pid not in (None, pid)


def test_a_hung_server_is_replaced(
    sandbox: NamespaceSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sim2live.envs.sandbox.worker._GRACE_S", 0.2)
    sandbox.python("1")
    assert sandbox.worker_pid is not None
    inner = int(Path(f"/proc/{sandbox.worker_pid}/task/{sandbox.worker_pid}/children").read_text())
    os.kill(inner, signal.SIGSTOP)
    with pytest.raises(SandboxWorkerError, match="hung"):
        sandbox.python("1", limits=Limits(wall_time_s=0.2))
    assert _wait_until_gone(inner)
    assert sandbox.python("print('again')").stdout == b"again\n"


@pytest.mark.parametrize("way", ["close", "forget"])
def test_no_process_outlives_the_sandbox(shared: NamespaceSandbox, way: str) -> None:
    made = NamespaceSandbox()
    made.python("1")
    pid = made.worker_pid
    assert pid is not None
    inner = int(Path(f"/proc/{pid}/task/{pid}/children").read_text())
    if way == "close":
        made.close()
    else:
        del made
        gc.collect()
    assert _wait_until_gone(pid)
    assert _wait_until_gone(inner)


def test_the_server_ends_with_a_caller_that_is_killed(shared: NamespaceSandbox) -> None:
    source = (
        "import os, signal, threading\n"
        "from sim2live.envs.sandbox import NamespaceSandbox\n"
        "sandbox = NamespaceSandbox()\n"
        "sandbox.python('1')\n"
        "print(sandbox.worker_pid, flush=True)\n"
        "threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGKILL)).start()\n"
        "sandbox.exec(['sleep', '60'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", source], check=False, capture_output=True, timeout=60
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert _wait_until_gone(int(done.stdout))


def test_an_ordinary_user_has_the_same_sandbox(shared: NamespaceSandbox) -> None:
    if os.geteuid() != 0:
        pytest.skip("this user is an ordinary one already, so every other test shows it")
    other = 12345
    source = textwrap.dedent(
        f"""
        import os, shutil, sys
        from sim2live.envs.sandbox import NamespaceSandbox, check_sandbox
        os.setgroups([]); os.setresgid({other}, {other}, {other}); os.setresuid(*[{other}] * 3)
        known = [p for p in (sys.executable, "/usr/bin/python3") if os.access(p, os.X_OK)]
        if not known:
            print("skip: no interpreter that another user may run"); sys.exit()
        with NamespaceSandbox(interpreter=known[0]) as sandbox:
            if sandbox.python("import sys; assert sys.version_info >= (3, 11)").exit_code:
                print("skip: the interpreter is older than 3.11"); sys.exit()
            check_sandbox(sandbox)
            print("user", sandbox.exec(["id", "-u"]).stdout.decode().strip())
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", source], check=False, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    if done.stdout.startswith("skip"):
        pytest.skip(done.stdout)
    assert done.stdout.split() == ["user", "65534"]


def test_where_isolation_is_refused_the_default_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sim2live.envs.sandbox.missing_isolation", lambda: "user namespace: no")
    with pytest.raises(SandboxUnavailableError) as refusal:
        make_sandbox()
    assert "user namespace: no" in str(refusal.value)
    assert "`process`" in str(refusal.value)


def test_the_message_names_the_setting_to_change(monkeypatch: pytest.MonkeyPatch) -> None:
    switches = {"user.max_user_namespaces": "0"}
    monkeypatch.setattr(namespaces, "_sysctl", lambda name: switches.get(name, ""))
    assert "sysctl -w user.max_user_namespaces=10000" in how_to_enable("user namespace")
    switches.clear()
    assert "seccomp=unconfined" in how_to_enable("user namespace")


def test_an_interpreter_that_is_not_there_is_a_sandbox_error() -> None:
    with NamespaceSandbox(interpreter="/no/such/python") as made, pytest.raises(SandboxError):
        made.python("1")


@pytest.mark.parametrize("family", [0, 3, 17, 38, 40, 44])
def test_sockets_of_other_families_are_refused(sandbox: NamespaceSandbox, family: int) -> None:
    told = _tell(
        sandbox,
        f"""
        import ctypes, errno, socket
        for made in (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK):
            socket.socket(made, socket.SOCK_DGRAM).close()
        libc = ctypes.CDLL(None, use_errno=True)
        print(libc.socket({family}, 1, 0), errno.errorcode[ctypes.get_errno()])
        """,
    )
    assert told == "-1 EPERM"


def test_a_program_may_change_itself_and_its_children_but_not_process_1(
    sandbox: NamespaceSandbox,
) -> None:
    told = _tell(
        sandbox,
        """
        import os, resource, signal, time
        child = os.fork()
        if child == 0:
            time.sleep(60)
        for pid in (0, os.getpid(), child):
            os.setpriority(os.PRIO_PROCESS, pid, 1)
            os.sched_setaffinity(pid, os.sched_getaffinity(0))
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (50, 50))
        os.nice(1)
        os.kill(child, signal.SIGKILL)
        print(os.waitpid(child, 0)[1])
        """,
    )
    assert told == "9"


def test_nothing_can_be_made_or_found_in_the_ipc_namespace_that_executions_share(
    sandbox: NamespaceSandbox,
) -> None:
    told = _tell(
        sandbox,
        """
        import ctypes, errno, os, platform
        libc = ctypes.CDLL(None, use_errno=True)
        numbers = {"x86_64": (29, 64, 68, 240), "aarch64": (194, 190, 186, 180)}
        shmget, semget, msgget, mq_open = numbers[platform.machine()]
        made = []
        for key in (0, 7):
            made += [libc.syscall(call, key, 4096, 0o1600) for call in (shmget, semget)]
            made.append(libc.syscall(msgget, key, 0o1600))
        made.append(libc.syscall(mq_open, b"/sim2live", os.O_CREAT | os.O_RDWR, 0o600, None))
        made.append(libc.syscall(mq_open, b"sim2live", os.O_RDONLY, 0, None))
        refused = ctypes.get_errno() == errno.EPERM
        # What SHM_INFO, SEM_INFO and MSG_INFO return is the highest index in use.
        used = [libc.shmctl(0, 14, ctypes.create_string_buffer(256))]
        used.append(libc.semctl(0, 0, 19, ctypes.create_string_buffer(256)))
        used.append(libc.msgctl(0, 12, ctypes.create_string_buffer(256)))
        print(set(made), refused, used, os.readlink("/proc/self/ns/ipc"))
        """,
    )
    ours = os.readlink("/proc/self/ns/ipc")
    assert told.startswith("{-1} True [0, 0, 0] ipc:[")
    assert not told.endswith(ours)


def test_memory_of_no_process_counts_but_a_mapping_that_is_shared_only_once(
    sandbox: NamespaceSandbox,
) -> None:
    source = """
import mmap, os, time
held = mmap.mmap(-1, {size} << 20)
for place in range(0, len(held), 4096):
    held[place] = 1
for _ in range(3):
    if os.fork() == 0:
        sum(held[place] for place in range(0, len(held), 4096))
        time.sleep({time_s})
        os._exit(0)
time.sleep({time_s})
"""
    limits = Limits(memory_bytes=160 << 20, wall_time_s=20)
    fits = sandbox.python(source.format(size=60, time_s=0.3), limits=limits)
    assert fits.is_ok, fits
    one = "import os, time\nheld = [os.memfd_create('m') for _ in range(40)]\n"
    many = f"{one}for fd in held: os.write(fd, bytes(8 << 20))\ntime.sleep(60)"
    assert sandbox.python(many, limits=limits).limit == "memory"

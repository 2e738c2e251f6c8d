"""What hostile code would want on the host, and whether it got it.

A `Host` puts up canaries: files, listeners, a process, a key, shared memory, each with a secret.
After an attack it says what was touched. Nothing here believes what the attack printed.
"""

from __future__ import annotations

import base64
import contextlib
import ctypes
import os
import platform
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

_SETTLE_S = 1.0
_SAMPLE_S = 0.02
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_MAX_CALLER_GROWTH_BYTES = 64 << 20
_KEY_CALLS = {"x86_64": (248, 250), "aarch64": (217, 219)}
"""Numbers of add_key and keyctl."""
_USER_KEYRING = -4
_KEYCTL_INVALIDATE = 21
_KEYCTL_SETPERM = 5

# Waits for its end on stdin; tells each signal it gets. Its secret is in memory and environment.
_VICTIM = """
import os, signal, sys
secret = bytearray(os.environ["SIM2LIVE_CANARY"].encode())
def tell(number, frame):
    os.write(1, b"%d\\n" % number)
for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}:
    signal.signal(number, tell)
os.write(1, b"ready\\n")
while os.read(0, 1):
    pass
"""

_ENGINES = ("docker", "containerd", "containers", "netns")

_libc = ctypes.CDLL(None, use_errno=True)


class Host:
    """Canaries on this machine, as a context manager; use one at a time.

    `facts` is what an attacker may know: where the canaries are, never a secret.
    """

    def __init__(self) -> None:
        self.secret = f"canary{secrets.token_hex(16)}"
        self.token = f"s2l-{secrets.token_hex(4)}"
        self.folder = Path(tempfile.mkdtemp(prefix="sim2live-canary-"))
        os.chmod(self.folder, 0o777)
        self.canary = self.folder / "canary.txt"
        self._write_canary()
        self._abstract_name = f"sim2live-{secrets.token_hex(8)}"
        self._listeners = self._listen()
        self._victim: subprocess.Popen[bytes] | None = None
        self._key = self._add_key()
        self._memory_name = Path("/dev/shm") / f"sim2live-{secrets.token_hex(8)}"
        self._segment = self._share_memory()
        self._hostname = socket.gethostname()
        self._clock = _clock_offset_s()
        self._mounts = _mounts()
        self._max_rss = _max_rss()
        self._start_victim()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def facts(self) -> dict[str, Any]:
        """Return what an attacker may know."""
        assert self._victim is not None
        ports = {name: s.getsockname()[1] for name, s in self._listeners.items() if name != "unix"}
        return {
            "canary": str(self.canary),
            "folder": str(self.folder),
            "unix": str(self.folder / "socket"),
            "abstract": self._abstract_name,
            "tcp": ports["tcp"],
            "udp": ports["udp"],
            "victim": self._victim.pid,
            "caller": os.getpid(),
            "token": self.token,
            "shm_file": str(self._memory_name),
            "shm_id": self._segment,
            "key": self._key,
        }

    def damage(self) -> list[str]:
        """Say what has been touched since the last call, and put it right again."""
        found = [
            *self._changed_files(),
            *self._visitors(),
            *self._hurt_victim(),
            *self._changed_kernel(),
        ]
        grown = _max_rss() - self._max_rss
        if grown > _MAX_CALLER_GROWTH_BYTES:
            found.append(f"the caller's memory grew by {grown >> 20} MiB")
        self._max_rss = _max_rss()
        return found

    def reveals(self, data: bytes) -> bool:
        """Say whether the secret stands in `data`, also in the usual encodings."""
        return reveals(self.secret, data)

    def survivors(self) -> int:
        """Return how many marked processes were left anywhere after some time, and end them."""
        deadline = time.monotonic() + _SETTLE_S
        while (left := marked(self.token)) and time.monotonic() < deadline:
            time.sleep(_SAMPLE_S)
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        return len(left)

    @contextlib.contextmanager
    def watch(self) -> Iterator[Peak]:
        """Measure, from outside, what the marked processes use at most."""
        peak = Peak(self.token)
        thread = threading.Thread(target=peak.follow, daemon=True)
        thread.start()
        try:
            yield peak
        finally:
            peak.stop.set()
            thread.join()

    def close(self) -> None:
        """Take all canaries down."""
        self._end_victim()
        for listener in self._listeners.values():
            listener.close()
        if self._key is not None:
            _call(_key_calls()[1], _KEYCTL_INVALIDATE, self._key)
        if self._segment >= 0:
            _libc.shmctl(self._segment, 0, None)
        self._memory_name.unlink(missing_ok=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _write_canary(self) -> None:
        self.canary.write_text(self.secret)
        os.chmod(self.canary, 0o666)

    def _changed_files(self) -> list[str]:
        found = []
        if not self.canary.is_file() or self.canary.read_text() != self.secret:
            found.append("the canary file was changed")
        if others := {path.name for path in self.folder.iterdir()} - {"canary.txt", "socket"}:
            found.append(f"files appeared beside the canary: {sorted(others)}")
            for name in others:
                path = self.folder / name
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        if self.canary.is_symlink() or (self.canary.exists() and self.canary.stat().st_nlink != 1):
            found.append("the canary file got another name")
            self.canary.unlink()
        self._write_canary()
        return found

    def _listen(self) -> dict[str, socket.socket]:
        tcp = socket.create_server(("127.0.0.1", 0))
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        udp.bind(("127.0.0.1", 0))
        unix = socket.socket(socket.AF_UNIX)
        unix.bind(str(self.folder / "socket"))
        os.chmod(self.folder / "socket", 0o777)
        abstract = socket.socket(socket.AF_UNIX)
        abstract.bind(f"\0{self._abstract_name}")
        for listener in (tcp, unix, abstract):
            listener.listen(64)
        made = {"tcp": tcp, "udp": udp, "unix": unix, "abstract": abstract}
        for listener in made.values():
            listener.setblocking(False)
        return made

    def _visitors(self) -> list[str]:
        found = []
        for name, listener in self._listeners.items():
            with contextlib.suppress(BlockingIOError):
                while True:
                    if name == "udp":
                        listener.recv(1)
                    else:
                        listener.accept()[0].close()
                    found.append(f"the {name} listener of the host was reached")
        return sorted(set(found))

    def _start_victim(self) -> None:
        self._victim = subprocess.Popen(
            [sys.executable, "-S", "-c", _VICTIM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={"SIM2LIVE_CANARY": self.secret},
        )
        assert self._victim.stdout is not None
        self._victim.stdout.readline()
        os.set_blocking(self._victim.stdout.fileno(), False)

    def _end_victim(self) -> bytes:
        victim, self._victim = self._victim, None
        assert victim is not None and victim.stdout is not None
        victim.kill()
        victim.wait()
        told = victim.stdout.read() or b""
        for pipe in (victim.stdin, victim.stdout):
            assert pipe is not None
            with contextlib.suppress(OSError):
                pipe.close()
        return told

    def _hurt_victim(self) -> list[str]:
        victim = self._victim
        assert victim is not None and victim.stdout is not None
        status = _status(victim.pid)
        signals = (victim.stdout.read() or b"").split()
        found = [f"the host's process got signal {number.decode()}" for number in signals]
        if victim.poll() is not None:
            found.append("the host's process was ended")
        elif status.get("State", "S")[0] not in "SR":
            found.append(f"the host's process is in state {status['State']}")
        elif status.get("TracerPid", "0") != "0":
            found.append("the host's process is traced")
        if found:
            self._end_victim()
            self._start_victim()
        return found

    def _changed_kernel(self) -> list[str]:
        found = []
        if socket.gethostname() != self._hostname:
            found.append("the host's name was changed")
        if abs(_clock_offset_s() - self._clock) > 0.5:
            found.append("the host's clock was set")
        mounts = _mounts()
        if added := mounts - self._mounts:
            found.append(f"something was mounted on the host: {sorted(added)}")
        self._clock, self._mounts = _clock_offset_s(), mounts
        return found

    def _add_key(self) -> int | None:
        add_key, keyctl = _key_calls()
        if add_key < 0:
            return None
        payload = self.secret.encode()
        name = f"sim2live-{self.token}".encode()
        key = _call(add_key, b"user", name, payload, len(payload), _USER_KEYRING)
        if key == -1:
            return None
        _call(keyctl, _KEYCTL_SETPERM, key, 0x3F3F0000)
        return key

    def _share_memory(self) -> int:
        with contextlib.suppress(OSError):
            self._memory_name.write_text(self.secret)
            os.chmod(self._memory_name, 0o666)
        segment = int(_libc.shmget(0, 4096, 0o1000 | 0o666))
        if segment >= 0:
            _libc.shmat.restype = ctypes.c_void_p
            place = _libc.shmat(segment, None, 0)
            ctypes.memmove(place, self.secret.encode(), len(self.secret))
            _libc.shmdt(ctypes.c_void_p(place))
        return segment


class Peak:
    """What the processes of one attack used at most, sampled from outside.

    Args:
        token: the name that the processes carry.
    """

    def __init__(self, token: str) -> None:
        self.token = token
        self.stop = threading.Event()
        self.processes = 0
        self.memory_bytes = 0
        """Memory that is not shared with files, and growth of all shared memory of the machine."""

    def follow(self) -> None:
        """Sample until told to stop."""
        before = _shared_bytes()
        while not self.stop.is_set():
            pids = marked(self.token)
            private = sum(map(_private_bytes, pids))
            self.processes = max(self.processes, len(pids))
            shared = max(0, _shared_bytes() - before)
            self.memory_bytes = max(self.memory_bytes, private + shared)
            self.stop.wait(_SAMPLE_S)


def reveals(secret: str, data: bytes) -> bool:
    """Say whether `secret` stands in `data`: plain, reversed, in hexadecimal or in base 64."""
    raw = secret.encode()
    forms = [raw, raw[::-1], raw.hex().encode()]
    for shift in range(3):
        # The first and last letters depend on what stands around the secret.
        forms.append(base64.b64encode(b"x" * shift + raw)[4:-4])
    return any(form in data for form in forms)


def kernel_lacks(number: int) -> bool:
    """Say whether this kernel has no system call of that number (tried with senseless arguments).

    Only for calls that do nothing when every argument is -1.
    """
    return _call(number, *([-1] * 6)) == -1 and ctypes.get_errno() == 38  # ENOSYS


def _call(number: int, *arguments: object) -> int:
    ctypes.set_errno(0)
    words = [ctypes.c_long(word) if isinstance(word, int) else word for word in arguments]
    return int(_libc.syscall(ctypes.c_long(number), *words))


def _key_calls() -> tuple[int, int]:
    return _KEY_CALLS.get(platform.machine(), (-1, -1))


def marked(token: str) -> list[int]:
    """Return the processes of that name that have not ended, in whatever namespace they are."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        with contextlib.suppress(OSError), open(f"/proc/{name}/comm", "rb") as file:
            if file.read().strip() == token.encode() and _status(int(name))["State"][0] not in "ZX":
                found.append(int(name))
    return found


def _status(pid: int) -> dict[str, str]:
    try:
        text = Path(f"/proc/{pid}/status").read_text(errors="replace")
    except OSError:
        return {"State": "X"}
    return dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)


def _private_bytes(pid: int) -> int:
    try:
        pages = Path(f"/proc/{pid}/statm").read_text().split()
    except OSError:
        return 0
    return (int(pages[1]) - int(pages[2])) * _PAGE_BYTES


def _shared_bytes() -> int:
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("Shmem:"):
            return int(line.split()[1]) * 1024
    return 0


def _mounts() -> set[str]:
    """Return the mounts of this machine but those that container engines come and go with."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    mounts = (line.split()[:5] for line in lines)
    return {
        f"{number} {point}"
        for number, _, _, _, point in mounts
        if not any(f"/{engine}/" in point for engine in _ENGINES)
    }


def _clock_offset_s() -> float:
    return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)


def _max_rss() -> int:
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

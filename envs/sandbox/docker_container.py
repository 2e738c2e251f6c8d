"""One running container: made with every protection that Docker has, and asked over one stream."""

from __future__ import annotations

import contextlib
import os
import posixpath
import random
import secrets
import weakref
from dataclasses import asdict, dataclass
from typing import Any, Self

from ...errors import SandboxError, SandboxUnavailableError, SandboxWorkerError
from . import wire
from .area import Area, split_path
from .base import Limits
from .docker_errors import connect, translated, using
from .docker_files import pack, unpack
from .docker_owner import owner_labels, remove_container
from .docker_server import AREA, SCRATCH
from .docker_source import COMMAND, ENVIRONMENT
from .docker_stream import Stream

_START_S = 30.0
_FILES_S = 60.0
_GRACE_S = 10.0
_OWN_MEMORY_BYTES = 64 << 20
_OWN_TASKS = 8
_HIDDEN = "ro,noexec,nosuid,nodev,size=4k"
_MIN_FILE_ENTRIES = 1024
_FREE_IDS = (1 << 24, 1 << 30)
_MAPPED_IDS = (20_000, 60_000)  # where the daemon maps users, only some 65,536 exist
_lost = (wire.Closed, OSError, ValueError)


@dataclass(slots=True, kw_only=True, frozen=True)
class Size:
    """What a container is made for; executions may ask for less."""

    memory_bytes: int
    disk_bytes: int
    processes: int

    @classmethod
    def of(cls, limits: Limits | dict[str, Any]) -> Self:
        """Return the size that executions with these limits need."""
        given = asdict(limits) if isinstance(limits, Limits) else limits
        return cls(**{name: int(given[name]) for name in cls.__slots__})

    def holds(self, other: Size) -> bool:
        """Say whether what fits `other` fits this."""
        return self == self.joined(other)

    def joined(self, other: Size) -> Size:
        """Return the smallest size that holds both."""
        ours, theirs = asdict(self), asdict(other)
        return Size(**{name: max(ours[name], theirs[name]) for name in ours})


class Container:
    """A container with our server in it, ready for requests.

    Args:
        image: its image; Python 3.11 or newer must be in it.
        size: what it is made for.
        client: of the `docker` SDK; by default one of its own.

    Raises:
        SandboxUnavailableError: it cannot be had until something is put right; the message says
            what.
        SandboxWorkerError: it did not start for another reason.
    """

    def __init__(self, image: str, size: Size, client: Any = None) -> None:
        self.image = image
        self.size = size
        self.pid = os.getpid()
        self._given = client
        self._client = client or connect()
        self._stream: Stream | None = None
        self._close: weakref.finalize[Any, Container] | None = None
        self.id = ""
        try:
            with translated("asking the Docker daemon what it is"):
                daemon = self._client.api.info()
            self.user = random.SystemRandom().randrange(*_free_user_ids(daemon))
            self._create(has_unified_groups=daemon.get("CgroupVersion") == "2")
            self.path = self._start()
        except BaseException:
            with contextlib.suppress(SandboxError):
                self.end()
            raise

    def _create(self, *, has_unified_groups: bool) -> None:
        api = self._client.api
        with translated("making a container", self.image):
            config = api.inspect_image(self.image).get("Config") or {}
            made = api.create_container(
                self.image,
                command=list(COMMAND[1:]),
                entrypoint=COMMAND[0],
                user="0:0",
                working_dir="/",
                hostname="sandbox",
                name=f"sim2live-{os.getpid()}-{secrets.token_hex(4)}",
                stdin_open=True,  # and closed when we go: the server then ends
                environment=ENVIRONMENT,
                labels=owner_labels(),
                healthcheck={"test": ["NONE"]},
                host_config=self._host_config(
                    list(config.get("Volumes") or ()),
                    # The container must see its own control group, as the first version shows it.
                    cgroupns="private" if has_unified_groups else None,
                ),
            )
            self.id = made["Id"]

    def _host_config(self, volumes: list[str], cgroupns: str | None) -> Any:
        size = self.size
        return self._client.api.create_host_config(
            auto_remove=True,
            init=True,
            network_mode="none",
            ipc_mode="none",
            cgroupns=cgroupns,
            read_only=True,
            cap_drop=["ALL"],
            cap_add=["SETUID", "SETGID"],  # for the server alone, to become the programs' user
            security_opt=["no-new-privileges"],
            mem_limit=(memory := size.memory_bytes + 3 * size.disk_bytes + _OWN_MEMORY_BYTES),
            memswap_limit=memory,
            pids_limit=size.processes + _OWN_TASKS,
            # Kernel objects that would outlive an execution.
            sysctls={
                "kernel.shmmni": "0",
                "kernel.msgmni": "0",
                "kernel.sem": "32000 0 500 0",
                "fs.mqueue.queues_max": "0",
            },
            log_config={"Type": "none", "Config": {}},
            tmpfs={
                **{posixpath.normpath(path): _HIDDEN for path in volumes},
                **{folder: self._tmpfs_options() for folder in (AREA, *SCRATCH)},
            },
        )

    def _tmpfs_options(self) -> str:
        entries = max(_MIN_FILE_ENTRIES, self.size.disk_bytes // 4096)
        return (
            f"rw,exec,nosuid,nodev,size={self.size.disk_bytes},nr_inodes={entries},mode=755,"
            f"uid={self.user},gid={self.user}"
        )

    def _start(self) -> str:
        api = self._client.api
        with translated("starting a container", self.image):
            attached = api.attach_socket(
                self.id, params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
            )
            self._stream = Stream(attached)
            # Should nobody call `end`, the connection closes with this object: that ends it too.
            self._close = weakref.finalize(self, self._stream.close)
            api.start(self.id)
        return _greet(self._stream, self.user, self.image)

    def ask(
        self,
        request: wire.Header,
        blob: bytes = b"",
        timeout_s: float = _FILES_S,
        secret: bytes | None = None,
    ) -> tuple[wire.Header, bytes]:
        """Have one request carried out.

        Args:
            request: what to do.
            blob: bytes that go with it.
            timeout_s: how long it may take, besides what the way there and back takes.
            secret: what the server reads only when it has made the process that may know it.

        Raises:
            SandboxWorkerError: the container or its daemon died, or did not answer in time.
        """
        if self._stream is None:
            raise SandboxWorkerError("the container of this sandbox has ended; make a new sandbox")
        try:
            return self._stream.ask(request, blob, timeout_s + _GRACE_S, secret)
        except _lost as cause:
            reason = f"{type(cause).__name__} {cause} {self._stream.last_words()}".strip()
            daemon = self._daemon_trouble()
            self._try_to_end(is_reachable=not daemon)
            raise SandboxWorkerError(
                f"the sandbox's container died or hung ({reason}){daemon}. This call did not "
                "complete and the files are lost; the next call starts a new container with an "
                "empty work area"
            ) from cause
        except BaseException:
            self._try_to_end()  # interrupted in the middle of a message
            raise

    @property
    def is_alive(self) -> bool:
        """True until it is ended or found dead."""
        return self._stream is not None

    def copy_of_files(self) -> dict[str, bytes]:
        """Return its files through a second server: for a forked process, which has no stream.

        Raises:
            SandboxWorkerError: it has ended meanwhile.
        """
        with using(self._given) as client:
            with translated("reading the files of the parent process's container", self.image):
                api = client.api
                made = api.exec_create(
                    self.id, list(COMMAND), stdin=True, user="0:0", environment=ENVIRONMENT
                )
                stream = Stream(api.exec_start(made["Id"], socket=True))
            try:
                _greet(stream, self.user, self.image)
                answer, blob = stream.ask({"do": "snapshot"}, b"", _FILES_S)
            except _lost as cause:
                raise SandboxWorkerError(
                    f"the files of the parent process's container cannot be read ({cause}); make a "
                    "new sandbox in the forked process"
                ) from cause
            finally:
                stream.close()
        raise_refusal(answer)
        return unpack(answer, blob)

    def end(self) -> None:
        """Kill and remove it; returns when it is gone."""
        if os.getpid() != self.pid:
            return  # a copy in a forked process
        self._let_go()
        try:
            if self.id:
                remove_container(self._client.api, self.id)
        finally:
            if self._client is not self._given:
                self._client.close()

    def abandon(self) -> None:
        """Forget it in a forked child: it belongs to the parent process."""
        if self._close is not None:
            self._close.detach()
        if self._stream is not None:
            self._stream.abandon()
            self._stream = None
        self._client.close()  # pooled connections are the parent's; a client makes new ones

    def _let_go(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def _try_to_end(self, *, is_reachable: bool = True) -> None:
        self._let_go()
        if is_reachable:
            with contextlib.suppress(SandboxError), translated("ending a container"):
                self._resume()
                self.end()

    def _resume(self) -> None:
        """Let it go on if somebody has paused it: a paused container cannot be killed."""
        from docker.errors import APIError

        with contextlib.suppress(APIError):
            self._client.api.unpause(self.id)

    def _daemon_trouble(self) -> str:
        try:
            with translated("asking the Docker daemon"):
                self._client.api.ping()
        except SandboxError as error:
            return f"; {error}"
        return ""


class ContainerArea(Area):
    """The work area of a container, with the methods of a local one.

    Args:
        container: whose files to reach.
    """

    def __init__(self, container: Container) -> None:
        super().__init__(-1)
        self._container = container

    def read(self, path: str) -> bytes:
        """Return a regular file's content."""
        return self._ask("read", path)[1]

    def write(self, path: str, data: bytes) -> None:
        """Create or replace a regular file, making its folders."""
        self._ask("write", path, data)

    def remove(self, path: str) -> None:
        """Delete a file (or a symbolic link itself)."""
        self._ask("remove", path)

    def list_files(self) -> list[str]:
        """Return the relative paths of all regular files, sorted."""
        answer, _ = self._ask("list")
        return [str(path) for path in answer["paths"]]

    def snapshot(self) -> dict[str, bytes]:
        """Return every regular file's content by path."""
        return unpack(*self._ask("snapshot"))

    def restore(self, files: Any) -> None:
        """Make the area hold exactly `files`."""
        header, blob = pack(dict(files))
        for name in files:
            split_path(name)
        raise_refusal(self._container.ask({"do": "restore", **header}, blob)[0])

    def _ask(self, do: str, path: str = "", data: bytes = b"") -> tuple[wire.Header, bytes]:
        request = {"do": do}
        if path or do in ("read", "write", "remove"):
            split_path(path)  # refused here in the same words as everywhere
            request["path"] = path
        answer, blob = self._container.ask(request, data)
        raise_refusal(answer)
        return answer, blob


def raise_refusal(answer: wire.Header) -> None:
    """Raise what the file system in the container said, as if it had been said here."""
    if "os_error" in answer:
        number, text, name = answer["os_error"]
        raise OSError(number, text, name)  # becomes the fitting subclass
    if "value_error" in answer:
        raise ValueError(answer["value_error"])
    if "error" in answer:
        raise SandboxError(f"the sandbox's server failed: {answer['error']}")


def _free_user_ids(daemon: dict[str, Any]) -> tuple[int, int]:
    """Return a range of user ids that no account has, from what a daemon says about itself."""
    options = daemon.get("SecurityOptions") or []
    is_mapped = any("rootless" in option or "userns" in option for option in options)
    return _MAPPED_IDS if is_mapped else _FREE_IDS


def _greet(stream: Stream, user: int, image: str) -> str:
    try:
        facts = stream.greet(user, _START_S)
    except _lost as cause:
        raise SandboxUnavailableError(
            f"the sandbox's server did not start in an image `{image}`; Python 3.11 or newer must "
            f"be in it as `python3`. It said: {stream.last_words() or cause!r}"
        ) from cause
    if "error" in facts:
        raise SandboxUnavailableError(f"a container of `{image}` cannot be used: {facts['error']}")
    return str(facts["path"])

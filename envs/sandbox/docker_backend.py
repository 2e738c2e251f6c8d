"""The isolating sandbox for machines with a Docker daemon: a warm container for each sandbox."""

from __future__ import annotations

import os
from typing import Any

from ...errors import SandboxUnavailableError
from .area import Area
from .base import Limits
from .common import Answer, AreaSandbox
from .docker_container import Container, ContainerArea, Size
from .docker_errors import BUILD_COMMAND, DEFAULT_IMAGE
from .docker_pool import ContainerPool


class DockerSandbox(AreaSandbox):
    """Runs hostile code in a container without network, host files or rights.

    A container starts with the first use and stays until `close()`. Its root folder is the image,
    read-only; the work area, /tmp and /dev/shm are in memory and bounded. After each execution all
    its processes are killed, and /tmp and /dev/shm are emptied: nothing else can be written, so a
    used container is as clean as a new one.

    Limits are enforced inside the container for the execution at hand, and by Docker (memory
    without swap, tasks) for the sandbox. An execution that asks for more memory, disk or processes
    than any before gets a larger container with the same files. `disk_bytes` below the sandbox's
    own is watched every 20 ms instead of being refused by the kernel at once.

    If the container dies, the call raises `SandboxWorkerError` and the files are lost; the next
    call has a new container with an empty work area. In a forked process the sandbox goes on with a
    container of its own and a copy of the files.

    Args:
        limits: limits of executions that name none.
        image: any image with Python 3.11 or newer; for `pytest`, with pytest.
        client: of the `docker` SDK; by default that of the environment. Stays open.
        pool: where to take containers from and give them back to; its image is used.
    """

    name = "docker"
    is_isolated = True

    def __init__(
        self,
        limits: Limits | None = None,
        *,
        image: str = DEFAULT_IMAGE,
        client: Any = None,
        pool: ContainerPool | None = None,
    ) -> None:
        super().__init__(limits)
        self.image = pool.image if pool else image
        self._client = client
        self._pool = pool
        self._container: Container | None = None
        self._of_parent: Container | None = None

    @property
    def container_id(self) -> str | None:
        """Id of the container, or None if none runs."""
        return self._container.id if self._container else None

    def _ensure(self, size: Size | None = None) -> Container:
        """Return a container that holds `size`, with the files of the one before."""
        wanted = Size.of(self.limits).joined(size or Size.of(self.limits))
        old = self._container
        if old is not None and old.is_alive and old.size.holds(wanted):
            return old
        files: dict[str, bytes] = {}
        if old is not None and old.is_alive:
            wanted = wanted.joined(old.size)
            files = ContainerArea(old).snapshot()
        elif self._of_parent is not None:
            files = self._of_parent.copy_of_files()
        new = self._make(wanted)
        try:
            if files:
                ContainerArea(new).restore(files)
        except BaseException:
            new.end()
            raise
        self._container, self._of_parent = new, None
        if old is not None and old.is_alive:
            self._give_back(old)
        return new

    def _make(self, size: Size) -> Container:
        if self._pool is not None and self._pool.pid == os.getpid():
            return self._pool.take(size)
        return Container(self.image, size, self._client)

    def _give_back(self, container: Container) -> None:
        if self._pool is not None and self._pool.pid == os.getpid():
            self._pool.give_back(container)
        else:
            container.end()

    def _run(self, job: dict[str, Any], blob: bytes) -> Answer:
        container = self._ensure(Size.of(job["limits"]))
        job["env"] = {"PATH": container.path, "USER": "sandbox", **job["env"]}
        secret = None
        if job["kind"] == "judge":
            blob, secret = b"", blob
        answer, output = container.ask(
            {"do": "run", "job": job}, blob, job["limits"]["wall_time_s"], secret
        )
        if "missing" in answer:
            raise SandboxUnavailableError(
                f"the image `{self.image}` has no {answer['missing']}; `{BUILD_COMMAND}` makes one "
                "that has it (add `--replace` to make it anew)"
            )
        if "sizes" not in answer:
            return answer, b"", b"", b""
        num_out, num_err = answer["sizes"]
        end = num_out + num_err
        return answer, output[:num_out], output[num_out:end], output[end:]

    def _area(self) -> Area:
        return ContainerArea(self._ensure())

    def _release(self) -> None:
        container, self._container, self._of_parent = self._container, None, None
        if container is not None and container.is_alive:
            self._give_back(container)

    def _after_fork(self) -> None:
        if self._container is not None and self._container.pid != os.getpid():
            self._container.abandon()
            self._of_parent, self._container = self._container, None

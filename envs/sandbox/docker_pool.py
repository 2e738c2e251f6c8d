"""Containers started ahead, so that a sandbox need not wait for one.

A container that comes back is reset and used again: its programs are dead, its folders emptied, and
nothing else in it could be written. One that met an error is never used again.
"""

from __future__ import annotations

import contextlib
import os
import threading
from types import TracebackType
from typing import Any, Self

from ...errors import SandboxError
from .base import Limits
from .docker_container import Container, Size, raise_refusal
from .docker_errors import DEFAULT_IMAGE


class ContainerPool:
    """Keeps containers ready for `DockerSandbox(pool=...)`; safe to use from many threads.

    Args:
        size: containers to keep ready.
        image: image of the containers.
        limits: the largest limits that sandboxes of this pool have.
        client: of the `docker` SDK; by default each container has one of its own.
    """

    def __init__(
        self,
        size: int = 2,
        *,
        image: str = DEFAULT_IMAGE,
        limits: Limits | None = None,
        client: Any = None,
    ) -> None:
        self.image = image
        self.pid = os.getpid()
        self._wanted = size
        self._size = Size.of(limits or Limits())
        self._client = client
        self._ready: list[Container] = []
        self._change = threading.Condition()
        self._is_closed = False
        self._starting: threading.Thread | None = None
        self._refill()

    @property
    def num_ready(self) -> int:
        """Number of containers that wait."""
        with self._change:
            return len(self._ready)

    def wait_until_full(self, timeout_s: float = 60.0) -> bool:
        """Wait until as many containers are ready as were asked for; False if that takes longer."""
        with self._change:
            return self._change.wait_for(lambda: len(self._ready) >= self._wanted, timeout_s)

    def take(self, size: Size) -> Container:
        """Return a container that holds `size`: a ready one, else a new one.

        Raises:
            SandboxError: the pool is closed, or a container cannot be had (as `Container` says).
        """
        with self._change:
            if self._is_closed:
                raise SandboxError("this pool of containers is closed; make a new one")
            for container in self._ready:
                if container.size.holds(size):
                    self._ready.remove(container)
                    break
            else:
                container = None
        self._refill()
        return container or Container(self.image, self._size.joined(size), self._client)

    def give_back(self, container: Container) -> None:
        """Take a container back: reset and kept if there is room, else removed."""
        with contextlib.suppress(SandboxError):
            raise_refusal(container.ask({"do": "reset"})[0])
        with self._change:
            if container.is_alive and not self._is_closed and len(self._ready) < self._wanted:
                self._ready.append(container)
                self._change.notify_all()
                return
        container.end()

    def close(self) -> None:
        """Remove the containers that wait; those in use stay with their sandboxes."""
        with self._change:
            self._is_closed = True
            ready, self._ready = self._ready, []
            starting = self._starting
        if starting is not None:
            starting.join()
        for container in ready:
            container.end()

    def _refill(self) -> None:
        with self._change:
            is_busy = self._starting is not None and self._starting.is_alive()
            if is_busy or self._is_closed or len(self._ready) >= self._wanted:
                return
            self._starting = threading.Thread(target=self._start_some, daemon=True)
            self._starting.start()

    def _start_some(self) -> None:
        while True:
            with self._change:
                if self._is_closed or len(self._ready) >= self._wanted:
                    return
            try:
                container = Container(self.image, self._size, self._client)
            except SandboxError:
                return  # whoever takes one meets the same error, and is told
            self.give_back(container)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

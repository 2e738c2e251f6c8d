"""Reading what programs print without ever holding more than a bound.

Used by the fork server and by the plain-process sandbox: it imports only the standard library.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable, Iterable

_CHUNK_BYTES = 1 << 16


class Capture:
    """Keeps the first `limit` bytes of a pipe and reads away the rest.

    Args:
        fd: the reading end; the capture owns it.
        limit: bytes to keep.
    """

    def __init__(self, fd: int, limit: int) -> None:
        os.set_blocking(fd, False)
        self.fd = fd
        self.limit = limit
        self.data = bytearray()
        self.is_truncated = False
        self.is_open = True

    def read_some(self) -> bool:
        """Take one chunk; return False if there was none (empty for now, or at its end)."""
        try:
            chunk = os.read(self.fd, _CHUNK_BYTES)
        except BlockingIOError:
            return False
        except OSError:
            chunk = b""
        if not chunk:
            self.is_open = False
            return False
        room = self.limit - len(self.data)
        self.data += chunk[:room]
        self.is_truncated |= len(chunk) > room
        return True

    def drain(self) -> None:
        """Take what is in the pipe now; at most a few pipe buffers, should someone still write."""
        for _ in range(64):
            if not self.read_some():
                break

    def close(self) -> None:
        """Close the reading end."""
        os.close(self.fd)
        self.is_open = False


def pump(
    captures: Iterable[Capture],
    *,
    deadline: float,
    has_ended: Callable[[], bool],
    tick_s: float,
    abort_fd: int | None = None,
) -> str:
    """Read from all captures until the program ends.

    Args:
        captures: the pipes to read.
        deadline: `time.monotonic()` at which to stop.
        has_ended: asked after each read and at least every `tick_s` seconds.
        tick_s: longest time between two questions, in seconds.
        abort_fd: stop when this descriptor becomes readable or is hung up.

    Returns:
        `ended`, `deadline` or `aborted`.
    """
    poller = select.poll()
    by_fd = {capture.fd: capture for capture in captures}
    for fd in by_fd:
        poller.register(fd, select.POLLIN)
    if abort_fd is not None:
        poller.register(abort_fd, select.POLLIN)
    while not has_ended():
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            return "deadline"
        for fd, _ in poller.poll(max(1.0, min(left_s, tick_s) * 1000)):
            if fd == abort_fd:
                return "aborted"
            by_fd[fd].read_some()
            if not by_fd[fd].is_open:
                poller.unregister(fd)
    return "ended"

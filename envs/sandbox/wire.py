"""Messages between the caller and its fork server: a header and raw bytes.

Answers have a JSON header: the caller need not trust what comes out of a sandbox to be more than
data. Jobs go the other way and have a marshalled one, which costs less to read. Runs in the fork
server too.
"""

from __future__ import annotations

import json
import marshal
import mmap
import select
import socket
import struct
import time
from typing import Any

_SIZES = struct.Struct("!IQ")
_CHUNK_BYTES = 1 << 20
_INBOX_BYTES = 1 << 18

Header = dict[str, Any]
Message = tuple[Header, bytes]


class Closed(Exception):
    """The other side has gone."""


def send(link: socket.socket, header: Header, blob: bytes = b"") -> None:
    """Send one message."""
    text = json.dumps(header).encode()
    link.sendall(_SIZES.pack(len(text), len(blob)) + text + blob)


def receive(link: socket.socket, deadline: float | None = None) -> Message:
    """Receive one message.

    Args:
        link: the socket.
        deadline: `time.monotonic()` at which to give up; None waits for ever.

    Raises:
        Closed: the other side has gone, before or in the middle of the message.
        TimeoutError: the deadline has passed.
    """
    text_size, blob_size = _SIZES.unpack(_receive_exactly(link, _SIZES.size, deadline))
    header = json.loads(_receive_exactly(link, text_size, deadline))
    return header, _receive_exactly(link, blob_size, deadline)


def send_job(link: socket.socket, job: Header, blob: bytes) -> None:
    """Send a job to a server."""
    text = marshal.dumps(job)
    link.sendall(_SIZES.pack(len(text), len(blob)) + text + blob)


class Inbox:
    """Where a server receives jobs: memory that its forks do not get.

    A program is a fork of the server; without this, it could find the source of earlier tests in
    what the server has freed.
    """

    def __init__(self) -> None:
        self._memory = self._make(_INBOX_BYTES)

    def receive_job(self, link: socket.socket) -> tuple[Header, memoryview]:
        """Receive a job (Closed if the caller has gone); its blob is there until the next one."""
        text_size, blob_size = _SIZES.unpack(_receive_exactly(link, _SIZES.size, None))
        size = text_size + blob_size
        if len(self._memory) != max(size, _INBOX_BYTES):
            self._memory = self._make(max(size, _INBOX_BYTES))
        view = memoryview(self._memory)[:size]
        count = 0
        while count < size:
            received = link.recv_into(view[count:])
            if not received:
                raise Closed
            count += received
        return marshal.loads(view[:text_size]), view[text_size:]

    @staticmethod
    def _make(size: int) -> mmap.mmap:
        memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        memory.madvise(mmap.MADV_DONTFORK)
        return memory


def _receive_exactly(link: socket.socket, size: int, deadline: float | None) -> bytes:
    parts: list[bytes] = []
    while size > 0:
        if deadline is not None:
            _wait(link, deadline)
        chunk = link.recv(min(size, _CHUNK_BYTES))
        if not chunk:
            raise Closed
        parts.append(chunk)
        size -= len(chunk)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _wait(link: socket.socket, deadline: float) -> None:
    poller = select.poll()
    poller.register(link, select.POLLIN)
    if not poller.poll(max(0.0, deadline - time.monotonic()) * 1000):
        raise TimeoutError("no answer in time")

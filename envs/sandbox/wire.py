"""Messages between the caller and its fork server: a header and raw bytes.

Answers have a JSON header: the caller need not trust what comes out of a sandbox to be more than
data. Jobs go the other way and have a marshalled one, which costs less to read. Runs in the fork
server too.
"""

from __future__ import annotations

import json
import marshal
import select
import socket
import struct
import time
from typing import Any

_SIZES = struct.Struct("!IQ")
_CHUNK_BYTES = 1 << 20
_SMALL_BYTES = 1 << 14

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


def receive_answer(link: socket.socket, deadline: float) -> Message:
    """Receive one message behind which no other can be; as `receive`, with fewer system calls."""
    text, blob = _receive_alone(link, deadline)
    return json.loads(bytes(text)), bytes(blob)


def send_job(link: socket.socket, job: Header, blob: bytes) -> None:
    """Send a job to a server."""
    text = marshal.dumps(job)
    link.sendall(_SIZES.pack(len(text), len(blob)) + text + blob)


def receive_job(link: socket.socket) -> tuple[Header, memoryview]:
    """Receive a job (Closed if the caller has gone)."""
    text, blob = _receive_alone(link, None)
    return marshal.loads(text), blob


def _receive_alone(link: socket.socket, deadline: float | None) -> tuple[memoryview, memoryview]:
    """Receive the two parts of one message; the other side sends no more until it has an answer."""
    if deadline is not None:
        _wait(link, deadline)
    data = link.recv(_SMALL_BYTES)
    if len(data) < _SIZES.size:
        data += _receive_exactly(link, _SIZES.size - len(data), deadline)
    text_size, blob_size = _SIZES.unpack_from(data)
    missing = _SIZES.size + text_size + blob_size - len(data)
    if missing < 0:
        raise ValueError(f"{-missing} bytes follow a message")
    if missing:
        data += _receive_exactly(link, missing, deadline)
    parts = memoryview(data)[_SIZES.size :]
    return parts[:text_size], parts[text_size:]


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

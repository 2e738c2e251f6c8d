"""Messages between the caller and its fork server: a JSON header and raw bytes.

Nothing is pickled: what arrives is data, never code. Runs in the fork server too.
"""

from __future__ import annotations

import json
import select
import socket
import struct
import time
from typing import Any

_SIZES = struct.Struct("!IQ")
_CHUNK_BYTES = 1 << 20

Header = dict[str, Any]


class Closed(Exception):
    """The other side has gone."""


def send(link: socket.socket, header: Header, blob: bytes = b"") -> None:
    """Send one message."""
    text = json.dumps(header).encode()
    link.sendall(_SIZES.pack(len(text), len(blob)) + text)
    if blob:
        link.sendall(blob)


def receive(link: socket.socket, deadline: float | None = None) -> tuple[Header, bytes]:
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


def _receive_exactly(link: socket.socket, size: int, deadline: float | None) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        if deadline is not None:
            _wait(link, deadline)
        chunk = link.recv(min(size - len(parts), _CHUNK_BYTES))
        if not chunk:
            raise Closed
        parts += chunk
    return bytes(parts)


def _wait(link: socket.socket, deadline: float) -> None:
    poller = select.poll()
    poller.register(link, select.POLLIN)
    if not poller.poll(max(0.0, deadline - time.monotonic()) * 1000):
        raise TimeoutError("no answer in time")

"""The stream to a process in a container: requests in, answers out, and its last words kept."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import time
from typing import Any, cast

from . import docker_source, wire

_HEADER = struct.Struct("!BxxxL")  # docker: which stream, and how many bytes of it follow
_STDERR = 2
_CHUNK_BYTES = 1 << 20
_TAIL_BYTES = 2000
_SEND_S = 30.0


class Stream:
    """Standard input and output of a process that was started as `docker_source.COMMAND`.

    Args:
        attached: what the SDK returns for an attached container or a started `exec`.
    """

    def __init__(self, attached: Any) -> None:
        self._attached = attached  # holds the response, and with it the connection
        self._socket: socket.socket = getattr(attached, "_sock", attached)
        self._left = 0
        self._deadline = 0.0
        self._stderr = b""

    def greet(self, user: int, timeout_s: float) -> wire.Header:
        """Send the server's source and return the facts that it answers with.

        Raises:
            wire.Closed: it ended instead; `last_words` may say why.
            OSError: no answer in time, or the connection broke.
        """
        self._deadline = time.monotonic() + timeout_s
        self.sendall(docker_source.bundle(user))
        return wire.receive(cast(socket.socket, self))[0]

    def ask(
        self, request: wire.Header, blob: bytes, timeout_s: float, secret: bytes | None = None
    ) -> tuple[wire.Header, bytes]:
        """Send a request, and a secret in a message of its own; return the answer.

        Raises as `greet` does.
        """
        self._deadline = time.monotonic() + timeout_s
        wire.send(cast(socket.socket, self), request, blob)
        if secret is not None:
            wire.send(cast(socket.socket, self), {}, secret)
        return wire.receive(cast(socket.socket, self))

    def sendall(self, data: bytes) -> None:
        """Send all of `data`."""
        self._socket.settimeout(_SEND_S)
        self._socket.sendall(data)

    def recv(self, size: int) -> bytes:
        """Return up to `size` bytes of the standard output; none at its end."""
        while True:
            while not self._left:
                header = self._take(_HEADER.size)
                if not header:
                    return b""
                kind, length = _HEADER.unpack(header)
                if kind == _STDERR:
                    self._stderr = (self._stderr + self._take(length))[-_TAIL_BYTES:]
                else:
                    self._left = length
            chunk = self._read(min(size, self._left, _CHUNK_BYTES))
            self._left -= len(chunk)
            return chunk

    def last_words(self) -> str:
        """Return the end of what came over the standard error."""
        return self._stderr.decode(errors="replace").strip()

    def close(self) -> None:
        """Close the connection: the server inside ends when its input does."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._close_all()

    def abandon(self) -> None:
        """Close only this process's end, in a forked child: the connection is the parent's."""
        with contextlib.suppress(OSError):
            os.close(self._socket.detach())
        self._close_all()

    def _close_all(self) -> None:
        # The response before the stream that it would flush.
        for held in (getattr(self._attached, "_response", None), self._attached, self._socket):
            if held is not None:
                with contextlib.suppress(OSError):
                    held.close()

    def _take(self, size: int) -> bytes:
        """Return exactly `size` bytes, or none if the stream ends first."""
        data = b""
        while len(data) < size:
            chunk = self._read(size - len(data))
            if not chunk:
                return b""
            data += chunk
        return data

    def _read(self, size: int) -> bytes:
        left_s = self._deadline - time.monotonic()
        if left_s <= 0:
            raise TimeoutError("no answer in time")
        self._socket.settimeout(left_s)
        return self._socket.recv(size)

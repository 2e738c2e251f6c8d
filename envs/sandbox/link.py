"""Requests and answers between the tests and the code under test, over one socket.

Each side may ask the other while it is asked itself, strictly inside one another: between a request
and its answer only the other side may ask. Whatever breaks that order breaks the link, for good.
Runs in the sandbox: standard library only.
"""

from __future__ import annotations

import struct
from _thread import RLock
from collections.abc import Callable
from socket import socket

from .plain import MAX_BYTES

_HEAD = struct.Struct("!IIB")  # size, number of the request, kind
_CHUNK_BYTES = 1 << 16
_ASK, _VALUE, _RAISED = 1, 2, 3
_MAX_NESTING = 40


class LinkLost(BaseException):
    """The other side has ended, or has not kept to the order of messages.

    Not an `Exception`: it is not the code under test that raised it, and no test should catch it.
    """


class Link:
    """One end.

    Args:
        socket: connected to the other end.
        handle: carries out a request; returns True and the answer, or False and what was raised. It
            must not raise anything but `LinkLost`.
    """

    def __init__(self, socket: socket, handle: Callable[[bytes], tuple[bool, bytes]]) -> None:
        self._send, self._receive_some = socket.sendall, socket.recv
        self._socket = socket
        self._handle = handle
        self._lock = RLock()  # threads of the tests ask one after the other
        self._number = 0
        self._nesting = 0
        self.why_lost = ""
        """Why it cannot be used any more; empty while it can."""

    def ask(self, request: bytes) -> tuple[bool, bytes]:
        """Send a request and wait for its answer, serving the other side's requests meanwhile.

        Returns:
            True and an answer, or False and an exception, both as bytes that may be anything.

        Raises:
            LinkLost: no answer can be had, now or later.
            RecursionError: requests lie too deep inside each other.
        """
        with self._lock:
            if self._nesting >= _MAX_NESTING:
                raise RecursionError("tests and the code under test call each other too deeply")
            self._nesting += 1
            try:
                self._number = number = (self._number + 1) & 0xFFFFFFFF
                self._put(_ASK, number, request)
                while True:
                    kind, which, body = self._get()
                    if kind == _ASK:
                        self._answer(which, body)
                    elif which == number:
                        return kind == _VALUE, body
                    else:
                        self._lose("it answered a request that was never made")
            finally:
                self._nesting -= 1

    def serve(self) -> None:
        """Carry out requests until the link is lost (LinkLost)."""
        while True:
            kind, number, body = self._get()
            if kind != _ASK:
                self._lose("it answered though nothing was asked")
            self._answer(number, body)

    def serve_one(self) -> None:
        """Carry out one request."""
        _, number, body = self._get()
        self._answer(number, body)

    def close(self) -> None:
        """Close the socket; the other side notices."""
        self.why_lost = self.why_lost or "closed"
        self._socket.close()

    def _answer(self, number: int, request: bytes) -> None:
        is_value, answer = self._handle(request)
        self._put(_VALUE if is_value else _RAISED, number, answer)

    def _put(self, kind: int, number: int, body: bytes) -> None:
        if self.why_lost:
            raise LinkLost(self.why_lost)
        try:
            self._send(_HEAD.pack(len(body), number, kind) + body)
        except OSError as error:
            self._lose(f"it has ended ({error.strerror})")
        except BaseException:
            self.why_lost = "a message was cut"
            raise

    def _get(self) -> tuple[int, int, bytes]:
        if self.why_lost:
            raise LinkLost(self.why_lost)
        try:
            data = self._receive_some(_CHUNK_BYTES)
            while 0 < len(data) < _HEAD.size:
                data += self._receive_some(_CHUNK_BYTES) or self._lose("it has ended")
            if not data:
                self._lose("it has ended")
            size, number, kind = _HEAD.unpack_from(data)
            end = _HEAD.size + size
            if kind not in (_ASK, _VALUE, _RAISED) or size > MAX_BYTES:
                self._lose(f"it sent what is no message (kind {kind}, {size} bytes)")
            if len(data) < end:
                data = self._get_rest(data, end)
            if len(data) > end:
                self._lose("it sent more than it was asked for")
            return kind, number, data[_HEAD.size :]
        except OSError as error:
            self._lose(f"it has ended ({error.strerror})")
        except BaseException:
            self.why_lost = self.why_lost or "a message was cut"
            raise
        raise AssertionError  # `_lose` never returns

    def _get_rest(self, data: bytes, size: int) -> bytes:
        parts, missing = [data], size - len(data)
        while missing > 0:
            part = self._receive_some(min(missing + 1, 1 << 20))
            if not part:
                self._lose("it ended in the middle of a message")
            parts.append(part)
            missing -= len(part)
        return b"".join(parts)

    def _lose(self, why: str) -> bytes:
        self.why_lost = why
        raise LinkLost(why)

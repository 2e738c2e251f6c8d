"""What waits in the buffers of unix sockets, which is memory that no process has."""

from __future__ import annotations

import contextlib
import socket
import struct

_NETLINK_SOCK_DIAG = 4
_SOCK_DIAG_BY_FAMILY, _NLMSG_ERROR, _NLMSG_DONE = 20, 2, 3
_REQUEST_DUMP = 0x301
_ALL_STATES = 0xFFFFFFFF
_SHOW_QUEUE, _SHOW_MEMORY = 0x10, 0x20
_QUEUE, _MEMORY = 4, 5
_HEADER = struct.Struct("=IHHII")
_ASKED = struct.Struct("=BBHIIIII")
_TOLD_BYTES = 16
_ATTRIBUTE = struct.Struct("=HH")
_MESSAGE_BYTES = 1 << 16
_WORD = struct.Struct("=I")
_SENT_AT = 8  # in what is told of memory: bytes that a socket has sent and nobody has read

_QUESTION = _HEADER.pack(
    _HEADER.size + _ASKED.size, _SOCK_DIAG_BY_FAMILY, _REQUEST_DUMP, 1, 0
) + _ASKED.pack(socket.AF_UNIX, 0, 0, _ALL_STATES, 0, _SHOW_QUEUE | _SHOW_MEMORY, 0, 0)


def queued_bytes() -> int:
    """Return the bytes in all unix sockets of this network namespace; 0 if the kernel cannot tell.

    Counted where they were sent from and where they wait; the larger of the two, since either end
    may be closed.
    """
    sent = waiting = 0
    with (
        contextlib.suppress(OSError),
        socket.socket(
            socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _NETLINK_SOCK_DIAG
        ) as asked,
    ):
        asked.send(_QUESTION)
        is_over = False
        while not is_over:
            data = asked.recv(_MESSAGE_BYTES)
            place = 0
            while place + _HEADER.size <= len(data) and not is_over:
                size, kind, *_ = _HEADER.unpack_from(data, place)
                is_over = kind in (_NLMSG_DONE, _NLMSG_ERROR)
                if not is_over:
                    more = _read_attributes(data, place + _HEADER.size + _TOLD_BYTES, place + size)
                    sent, waiting = sent + more[0], waiting + more[1]
                place += _aligned(size)
    return max(sent, waiting)


def _read_attributes(data: bytes, place: int, end: int) -> tuple[int, int]:
    sent = waiting = 0
    while place + _ATTRIBUTE.size <= end:
        size, kind = _ATTRIBUTE.unpack_from(data, place)
        if kind == _MEMORY:
            (sent,) = _WORD.unpack_from(data, place + _ATTRIBUTE.size + _SENT_AT)
        elif kind == _QUEUE:
            (waiting,) = _WORD.unpack_from(data, place + _ATTRIBUTE.size)
        place += max(_ATTRIBUTE.size, _aligned(size))
    return sent, waiting


def _aligned(size: int) -> int:
    return (size + 3) & ~3

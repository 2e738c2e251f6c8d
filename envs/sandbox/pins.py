"""Memory that is copied with each fork, because both sides are certain to write to it.

After a fork, parent and child share their pages, and whichever writes to one first stops in the
kernel, which copies it. A forker writes to some two hundred pages between two forks, and every
program to the same ones at its start: these stops cost more than the fork itself. Pages that are
pinned for direct input and output must not change hands in that way, so the kernel copies them for
the child while it forks, at half the price, and the parent keeps its own.

The pages are pinned with an io_uring that serves for nothing else; programs get no descriptor of it
and may not make one. Where the kernel allows none, or no further locked memory
(`RLIMIT_MEMLOCK`), forks are as ever. Standard library only.
"""

from __future__ import annotations

import contextlib
import os
import struct
from collections.abc import Callable, Iterator

from . import kernel

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_MAX_PARTS = 1024
# Of an entry of /proc/self/pagemap; source: Linux, `Documentation/admin-guide/mm/pagemap.rst`.
_IS_PRESENT, _IS_FILE_OR_SHARED, _IS_MAPPED_ONCE = 1 << 63, 1 << 61, 1 << 56


@contextlib.contextmanager
def kept_apart() -> Iterator[Callable[[], list[tuple[int, int]]]]:
    """Tell which memory is written to from here on.

    A fork keeps all pages as they are now; whatever is not shared with it later has been written to
    by this process, or by the fork itself, as by any, when it began.

    Returns:
        A function that returns address and size of each part that was written to so far.
    """
    reading, writing = os.pipe()
    witness = os.fork()
    if witness == 0:
        os.close(writing)
        os.read(reading, 1)
        os._exit(0)
    try:
        yield _parts_mapped_once
    finally:
        os.close(writing)
        os.close(reading)
        os.waitpid(witness, 0)


def pin(parts: list[tuple[int, int]]) -> int:
    """Have these parts of the memory copied with each fork, the first 1024 of them.

    Returns:
        A descriptor to be kept open for as long.

    Raises:
        OSError: that cannot be had.
    """
    return kernel.pin_memory(parts[:_MAX_PARTS])


def _parts_mapped_once() -> list[tuple[int, int]]:
    parts: list[tuple[int, int]] = []
    with (
        open("/proc/self/maps", "rb") as maps,
        open("/proc/self/pagemap", "rb", buffering=0) as pagemap,
    ):
        areas = [line.split(None, 2) for line in maps]
        for span, rights, _ in areas:
            if rights != b"rw-p":
                continue
            start, end = (int(address, 16) for address in span.split(b"-"))
            pagemap.seek(start // _PAGE_BYTES * 8)
            entries = pagemap.read((end - start) // _PAGE_BYTES * 8)
            for number, (entry,) in enumerate(struct.iter_unpack("=Q", entries)):
                if entry & (_IS_PRESENT | _IS_FILE_OR_SHARED | _IS_MAPPED_ONCE) == (
                    _IS_PRESENT | _IS_MAPPED_ONCE
                ):
                    _append_page(parts, start + number * _PAGE_BYTES)
    return parts


def _append_page(parts: list[tuple[int, int]], address: int) -> None:
    if parts and sum(parts[-1]) == address:
        start, size = parts[-1]
        parts[-1] = start, size + _PAGE_BYTES
    else:
        parts.append((address, _PAGE_BYTES))

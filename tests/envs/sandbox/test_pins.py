"""What is pinned is copied with a fork; in processes of their own, since it cannot be undone."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from typing import Any

import pytest

from sim2live.envs.sandbox import pins

_NUM_PAGES = 64


def _run(source: str) -> Any:
    head = f"""
        import json, mmap, os, resource
        from sim2live.envs.sandbox import pins
        num, size = {_NUM_PAGES}, mmap.PAGESIZE
        area = mmap.mmap(-1, 2 * num * size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)

        def write(value, step=2):
            for number in range(0, 2 * num, step):
                area[number * size] = value

        def faults():
            return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

        write(1, step=1)
    """
    program = textwrap.dedent(head) + textwrap.dedent(source)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_memory_that_was_written_to_is_found_page_by_page() -> None:
    found = _run(
        """
        import ctypes
        start = ctypes.addressof(ctypes.c_char.from_buffer(area))
        with pins.kept_apart() as written_to:
            write(2)
            parts = written_to()
        pages = {at for first, length in parts for at in range(first, first + length, size)}
        print(json.dumps([start + number * size in pages for number in range(2 * num)]))
        """
    )
    assert found == [True, False] * _NUM_PAGES


@pytest.mark.parametrize("is_pinned", [True, False])
def test_neither_side_stops_at_a_pinned_page_and_each_has_its_own(is_pinned: bool) -> None:
    told = _run(
        f"""
        problem = ""
        with pins.kept_apart() as written_to:
            write(2)
            parts = written_to()
        try:
            if {is_pinned}:
                pins.pin(parts)
        except OSError as error:
            problem = str(error)
        go, told = os.pipe(), os.pipe()
        write(3)
        if os.fork() == 0:
            os.read(go[0], 1)
            seen, before = area[0], faults()
            write(4)
            os.write(told[1], json.dumps([seen, faults() - before]).encode())
            os._exit(0)
        before = faults()
        write(5)
        own = faults() - before
        os.write(go[1], b"g")
        seen, childs = json.loads(os.read(told[0], 100))
        print(json.dumps([problem, own, childs, seen, area[0]]))
        """
    )
    problem, own, childs, seen, kept = told
    if problem:
        pytest.skip(f"no memory can be pinned here: {problem}")
    assert (seen, kept) == (3, 5)
    if is_pinned:
        assert max(own, childs) < _NUM_PAGES // 2
    else:
        assert min(own, childs) >= _NUM_PAGES


def test_what_cannot_be_pinned_is_an_error() -> None:
    with pytest.raises(OSError, match="io_uring"):
        pins.pin([(1 << 12, 1 << 12)])

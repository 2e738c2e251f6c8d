"""Searches its own memory for the hidden tests of an earlier check, copied by the fork."""

import secrets

KIND = "drive"
UNPROTECTED = "refused"

_SEARCH = """
import os, re
from attacker import show, tried
tried("/proc/self/mem")
pattern = re.compile(b"left" + b"behind" + b"[0-9a-f]{16}")
with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", buffering=0) as memory:
    for line in maps.read().splitlines():
        if " rw" not in line:
            continue
        start, end = (int(text, 16) for text in line.split()[0].split("-"))
        while start < end:
            size = min(end - start, 4 << 20)
            try:
                memory.seek(start)
                data = memory.read(size)
            except OSError:
                break
            for found in pattern.findall(data):
                show(found)
            start += size
"""


def drive(scene):
    """Run checks and programs that carry a mark, then search in the next execution."""
    mark = f"leftbehind{secrets.token_hex(8)}"
    padding = "# padding\n" * 2000
    tests = f"MARK = '{mark}'\n\ndef test_it():\n    assert MARK\n"
    scene.sandbox.check(tests)
    scene.sandbox.check(tests + padding)
    scene.sandbox.python(f"print('{mark}')")
    scene.sandbox.exec(["cat"], stdin=mark.encode() * 10, env={"MARK": mark})
    scene.run(_SEARCH)
    if mark.encode() in b"".join(scene.said):
        raise Escaped("the text of earlier tests was in its memory")  # noqa: F821 - from the judge

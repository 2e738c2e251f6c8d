"""Looks in its own memory, in /tmp and in pytest's caches for the tests of an earlier run.

Contained: a run finds nothing of the one before it.
"""

import secrets

KIND = "drive"
LIMITS = {"wall_time_s": 3.0, "cpu_time_s": 3.0}
NEEDS_PYTEST = True
UNPROTECTED = "never"

_SEARCH = """
import os
from attacker import got, tried

def test_search():
    begin, end = "{0}", "{1}"
    tried("memory")
    wanted = (begin + end[::-1]).encode()
    own = os.open("/proc/self/mem", os.O_RDONLY)
    kept = id(wanted)
    num_found = 0
    for line in open("/proc/self/maps"):
        span, rights = line.split()[:2]
        first, last = (int(word, 16) for word in span.split("-"))
        if "r" not in rights or "[v" in line or last - first > 64 << 20:
            continue
        for place in range(first, last, 1 << 20):
            try:
                data = os.pread(own, min(1 << 20, last - place), place)
            except (OSError, OverflowError):
                break
            at = data.find(wanted)
            while at >= 0:
                num_found += not kept <= place + at < kept + 200
                at = data.find(wanted, at + 1)
            del data
    if num_found:
        got(f"{{num_found}} copies of an earlier test")
    for folder, _, names in os.walk("/tmp"):
        for name in names:
            try:
                if wanted in open(os.path.join(folder, name), "rb").read(1 << 20):
                    got(f"{{folder}}/{{name}}")
            except OSError:
                pass
"""

_SECRET = """
def test_{0}(tmp_path):
    (tmp_path / "{0}").write_text("{0}")
"""


def drive(scene):
    """Run tests with a secret, remove them, and run the search."""
    begin, end = secrets.token_hex(8), secrets.token_hex(8)
    secret = begin + end
    scene.pytest(
        {"test_secret.py": _SECRET.format(secret), "conftest.py": f"SECRET = '{secret}'\n"}
    )
    scene.sandbox.restore(type(scene.sandbox.snapshot())(files={}))
    scene.pytest({"test_search.py": _SEARCH.format(begin, end[::-1])})

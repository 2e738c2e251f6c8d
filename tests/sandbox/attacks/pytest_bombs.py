"""Takes memory, processes, disk and time inside fixtures and hooks of pytest.

Contained: each limit holds there as anywhere.
"""

KIND = "drive"
NEEDS_PYTEST = True
UNPROTECTED = "never"

_START = "import os, pytest, time\nfrom attacker import mark, tried\n\n"
_TEST = "def test_it(bomb):\n    pass\n"
_FIXTURE = "@pytest.fixture\ndef bomb():\n    tried('{0}')\n    {1}\n\n"
_BODIES = {
    "memory": ("x = []\n    while True:\n        x.append(bytearray(b'x' * (1 << 20)))", "memory"),
    "processes": (
        "try:\n        while True:\n            os.fork() or (mark(), time.sleep(3), os._exit(0))"
        "\n    except OSError:\n        pass",
        None,
    ),
    "disk": (
        "n = 0\n    while True:\n        n += 1\n        "
        "open(f'f{n}', 'wb').write(b'x' * (1 << 20))",
        None,
    ),
    "time": ("while True:\n        pass", "time"),
}


def drive(scene):
    """Set off each."""
    for what, (body, limit) in _BODIES.items():
        source = _START + _FIXTURE.format(what, body) + _TEST
        result = scene.pytest({"test_it.py": source})
        if limit and limit not in (result.execution.limit or ""):
            raise Escaped(f"{what}: {result.execution}")  # noqa: F821 - given by the judge
        scene.sandbox.restore(type(scene.sandbox.snapshot())(files={}))

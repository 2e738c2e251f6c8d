"""Leaves exit hooks, finalisers, threads and signal handlers that never let a run of pytest end.

Contained: it ends at its time limit, and says so.
"""

KIND = "drive"
LIMITS = {"wall_time_s": 0.6}
NEEDS_PYTEST = True
UNPROTECTED = "refused"

_START = "from attacker import tried\nimport atexit, os, signal, sys, threading, time\n\n"
_ENDLESS = "def endless(*arguments):\n    while True:\n        time.sleep(0.01)\n\n"
_BODIES = {
    "exit hook": "tried('atexit')\n    atexit.register(endless)",
    "finaliser": "tried('__del__')\n    sys.kept = type('A', (), {'__del__': endless})()\n    "
    "atexit.register(lambda: delattr(sys, 'kept'))",
    "thread": "tried('a thread')\n    threading.Thread(target=endless).start()",
    "signals": "tried('signals')\n    "
    "[signal.signal(n, signal.SIG_IGN) for n in (1, 2, 3, 14, 15, 24)]\n    "
    "signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 64))\n    endless()",
}


def drive(scene):
    """Try each."""
    for what, body in _BODIES.items():
        source = f"{_START}{_ENDLESS}def test_it():\n    {body}\n"
        result = scene.pytest({"test_it.py": source})
        if result.execution.limit not in ("wall_time", "cpu_time"):
            raise Escaped(f"{what}: {result.execution}")  # noqa: F821 - given by the judge

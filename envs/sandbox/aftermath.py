"""What a later execution finds in its interpreter and its folders, for comparison."""

from __future__ import annotations

import json
from typing import Any

from .attack_files import PATIENT_LIMITS, Escaped
from .base import CheckResult, Sandbox, Snapshot

_STATE = """
import atexit, builtins, gc, json, os, random, resource, signal, sys, threading

def state():
    return {
        "modules": sorted(sys.modules),
        "builtins": sorted(f"{k} {getattr(v, '__module__', '')} {type(v).__name__}"
                           for k, v in vars(builtins).items() if k != "_"),
        "finders": [str(getattr(f, "__name__", type(f))) for f in sys.meta_path],
        "hooks": [str(getattr(f, "__qualname__", f)) for f in sys.path_hooks],
        "path": sys.path,
        "environment": dict(os.environ),
        "folder": sorted(os.listdir(".")),
        "tmp": sorted(os.listdir("/tmp")),
        "exits": atexit._ncallbacks(),
        "threads": threading.active_count(),
        "callbacks": len(gc.callbacks),
        "signals": [str(signal.getsignal(n)) for n in sorted(signal.valid_signals())],
        "blocked": len(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
        "umask": os.umask(0o22),
        "limits": [resource.getrlimit(n) for n in range(16)],
        "random": random.random(),
        "nice": os.nice(0),
        "recursion": sys.getrecursionlimit(),
        "traced": sys.gettrace() is not None or sys.getprofile() is not None,
        "works": json.loads(json.dumps([len("abc"), int("7"), sorted([2, 1]), str(5)])),
        "open": open.__name__,
    }
"""

_CHECK = f"""{_STATE}
def test_state():
    print("state", json.dumps(state()))

def test_right():
    assert len([1]) == 1

def test_wrong():
    assert len([1]) == 2
"""

_PYTEST_FILE = "test_next.py"
_PYTEST = f"""{_STATE}
import types, zlib

def code_of(space):
    for name, value in sorted(vars(space).items(), key=lambda item: item[0]):
        if isinstance(value, types.FunctionType):
            yield f"{{name}} {{value.__qualname__}} {{zlib.crc32(value.__code__.co_code)}}"
        elif isinstance(value, type) and isinstance(space, types.ModuleType):
            if value.__module__ == space.__name__:
                yield from code_of(value)

def pytest_state(config):
    names = [m for m in sorted(sys.modules) if m.partition(".")[0] in ("_pytest", "pluggy")]
    return {{
        "plugins": [name for name, _ in config.pluginmanager.list_name_plugin()
                    if not name.isdigit()],
        "settings": [str(config.inipath), config.getini("addopts"), config.getini("usefixtures")],
        "pytest": [f"{{name}} {{zlib.crc32(repr(list(code_of(sys.modules[name]))).encode())}}"
                   for name in names],
    }}

def test_state(request):
    print("state", json.dumps({{**state(), **pytest_state(request.config)}}))

def test_right(tmp_path):
    (tmp_path / "file").write_text("x")
    assert len([1]) == 1

def test_wrong():
    assert len([1]) == 2
"""


def next_check(sandbox: Sandbox) -> dict[str, Any]:
    """Return what a check finds; the work area is emptied.

    Raises:
        Escaped: its tests do not give the results that they must.
    """
    sandbox.restore(Snapshot(files={}))
    return _read("check", "", sandbox.check(_CHECK, limits=PATIENT_LIMITS), sandbox)


def next_pytest(sandbox: Sandbox) -> dict[str, Any]:
    """Return what a run of pytest finds, pytest's own code included; the work area is emptied.

    Raises:
        Escaped: its tests do not give the results that they must, or failures are not explained.
    """
    sandbox.restore(Snapshot(files={_PYTEST_FILE: _PYTEST.encode()}))
    result = sandbox.pytest(["-s"], limits=PATIENT_LIMITS)
    found = _read("pytest", f"{_PYTEST_FILE}::", result, sandbox)
    message = result.messages[f"{_PYTEST_FILE}::test_wrong"]
    if "assert 1 == 2" not in message:
        raise Escaped(f"the next pytest explained a failure with: {message}")
    return found


def _read(kind: str, prefix: str, result: CheckResult, sandbox: Sandbox) -> dict[str, Any]:
    wanted = {"test_state": "passed", "test_right": "passed", "test_wrong": "failed"}
    if dict(result.outcomes) != {prefix + name: outcome for name, outcome in wanted.items()}:
        raise Escaped(f"the next {kind} gave {dict(result.outcomes)} {dict(result.messages)}")
    text = result.execution.stdout.partition(b"state ")[2]
    found: dict[str, Any] = json.JSONDecoder().raw_decode(text.decode())[0]
    if not sandbox.is_isolated:
        del found["tmp"]  # it is everybody's
    return found

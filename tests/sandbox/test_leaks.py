"""Thousands of executions leave nothing behind: the counts of the end are those of the start."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sim2live.envs.sandbox.namespaces import missing_isolation

_EXECUTIONS = int(os.environ.get("SIM2LIVE_LEAK_EXECUTIONS", "20000"))
"""Fewer for a quick look; what is promised is 20,000."""
_GROWTH = 0.05


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_nothing_accumulates(record_property: Callable[[str, object], None]) -> None:
    if missing := missing_isolation():
        pytest.skip(f"no isolation on this machine: {missing}")
    program = Path(__file__).with_name("leaks.py")
    done = subprocess.run(
        [sys.executable, str(program), "--executions", str(_EXECUTIONS)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    start, end = told["start"], told["end"]
    memory = ", ".join(
        f"{name} {start[name] >> 10} KiB then {end[name] >> 10} KiB"
        for name in start
        if "memory" in name
    )
    record_property(
        "sandbox",
        f"leaks: {told['executions']} executions in {told['duration_s']} s, "
        f"{told['workers_lost']} workers lost; {memory}",
    )
    counts = {name: end[name] - start[name] for name in start if "memory" not in name}
    assert {name: more for name, more in counts.items() if more > 0} == {}
    assert told["after_close"] == {"processes": 0, "files": 0}
    for name in ("memory", "memory of the server"):
        assert 0 < end[name] <= start[name] * (1 + _GROWTH), (name, start[name], end[name])

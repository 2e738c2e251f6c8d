"""Carrying out an attack, by its kind, and what its own result gives away."""

from __future__ import annotations

import time
from typing import Any

from .attack_files import Attack, Escaped, NotTried
from .evidence import about_result
from .scene import Scene
from .witness import reveals

TESTS_SECRET = "hidden5bd1a7"
HIDDEN_TESTS = f"""
from solution import double

SECRET = "{TESTS_SECRET}"

def test_small():
    assert double(2) == 4

def test_large():
    assert double(5040) == 10080
"""
"""Tests that a solution must not pass, or read, without doubling anything."""


def carry_out(attack: Attack, scene: Scene, found: list[str]) -> None:
    """Do what the attack does; evidence in its own result is added to `found`."""
    start_s = time.monotonic()
    if attack.kind == "program":
        result = scene.run(attack.source)
        found += about_result(attack.limits, result, time.monotonic() - start_s)
        if attack.ends_by and result.limit not in attack.ends_by:
            found.append(f"expected to end by a limit {attack.ends_by}, ended by {result.limit}")
        if b"Traceback" in result.stderr and result.limit is None and result.exit_code == 1:
            raise NotTried(f"it failed: {result.stderr[-300:].decode(errors='replace')}")
    elif attack.kind == "solution":
        checked = scene.check(HIDDEN_TESTS, attack.source)
        passed = [name for name, outcome in checked.outcomes.items() if outcome == "passed"]
        if passed:
            found.append(f"hidden tests passed: {', '.join(passed)}")
        if set(checked.outcomes) - {"test_small", "test_large"}:
            found.append(f"tests that do not exist were reported: {sorted(checked.outcomes)}")
        if reveals(TESTS_SECRET, checked.execution.stdout + checked.execution.stderr):
            found.append("the text of the hidden tests was read")
    else:
        space: dict[str, Any] = {"Escaped": Escaped, "NotTried": NotTried}
        exec(compile(attack.source, f"{attack.name}.py", "exec"), space)
        space["drive"](scene)

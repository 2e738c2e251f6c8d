"""Tests whose outcome is known beforehand, under names drawn for each run.

Some must pass, some must fail. A run in which one that cannot pass has passed is forged; one in
which the others do not pass did not run the tests.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass

_NUM_EACH = 3


@dataclass(slots=True, kw_only=True, frozen=True)
class Canaries:
    """One file of such tests."""

    path: str
    source: bytes
    must_pass: frozenset[str]
    """Test ids."""
    must_fail: frozenset[str]

    def wrong(self, outcomes: Mapping[str, str]) -> list[str]:
        """Return what only an attack on the tests explains."""
        found = [
            "a test that cannot pass was reported as passed"
            for name in sorted(self.must_fail)
            if outcomes.get(name) == "passed"
        ]
        if "tampered" in outcomes.values():
            found.append("the code under test has changed files of the tests")
        return found

    def num_unfit(self, outcomes: Mapping[str, str]) -> int:
        """Return how many were not reported, or failed where nothing but the runner can fail."""
        return sum(outcomes.get(name) != "passed" for name in self.must_pass) + sum(
            name not in outcomes for name in self.must_fail
        )


def make_canaries(folder: str) -> Canaries:
    """Return new ones, for a file in `folder` ("" is the root)."""
    path = f"{folder}/test_{secrets.token_hex(6)}.py".lstrip("/")
    names = [f"test_{secrets.token_hex(4)}" for _ in range(2 * _NUM_EACH)]
    good = set(secrets.SystemRandom().sample(names, _NUM_EACH))
    number = secrets.randbelow(1000)
    source = "\n\n".join(
        f"def {name}():\n    assert {number} + 1 == {number + (1 if name in good else 2)}"
        for name in names
    )
    return Canaries(
        path=path,
        source=f"{source}\n".encode(),
        must_pass=frozenset(f"{path}::{name}" for name in names if name in good),
        must_fail=frozenset(f"{path}::{name}" for name in names if name not in good),
    )

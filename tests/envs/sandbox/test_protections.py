from __future__ import annotations

import pytest

from sim2live.envs.sandbox import protections as module
from sim2live.envs.sandbox.namespaces import missing_isolation
from sim2live.envs.sandbox.protections import protections
from sim2live.errors import SandboxUnavailableError


def test_everything_but_missing_namespaces_is_in_force() -> None:
    if missing := missing_isolation():
        pytest.skip(f"no isolation on this machine: {missing}")
    found = {protection.name: protection for protection in protections()}
    assert {"seccomp", "no_new_privs", "read-only root", "no network"} <= found.keys()
    lacking = {name: found[name] for name in found if not found[name].is_in_force}
    assert lacking.keys() <= {"cgroup namespace"}, lacking


def test_without_isolation_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "missing_isolation", lambda: "user namespace: no")
    with pytest.raises(SandboxUnavailableError, match="user namespace: no"):
        protections()

from __future__ import annotations

import pytest

from sim2live.envs.sandbox import landlock
from sim2live.envs.sandbox import protections as module
from sim2live.envs.sandbox.namespaces import missing_isolation
from sim2live.envs.sandbox.protections import protections
from sim2live.errors import SandboxUnavailableError


def _found() -> dict[str, module.Protection]:
    if missing := missing_isolation():
        pytest.skip(f"no isolation on this machine: {missing}")
    return {protection.name: protection for protection in protections()}


def test_everything_that_every_machine_has_is_in_force() -> None:
    found = _found()
    assert {"seccomp", "no_new_privs", "read-only root", "no network"} <= found.keys()
    lacking = {name: found[name] for name in found if not found[name].is_in_force}
    assert lacking.keys() <= {"cgroup namespace", "Landlock", "control group"}, lacking
    assert all(protection.remedy for protection in lacking.values())


def test_landlock_is_named_with_its_version_or_with_what_to_do() -> None:
    walls = _found()["Landlock"]
    assert walls.is_in_force == (landlock.abi() > 0)
    if walls.is_in_force:
        assert f"version {landlock.abi()}; refused: " in walls.detail
    else:
        assert "SECURITY_LANDLOCK" in walls.remedy


def test_a_rule_that_does_not_hold_is_named() -> None:
    tried = {"device nodes": "EACCES", "TCP": "done", "device controls": "ENOTTY"}
    walls = module._landlock({"landlock": 4, "tried": tried})
    assert (walls.is_in_force, walls.detail) == (False, "version 4, but not refused: TCP")
    assert module._landlock({"landlock": 3, "tried": tried}).is_in_force
    assert module._landlock({"landlock": -1, "tried": tried}).detail == "not there"


def test_the_control_group_is_named_with_its_bounds() -> None:
    group = module._control_group(["/c/memory/x"], {"memory": 200 << 20})
    assert not group.is_in_force
    assert "memory 200 MiB" in group.detail and "/c/memory/x" in group.detail
    assert group.remedy.endswith("hands down: pids")
    assert module._control_group(["/c/x"], {"memory": 1 << 20, "pids": 20}).is_in_force
    assert module._control_group([], {}).detail == "none"


def test_without_isolation_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "missing_isolation", lambda: "user namespace: no")
    with pytest.raises(SandboxUnavailableError, match="user namespace: no"):
        protections()

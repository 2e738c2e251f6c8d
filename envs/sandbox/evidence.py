"""What an attack has touched: looked for from outside, whatever the attack says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import SandboxError
from .attack_files import Attack
from .base import ExecResult, Limits
from .witness import reveals

if TYPE_CHECKING:
    from .scene import Scene

_LATE_S = 1.5
"""How long after the wall-time limit an answer may come."""
_MEMORY_SLACK_BYTES = 160 << 20
"""For interpreters, and for pages that forked processes share and that are counted for each."""
_PROCESS_SLACK = 8


def about_result(limits: Limits, result: ExecResult, duration_s: float) -> list[str]:
    """Say which limits the result of an execution shows to have been broken.

    Args:
        limits: under which it ran.
        result: what came back.
        duration_s: how long the caller waited for it.
    """
    found = []
    if (late_s := duration_s - limits.wall_time_s) > _LATE_S:
        found.append(f"it ended {late_s:.1f} s after its time limit")
    if max(len(result.stdout), len(result.stderr)) > limits.output_bytes:
        found.append("more output came back than its limit allows")
    return found


def collect(attack: Attack, scene: Scene) -> list[str]:
    """Look at everything an attack might have touched."""
    host, limits = scene.host, attack.limits
    found = [f"it says: {what}" for what in scene.told("got")]
    if left := host.survivors():
        found.append(f"{left} of its processes were left")
    found += host.damage()
    said = b"\n".join(scene.said) + _left_files(scene, found)
    if host.reveals(said):
        found.append("a secret of the host was read")
    if scene.other_facts and reveals(scene.other_facts["secret"], said):
        found.append("a secret of another episode was read")
    if scene.peak is not None:
        most = limits.memory_bytes + 2 * limits.disk_bytes + _MEMORY_SLACK_BYTES
        if scene.peak.memory_bytes > most:
            used, allowed = scene.peak.memory_bytes >> 20, most >> 20
            found.append(f"it used {used} MiB of memory, {allowed} MiB are allowed")
        if scene.peak.processes > limits.processes + _PROCESS_SLACK:
            found.append(f"it had {scene.peak.processes} processes at a time")
    return found + scene.aftermath()


def _left_files(scene: Scene, found: list[str]) -> bytes:
    """Return the files of the work area, which must not claim more than their limit."""
    try:
        files = scene.sandbox.snapshot().files
    except (SandboxError, OSError) as error:
        found.append(f"the work area cannot be read any more: {error}")
        return b""
    allowed = scene.limits.disk_bytes
    if (held := sum(map(len, files.values()))) > allowed:
        found.append(f"the work area holds {held} bytes, {allowed} are allowed")
    return b"\n".join([*files.values(), *(path.encode(errors="replace") for path in files)])

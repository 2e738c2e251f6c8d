"""Whose a container is: labels that name the owning process, and removing what a dead one left.

A container also ends by itself when its owner does, because its server's input closes. These labels
are for what that misses: a container made but not started, a daemon that died meanwhile.
"""

from __future__ import annotations

import contextlib
import functools
import os
import platform
from pathlib import Path
from typing import Any

from .docker_errors import translated, using

PROJECT_LABEL = "sim2live.sandbox"
_HOST, _BOOT, _PIDS, _PID, _START = (
    f"{PROJECT_LABEL}.{name}" for name in ("host", "boot", "pids", "pid", "start")
)


def owner_labels() -> dict[str, str]:
    """Return the labels of a container that this process owns."""
    pid = os.getpid()
    return {
        PROJECT_LABEL: "1",
        **_surroundings(),
        _PID: str(pid),
        _START: _start_time(pid) or "",
    }


def is_orphan(labels: dict[str, str]) -> bool:
    """Say whether a container's owner is known to be dead.

    Owners on another machine or in another PID namespace cannot be looked up, so theirs are not.
    """
    ours = _surroundings()
    if labels.get(_HOST) != ours[_HOST]:
        return False
    if labels.get(_BOOT) != ours[_BOOT]:
        return True
    if labels.get(_PIDS) != ours[_PIDS] or not labels.get(_PID, "").isdigit():
        return False
    return _start_time(int(labels[_PID])) != labels.get(_START)


def cleanup_containers(*, should_remove_all: bool = False, client: Any = None) -> list[str]:
    """Remove the sandboxes' containers that dead processes have left.

    Args:
        should_remove_all: remove those of living processes, and of other machines, as well.
        client: of the `docker` SDK; by default that of the environment.

    Returns:
        Names of the containers that were removed.

    Raises:
        SandboxUnavailableError: no daemon can be used; the message says what to do.
    """
    removed = []
    with using(client) as used:
        with translated("listing containers"):
            found = used.api.containers(all=True, filters={"label": PROJECT_LABEL})
        for entry in found:
            if should_remove_all or is_orphan(entry["Labels"]):
                remove_container(used.api, entry["Id"])
                removed.append(entry["Names"][0].lstrip("/") if entry["Names"] else entry["Id"])
    return sorted(removed)


def remove_container(api: Any, container_id: str) -> None:
    """Kill and remove a container and wait until it is gone; one that is gone already is fine."""
    from docker.errors import APIError, NotFound

    with translated("removing a container"), contextlib.suppress(NotFound):
        try:
            api.remove_container(container_id, force=True, v=True)
        except APIError as error:
            if error.status_code != 409:
                raise
            # It is being removed already, since it ended.
            api.wait(container_id, timeout=30, condition="removed")


@functools.cache
def _surroundings() -> dict[str, str]:
    return {
        _HOST: _text("/etc/machine-id") or platform.node(),
        _BOOT: _text("/proc/sys/kernel/random/boot_id"),
        _PIDS: _link("/proc/self/ns/pid"),
    }


def _start_time(pid: int) -> str | None:
    """Return when a process started (clock ticks since boot); None if there is none."""
    try:
        # The name in the second field is the program's choice and may hold anything.
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    is_dead = fields[0] in (b"Z", b"X")
    return None if is_dead else fields[19].decode()


def _text(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""

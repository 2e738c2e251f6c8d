"""Which protections a program in the `namespaces` sandbox is under on this machine.

Found by trying: a program in a real sandbox looks at itself and attempts what it must not do.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any

from ...errors import SandboxUnavailableError
from . import cgroups, landlock
from .base import Limits
from .namespaces import NamespaceSandbox, how_to_enable, missing_isolation

_LIMITS = Limits(wall_time_s=20.0, memory_bytes=256 << 20, disk_bytes=8 << 20)
_NAMESPACES = ("user", "mnt", "pid", "net", "ipc", "uts", "cgroup")
_LOOK = """
import contextlib, ctypes, errno, json, os, resource, socket, stat
found = {"namespaces": {}, "writable": [], "reached": []}
for kind in %(kinds)r:
    with contextlib.suppress(OSError):
        found["namespaces"][kind] = os.readlink("/proc/self/ns/" + kind)
with open("/proc/self/status") as file:
    found["status"] = dict(line.rstrip("\\n").split(":\\t", 1) for line in file if ":\\t" in line)
for folder in ("/", "/usr", "/etc", "/dev", os.path.dirname(os.__file__)):
    with contextlib.suppress(OSError):
        open(folder + "/.tried", "w").close()
        found["writable"].append(folder)
for address in (("127.0.0.1", 22), ("192.0.2.1", 53)):
    with contextlib.suppress(OSError), socket.socket(type=socket.SOCK_DGRAM) as made:
        made.connect(address)
        found["reached"].append(address[0])
try:
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW).close()
    found["families"] = "all"
except OSError:
    found["families"] = "some"
found["landlock"] = ctypes.CDLL(None).syscall(444, None, ctypes.c_size_t(0), 1)
def answer(attempt):
    try:
        attempt()
        return "done"
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error.errno))
# What only Landlock refuses: a device node that needs no rights, and what has nothing to do with
# mounts. Without it the third is no terminal (ENOTTY).
found["tried"] = {
    "device nodes": answer(lambda: os.mknod("/tmp/.tried", stat.S_IFCHR | 0o600, 0)),
    "TCP": answer(lambda: socket.socket().bind(("", 0))),
    "device controls": answer(lambda: os.tcgetpgrp(os.open("/dev/null", os.O_RDWR))),
}
found["limits"] = [resource.getrlimit(kind) for kind in %(limits)s]
found["sizes"] = [os.statvfs(p).f_blocks * os.statvfs(p).f_frsize for p in ("/tmp", ".")]
print(json.dumps(found))
"""
_RESOURCES = (
    "(resource.RLIMIT_AS, resource.RLIMIT_CPU, resource.RLIMIT_FSIZE, resource.RLIMIT_CORE, "
    "resource.RLIMIT_NPROC)"
)


@dataclass(slots=True, kw_only=True, frozen=True)
class Protection:
    """One protection: is it in force, how, and what to do if it is not."""

    name: str
    is_in_force: bool
    detail: str
    remedy: str = ""
    is_extra: bool = False
    """True for a second wall: isolation holds without it, and many machines do not give it."""


def protections() -> list[Protection]:
    """Start a sandbox, look from inside, and say what protects the machine from a program in it.

    Raises:
        SandboxUnavailableError: no sandbox can be had here; the message says what to do.
    """
    if missing := missing_isolation():
        raise SandboxUnavailableError(how_to_enable(missing))
    source = _LOOK % {"kinds": _NAMESPACES, "limits": _RESOURCES}
    with NamespaceSandbox(_LIMITS) as sandbox:
        result = sandbox.python(source)
        bounds = cgroups.describe(sandbox.control_group)
        folders = sandbox.control_group
    if not result.is_ok:
        raise SandboxUnavailableError(f"a program that looks at itself did not run: {result.text}")
    found = json.loads(result.stdout)
    return [
        *_namespaces(found),
        *_rights(found),
        _landlock(found),
        *_bounds(found),
        _control_group(folders, bounds),
    ]


def _namespaces(found: dict[str, Any]) -> list[Protection]:
    made = []
    for kind in _NAMESPACES:
        inside, outside = found["namespaces"].get(kind), _own_namespace(kind)
        is_other = inside is not None and inside != outside
        detail = f"its own ({inside})" if is_other else "that of the caller"
        remedy = "" if is_other else "use a kernel with this kind of namespace"
        made.append(
            Protection(name=f"{kind} namespace", is_in_force=is_other, detail=detail, remedy=remedy)
        )
    return made


def _own_namespace(kind: str) -> str | None:
    try:
        return os.readlink(f"/proc/self/ns/{kind}")
    except OSError:
        return None


def _rights(found: dict[str, Any]) -> list[Protection]:
    status = found["status"]
    has_filter = status.get("Seccomp", "0").strip() == "2" and found["families"] == "some"
    has_none = {status[f"Cap{kind}"] for kind in ("Inh", "Prm", "Eff", "Amb")} == {"0" * 16}
    return [
        Protection(
            name="no_new_privs",
            is_in_force=status.get("NoNewPrivs", "").strip() == "1",
            detail="set-user-id programs and file capabilities have no effect",
        ),
        Protection(name="no capabilities", is_in_force=has_none, detail="every set is empty"),
        Protection(
            name="seccomp",
            is_in_force=has_filter,
            detail="system calls and families of sockets are filtered"
            if has_filter
            else "no filter",
            remedy="" if has_filter else "use x86_64 or aarch64, and a kernel with SECCOMP_FILTER",
        ),
        Protection(
            name="read-only root",
            is_in_force=not found["writable"],
            detail=f"can be written: {', '.join(found['writable']) or 'only /area and /tmp'}",
        ),
        Protection(
            name="no network",
            is_in_force=not found["reached"],
            detail=f"reached: {', '.join(found['reached']) or 'nothing, not even loopback'}",
        ),
    ]


def _landlock(found: dict[str, Any]) -> Protection:
    version, tried = found["landlock"], found["tried"]
    since = {
        "device nodes": landlock.MIN_ABI,
        "TCP": landlock.TCP_ABI,
        "device controls": landlock.DEVICES_ABI,
    }
    wanted = [name for name, first in since.items() if version >= first]
    allowed = [name for name in wanted if tried[name] != "EACCES"]
    if version < landlock.MIN_ABI:
        detail = f"not there (version {version})" if version > 0 else "not there"
    elif allowed:
        detail = f"version {version}, but not refused: {', '.join(allowed)}"
    else:
        # No process outside of the program's tree can be seen from inside, to try it on.
        rest = ["signals and abstract sockets to others"] if version >= landlock.SCOPE_ABI else []
        refused = ["writing outside of /area and /tmp", *wanted, *rest]
        detail = f"version {version}; refused: {', '.join(refused)}"
    is_in_force = version >= landlock.MIN_ABI and not allowed
    remedy = "use Linux 5.19 or newer with SECURITY_LANDLOCK, and `landlock` in its list `lsm=`"
    return Protection(
        name="Landlock",
        is_in_force=is_in_force,
        detail=detail,
        remedy="" if is_in_force else remedy,
        is_extra=True,
    )


def _control_group(folders: list[str], bounds: dict[str, int]) -> Protection:
    told = []
    if "memory" in bounds:
        told.append(f"memory {bounds['memory'] >> 20} MiB")
    if "pids" in bounds:
        told.append(f"{bounds['pids']} tasks")
    missing = {"memory", "pids"} - bounds.keys()
    detail = f"{', '.join(told)}, forkers included ({', '.join(folders)})" if told else "none"
    remedy = (
        "run as root, or in a subtree of version 2 that is delegated to you, where the control "
        f"group's parent hands down: {', '.join(sorted(missing))}"
    )
    return Protection(
        name="control group",
        is_in_force=not missing,
        detail=detail,
        remedy=remedy if missing else "",
        is_extra=True,
    )


def _bounds(found: dict[str, Any]) -> list[Protection]:
    address_space, cpu, size, core, tasks = (soft for soft, _ in found["limits"])
    is_bounded = (
        0 < address_space <= _LIMITS.memory_bytes
        and 0 < cpu <= _LIMITS.cpu_time_s
        and 0 < size <= _LIMITS.file_bytes
        and core == 0
        and tasks > 0
    )
    sizes = found["sizes"]
    return [
        Protection(
            name="resource limits",
            is_in_force=is_bounded,
            detail="address space, CPU time, file size, tasks; no core dumps",
        ),
        Protection(
            name="bounded disk",
            is_in_force=max(sizes) <= _LIMITS.disk_bytes + (1 << 16),
            detail="work area and /tmp are memory file systems of bounded size",
        ),
        Protection(
            name="memory of the tree",
            is_in_force=True,
            detail="watched every 20 ms: resident and shared memory, anonymous files, buffers of "
            "unix sockets",
        ),
    ]

"""Where code runs: a private work area and ways to run programs in it.

Three sandboxes, one interface (`Sandbox` in `base.py`):

- `namespaces` (the default, Linux): every execution is a fork of a warm interpreter in new
  namespaces, with a private root folder. For code that nobody has read.
- `docker`: every execution is a fork of a warm interpreter in a container without network or
  rights, which one sandbox has to itself. For code that nobody has read, where a daemon runs.
- `process`: plain subprocesses in a temporary folder. For code that you trust; asked for by name.

Covered by `namespaces`:

- Host files: the root folder is private. It holds, read-only, /usr and the folders of the Python
  interpreter (and of its virtual environment); the work area and a fresh /tmp are in memory.
- Network: none, not even loopback.
- Processes: a program sees only its own tree; all of it ends with the main program or at a limit,
  daemons included. Nothing goes on after `close()` or after the caller dies.
- Rights: an unprivileged user without capabilities, no set-user-id programs, no new user
  namespaces, and a filter that refuses system calls no test needs (ptrace, mount, bpf, keyrings,
  io_uring ...).
- Once more, where the kernel has Landlock: no writing outside of the work area and /tmp, no
  device nodes or controls, no TCP, no signals or abstract unix sockets out of the program's tree.
- Resources: wall time, CPU time and resident memory of the whole tree; address space of each
  process; tasks, file size, size and number of files, output. A limit that only the kernel sees
  (`processes`, one failed allocation of a program that is not our interpreter) is enforced always
  but named in the result only if it was noticed.
- Poisoning: each execution starts from the same clean interpreter; a file left in the work area
  cannot lead the caller out of it (symbolic links are never followed).
- Early ends: `sys.exit`, `os._exit`, an exception at import, a killed process or printed words
  never make a test pass.

`docker` covers the same, with these differences: all but the work area, /tmp and /dev/shm is the
image, read-only; executions of one sandbox follow each other in one container, whose processes are
all killed and whose /tmp and /dev/shm are emptied after each; kernel objects that could outlive one
(System V IPC, message queues) cannot be made; the kernel's limits on the container hold for the
sandbox, those of one execution are set per process and watched every 20 ms; the files are lost with
a container that dies.

Not covered:

- Bugs in the Linux kernel. Use a virtual machine where that matters.
- Side channels, and what can be learnt from timing or from the files of /usr.
- A program that attacks its own tests, in `check` and `pytest`: they run the tests in the
  interpreter of the code under test, as every Python test runner does. `judge` keeps them apart
  (see `Sandbox.judge`); whatever decides over a reward should use that. In `process` it does the
  same, but nothing keeps one process from the memory of another.
- Memory in the work area, /tmp and pipes is bounded by `disk_bytes` (each) and not by
  `memory_bytes`.
- Memory between two looks, where no control group can be made: what the whole tree uses is watched
  every 20 ms, and only the address space of each process is bounded at once. Where one can, the
  kernel stops the tree at `memory_bytes`, the sizes of the file systems and some more (48 MiB, and
  what the forkers have) at every moment.
"""

from __future__ import annotations

from ...errors import SandboxUnavailableError, unknown_name
from .base import CheckResult, ExecResult, Limits, Sandbox, Snapshot
from .conformance import check_sandbox
from .docker_backend import DockerSandbox
from .docker_owner import cleanup_containers
from .docker_pool import ContainerPool
from .namespaces import NamespaceSandbox, how_to_enable, missing_isolation
from .process import ProcessSandbox

__all__ = [
    "CheckResult",
    "ContainerPool",
    "DockerSandbox",
    "ExecResult",
    "Limits",
    "NamespaceSandbox",
    "ProcessSandbox",
    "Sandbox",
    "Snapshot",
    "check_sandbox",
    "cleanup_containers",
    "isolation_report",
    "make_sandbox",
]

_NAMES = ("namespaces", "docker", "process")


def make_sandbox(name: str = "namespaces", *, limits: Limits | None = None) -> Sandbox:
    """Make a sandbox by name.

    Args:
        name: `namespaces` or `docker` (isolating), or `process` (not isolating).
        limits: limits of executions that name none.

    Raises:
        SandboxUnavailableError: isolation cannot be had on this machine. It is never replaced by
            less; the message says what is missing and what to do. (`docker` says so at its first
            use, when it starts a container.)
        ConfigError: unknown name, or limits that cannot be enforced.
    """
    if name not in _NAMES:
        raise unknown_name("sandbox", name, _NAMES)
    if name == "process":
        return ProcessSandbox(limits)
    if name == "docker":
        return DockerSandbox(limits)
    missing = missing_isolation()
    if missing is not None:
        raise SandboxUnavailableError(how_to_enable(missing))
    return NamespaceSandbox(limits)


def isolation_report() -> dict[str, str]:
    """Say which protections the `namespaces` sandbox has on this machine, found by trying.

    Returns:
        Protection to what is in force. Where isolation cannot be had the one entry `isolation`
        says why.
    """
    missing = missing_isolation()
    if missing is not None:
        return {"isolation": f"none: {how_to_enable(missing)}"}
    from . import landlock
    from .kernel import has_call_filter

    return {
        "isolation": "in force",
        "files": "private root folder; /usr and the interpreter read-only",
        "network": "none",
        "processes": "own PID namespace, ended as a whole; tasks bounded per execution",
        "rights": "no capabilities, no new privileges, no further user namespaces",
        "system_calls": "filtered" if has_call_filter() else "not filtered on this architecture",
        "landlock": f"version {landlock.abi()}" if landlock.abi() else "not on this kernel",
        "memory": "address space per process; resident memory of the tree, watched every 20 ms; a "
        "control group where one can be made",
        "cpu_time": "of the whole tree, watched every 20 ms",
        "disk": "memory file systems of bounded size",
    }

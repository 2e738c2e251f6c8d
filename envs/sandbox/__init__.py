"""Where code runs: a private work area and ways to run programs in it.

Two sandboxes, one interface (`Sandbox` in `base.py`):

- `namespaces` (the default, Linux): every execution is a fork of a warm interpreter in new
  namespaces, with a private root folder. For code that nobody has read.
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
- Resources: wall time, CPU time and resident memory of the whole tree; address space of each
  process; tasks, file size, size and number of files, output. A limit that only the kernel sees
  (`processes`, one failed allocation of a program that is not our interpreter) is enforced always
  but named in the result only if it was noticed.
- Poisoning: each execution starts from the same clean interpreter; a file left in the work area
  cannot lead the caller out of it (symbolic links are never followed).
- Early ends: `sys.exit`, `os._exit`, an exception at import, a killed process or printed words
  never make a test pass.

Not covered:

- Bugs in the Linux kernel. Use a virtual machine where that matters.
- Side channels, and what can be learnt from timing or from the files of /usr.
- A program that attacks its own tests. `check` runs the tests in the interpreter of the code under
  test, as every Python test runner does: code that patches what the tests use, or that finds the
  runner in memory and writes reports in its name, can make a test pass. This is what a reward hack
  looks like; finding it is the work of the hack detectors.
- Memory in the work area, /tmp and pipes is bounded by `disk_bytes` (each) and not by
  `memory_bytes`.
"""

from __future__ import annotations

from ...errors import SandboxUnavailableError, unknown_name
from .base import CheckResult, ExecResult, Limits, Sandbox, Snapshot
from .conformance import check_sandbox
from .namespaces import NamespaceSandbox, how_to_enable, missing_isolation
from .process import ProcessSandbox

__all__ = [
    "CheckResult",
    "ExecResult",
    "Limits",
    "NamespaceSandbox",
    "ProcessSandbox",
    "Sandbox",
    "Snapshot",
    "check_sandbox",
    "isolation_report",
    "make_sandbox",
]

_NAMES = ("namespaces", "process")


def make_sandbox(name: str = "namespaces", *, limits: Limits | None = None) -> Sandbox:
    """Make a sandbox by name.

    Args:
        name: `namespaces` (isolating) or `process` (not isolating).
        limits: limits of executions that name none.

    Raises:
        SandboxUnavailableError: isolation cannot be had on this machine. It is never replaced by
            less; the message says what is missing and what to do.
        ConfigError: unknown name, or limits that cannot be enforced.
    """
    if name not in _NAMES:
        raise unknown_name("sandbox", name, _NAMES)
    if name == "process":
        return ProcessSandbox(limits)
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
    from .kernel import has_call_filter

    return {
        "isolation": "in force",
        "files": "private root folder; /usr and the interpreter read-only",
        "network": "none",
        "processes": "own PID namespace, ended as a whole; tasks bounded per execution",
        "rights": "no capabilities, no new privileges, no further user namespaces",
        "system_calls": "filtered" if has_call_filter() else "not filtered on this architecture",
        "memory": "address space per process; resident memory of the tree, watched every 20 ms",
        "cpu_time": "of the whole tree, watched every 20 ms",
        "disk": "memory file systems of bounded size",
    }

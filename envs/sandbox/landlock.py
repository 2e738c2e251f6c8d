"""Landlock: a second wall around files, devices, TCP, and what processes can do to each other.

Mounts and namespaces decide what a program can see. Landlock, where the kernel has it, refuses on
its own what they should have kept away: writing anywhere but in the work area and /tmp, device
nodes and the controls of devices, TCP, and signals or abstract unix sockets that lead out of the
program's own tree. Whatever a program starts is in the same domain, so that nothing changes among
its own processes.

The forker makes a rule set for each execution, since /tmp is another file system each time, and the
program lays it on itself by one call. A set that all executions shared would grow by a rule each
time, and never shrink. Runs in the fork server: it imports only the standard library.
"""

from __future__ import annotations

import ctypes
import functools
import os

from .kernel import fail

# The same numbers on every architecture.
_SYS_CREATE_RULESET, _SYS_ADD_RULE, _SYS_RESTRICT_SELF = 444, 445, 446
_ASK_VERSION = 1
_PATH_BENEATH = 1
MIN_ABI = 2
"""The first that lets a program move files between folders of the work area."""
TCP_ABI, DEVICES_ABI, SCOPE_ABI = 4, 5, 6
"""The versions from which TCP, device controls, and what leads out of the tree are refused."""
_SILENT_ABI = 7

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = (1 << bit for bit in range(4))
_REMOVE_DIR, _REMOVE_FILE, _MAKE_CHAR, _MAKE_DIR, _MAKE_REG = (1 << bit for bit in range(4, 9))
_MAKE_SOCK, _MAKE_FIFO, _MAKE_BLOCK, _MAKE_SYM, _REFER = (1 << bit for bit in range(9, 14))
_TRUNCATE, _IOCTL_DEV = 1 << 14, 1 << 15
_HANDLED_FROM = {1: _REFER - 1, 2: _REFER, 3: _TRUNCATE, DEVICES_ABI: _IOCTL_DEV}
"""Rights to files that each version has brought; what is handled and not given is refused."""

_LOOK = _EXECUTE | _READ_FILE | _READ_DIR
_CHANGE = (
    *(_WRITE_FILE, _REMOVE_DIR, _REMOVE_FILE, _MAKE_DIR, _MAKE_REG, _MAKE_SOCK),
    *(_MAKE_FIFO, _MAKE_SYM, _REFER, _TRUNCATE),
)

_BIND_TCP, _CONNECT_TCP = 1, 2
_TO_ABSTRACT_SOCKETS, _TO_PROCESSES = 1, 2
_SILENT_SAME_EXEC, _SILENT_SUBDOMAINS = 1, 4
"""What is refused is not written to the audit log of the host, which it could fill."""

_libc = ctypes.CDLL(None, use_errno=True)
_syscall = _libc["syscall"]  # another object than the attribute, which others call in other ways
_syscall.argtypes = (ctypes.c_long,) * 5
_syscall.restype = ctypes.c_long


class _Ruleset(ctypes.Structure):
    _fields_ = (
        ("handled_files", ctypes.c_uint64),
        ("handled_tcp", ctypes.c_uint64),
        ("scoped", ctypes.c_uint64),
    )


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32))


@functools.cache
def abi() -> int:
    """Return the version of the interface that this kernel has; 0 if there is none to be used."""
    found = int(_syscall(_SYS_CREATE_RULESET, 0, 0, _ASK_VERSION, 0))
    return found if found >= MIN_ABI else 0


class Landlock:
    """Makes the rule sets of executions; everything about them but /tmp is prepared once.

    Does nothing where the kernel has none.

    Args:
        writable: folders below which anything but a device may be made, changed and removed.
        devices: folders below which files may be written to, but none made.
        version: of the interface; a lower one than the kernel has asks for less, 0 for nothing.

    Raises:
        OSError: a folder cannot be opened.
    """

    def __init__(self, writable: tuple[str, ...], devices: tuple[str, ...], version: int) -> None:
        self._version = version
        handled = sum(bits for since, bits in _HANDLED_FROM.items() if since <= version)
        change = sum(_CHANGE) & handled
        tcp = _BIND_TCP | _CONNECT_TCP if version >= TCP_ABI else 0
        scoped = _TO_ABSTRACT_SOCKETS | _TO_PROCESSES if version >= SCOPE_ABI else 0
        size = 8 if version < TCP_ABI else 16 if version < SCOPE_ABI else 24
        is_silent = version >= _SILENT_ABI
        self._flags = _SILENT_SAME_EXEC | _SILENT_SUBDOMAINS if is_silent else 0
        self._ruleset = _Ruleset(handled, tcp, scoped)
        self._create = (_SYS_CREATE_RULESET, ctypes.addressof(self._ruleset), size, 0, 0)
        given = ((("/",), _LOOK), (writable, change), (devices, _WRITE_FILE))
        self._rules = [
            _PathBeneath(allowed, os.open(path, os.O_PATH | os.O_CLOEXEC))
            for paths, allowed in (given if version else ())
            for path in paths
        ]
        self._tmp = _PathBeneath(change, -1)
        self._addresses = [ctypes.addressof(rule) for rule in (*self._rules, self._tmp)]

    def make_ruleset(self, tmp: int) -> int:
        """Return a descriptor (closed on exec) of the rules for one execution, -1 for none.

        Args:
            tmp: descriptor of the folder that it may write to besides the usual ones.
        """
        if not self._version:
            return -1
        ruleset = _syscall(*self._create)
        if ruleset < 0:
            fail("landlock_create_ruleset")
        self._tmp.folder = tmp
        for address in self._addresses:
            if _syscall(_SYS_ADD_RULE, ruleset, _PATH_BENEATH, address, 0):
                os.close(ruleset)
                fail("landlock_add_rule")
        return int(ruleset)

    def restrict(self, ruleset: int) -> None:
        """Lay the rules on this process and all that it starts, for good.

        It must have refused new privileges (or have rights over its user namespace). No mounts can
        be changed afterwards.
        """
        if ruleset >= 0 and _syscall(_SYS_RESTRICT_SELF, ruleset, self._flags, 0, 0):
            fail("landlock_restrict_self")

"""Landlock: what a program may do with files, decided once more, apart from mounts and owners.

The private root already holds nothing that could be written but /area and /tmp. Landlock says the
same again in another part of the kernel, so that a mistake in one is not yet an escape, and adds
what mounts cannot say: no device node is made anywhere, no call goes to a device's driver, no TCP
port is bound or connected to, and no abstract socket or signal reaches a process outside of the
program's own tree.

A rule belongs to a folder and all that is below it, mounts too. Rules cannot be laid before a
program has mounted its /proc (Landlock forbids mounts), so each program lays its own: about ten
microseconds. Source: Linux, `Documentation/userspace-api/landlock.rst`.
"""

from __future__ import annotations

import ctypes
import functools
import os

from .kernel import fail

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on every architecture
_VERSION_QUERY = 1
_PATH_BENEATH = 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_REMOVE_DIR, _REMOVE_FILE, _MAKE_DIR, _MAKE_REG = 1 << 4, 1 << 5, 1 << 7, 1 << 8
_MAKE_SOCK, _MAKE_FIFO, _MAKE_SYM = 1 << 9, 1 << 10, 1 << 12
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_FIRST_ABI = (1 << 13) - 1
"""All rights of the first version, those to make device nodes too."""

_READ = _EXECUTE | _READ_FILE | _READ_DIR
_WORK = (
    (_READ | _WRITE_FILE | _REMOVE_DIR | _REMOVE_FILE | _MAKE_DIR | _MAKE_REG)
    | (_MAKE_SOCK | _MAKE_FIFO | _MAKE_SYM | _REFER | _TRUNCATE)
)  # fmt: skip
_DEVICES = _WRITE_FILE | _TRUNCATE

_libc = ctypes.CDLL(None, use_errno=True)
_call = _libc.syscall
_call.argtypes = tuple([ctypes.c_long] * 5)
_call.restype = ctypes.c_long


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _Rule(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32))


@functools.cache
def version() -> int:
    """Return the version of Landlock's interface that this kernel offers; 0 if it has none."""
    return max(0, int(_call(_CREATE_RULESET, 0, 0, _VERSION_QUERY, 0)))


class Rules:
    """The rules of all programs of one forker, made before it forks any.

    Args:
        workspace: path of the work area.
    """

    def __init__(self, workspace: str) -> None:
        abi = version()
        files = _FIRST_ABI
        for since, right in ((2, _REFER), (3, _TRUNCATE), (5, _IOCTL_DEV)):
            files |= right if abi >= since else 0
        ruleset = _Ruleset(files, 0b11 if abi >= 4 else 0, 0b11 if abi >= 6 else 0)
        self._ruleset = ruleset
        self._size = 8 if abi < 4 else 16 if abi < 6 else 24
        self._ruleset_at = ctypes.addressof(ruleset)
        flags = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
        folders = (("/", _READ), ("/dev", _DEVICES), (workspace, _WORK)) if abi else ()
        self._rules = [_Rule(right & files, os.open(path, flags)) for path, right in (*folders,)]
        self._own = _Rule(_WORK & files, -1)
        self._at = [ctypes.addressof(rule) for rule in (*self._rules, self._own)]

    def enforce(self, tmp: int) -> None:
        """Bind this process to the rules, for good; it must have refused new privileges.

        Does nothing where the kernel has no Landlock.

        Args:
            tmp: descriptor of the program's own /tmp.

        Raises:
            OSError: the kernel refused.
        """
        if not self._rules:
            return
        self._own.folder = tmp
        fd = _call(_CREATE_RULESET, self._ruleset_at, self._size, 0, 0)
        failed = fd < 0
        for at in self._at:
            failed = failed or _call(_ADD_RULE, fd, _PATH_BENEATH, at, 0) != 0
        if failed or _call(_RESTRICT_SELF, fd, 0, 0, 0):
            fail("landlock")
        os.close(fd)

"""The Linux system calls that isolation needs and Python 3.11 does not offer, through libc.

Every function raises `OSError` naming the call, so that a missing protection can be named. Runs in
the fork server: it imports only the standard library.
"""

from __future__ import annotations

import ctypes
import os
import platform

CLONE_NEWNS = 0x00020000
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_RDONLY = 0x1
MS_NOSUID = 0x2
MS_NODEV = 0x4
MS_NOEXEC = 0x8
MS_REMOUNT = 0x20
MS_BIND = 0x1000
MS_REC = 0x4000
MS_PRIVATE = 0x40000
MNT_DETACH = 2

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_SECCOMP = 22
_PR_SET_NO_NEW_PRIVS = 38
_SECCOMP_MODE_FILTER = 2
_MOUNT_ATTR_LOCKDOWN = 0x1 | 0x2 | 0x4  # read-only, nosuid, nodev
_AT_RECURSIVE = 0x8000
_SYS_MOUNT_SETATTR = 442  # the same number on every architecture
_SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}

# Calls that widen the kernel's attack surface and that no program under test needs: new namespaces
# and mounts, keyrings (not namespaced), bpf, perf, userfaultfd, io_uring (escapes rlimits and
# filters), tracing and reading other processes, kernel modules, kexec, handles.
_REFUSED_CALLS = {
    "x86_64": (
        *(101, 310, 311),  # ptrace, process_vm_readv, process_vm_writev
        *(165, 166, 155, 161, 272, 308),  # mount, umount2, pivot_root, chroot, unshare, setns
        *(248, 249, 250, 298, 321, 323),  # add_key, request_key, keyctl, perf, bpf, userfaultfd
        *(175, 176, 313, 246, 320, 169),  # modules, kexec, reboot
        *(303, 304),  # name_to_handle_at, open_by_handle_at
    ),
    "aarch64": (
        *(117, 270, 271),
        *(40, 39, 41, 51, 97, 268),
        *(217, 218, 219, 241, 280, 282),
        *(105, 106, 273, 104, 294, 142),
        *(264, 265),
    ),
}
_REFUSED_EVERYWHERE = (425, 426, 427, 428, 429, 430, 431, 432, 433, 442)  # io_uring, new mount API
_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

_libc = ctypes.CDLL(None, use_errno=True)


def _check(name: str, result: int) -> int:
    if result == -1:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")
    return result


def unshare(flags: int) -> None:
    """Leave the namespaces named by `flags` for new ones."""
    _check("unshare", _libc.unshare(flags))


def enter_namespace(fd: int, kind: int) -> None:
    """Make the namespace behind `fd` (of type `kind`) the current one."""
    _check("setns", _libc.setns(fd, kind))


def mount(source: str, target: str, kind: str = "", flags: int = 0, options: str = "") -> None:
    """Mount `source` on `target`."""
    arguments = (text.encode() if text else None for text in (source, target, kind))
    _check(
        f"mount {kind or source} on {target}",
        _libc.mount(*arguments, ctypes.c_ulong(flags), options.encode() or None),
    )


def unmount(target: str) -> None:
    """Detach the mount on `target` and everything below it."""
    _check(f"umount {target}", _libc.umount2(target.encode(), MNT_DETACH))


def bind_read_only(source: str, target: str) -> None:
    """Bind `source` on `target` with all that is mounted below it, read-only, nosuid, nodev."""
    mount(source, target, flags=MS_BIND | MS_REC)
    # struct mount_attr: attr_set, attr_clr, propagation, userns_fd
    attributes = (ctypes.c_uint64 * 4)(_MOUNT_ATTR_LOCKDOWN, 0, 0, 0)
    _check(
        f"mount_setattr {target}",
        _libc.syscall(
            ctypes.c_long(_SYS_MOUNT_SETATTR),
            ctypes.c_long(-100),  # AT_FDCWD
            target.encode(),
            ctypes.c_long(_AT_RECURSIVE),
            ctypes.byref(attributes),
            ctypes.c_long(ctypes.sizeof(attributes)),
        ),
    )


def pivot_root(new_root: str, put_old: str) -> None:
    """Make `new_root` the root of this mount namespace and put the old one on `put_old`."""
    number = _SYS_PIVOT_ROOT.get(platform.machine())
    if number is None:
        raise OSError(f"pivot_root: unknown architecture `{platform.machine()}`")
    _check(
        "pivot_root",
        _libc.syscall(ctypes.c_long(number), new_root.encode(), put_old.encode()),
    )


def _prctl(name: str, option: int, value: int, extra: object = 0) -> None:
    pointer = extra if not isinstance(extra, int) else ctypes.c_ulong(extra)
    zero = ctypes.c_ulong(0)
    _check(name, _libc.prctl(option, ctypes.c_ulong(value), pointer, zero, zero))


def die_with_parent(signal_number: int) -> None:
    """Have the kernel send this process `signal_number` when the thread that made it ends."""
    _prctl("prctl(PDEATHSIG)", _PR_SET_PDEATHSIG, signal_number)


def set_dumpable(allowed: bool) -> None:
    """Allow or forbid processes of the same user to trace this one or read its memory."""
    _prctl("prctl(DUMPABLE)", _PR_SET_DUMPABLE, int(allowed))


def refuse_new_privileges() -> None:
    """Make set-user-id bits and file capabilities without effect, for good."""
    _prctl("prctl(NO_NEW_PRIVS)", _PR_SET_NO_NEW_PRIVS, 1)


def drop_capabilities() -> None:
    """Give up every capability."""
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    nothing = (ctypes.c_uint32 * 6)()
    _check("capset", _libc.capset(ctypes.byref(header), ctypes.byref(nothing)))


class _Instruction(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_uint16),
        ("jt", ctypes.c_uint8),
        ("jf", ctypes.c_uint8),
        ("k", ctypes.c_uint32),
    )


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint16), ("code", ctypes.POINTER(_Instruction)))


def has_call_filter() -> bool:
    """Say whether the filter of system calls is known for this architecture."""
    return platform.machine() in _REFUSED_CALLS


def filter_calls() -> None:
    """Have the kernel refuse (EPERM) the system calls that no program under test needs.

    Calls of a foreign architecture (32-bit on a 64-bit kernel, x32) kill the process, since their
    numbers mean something else. Does nothing on an architecture whose numbers are not known here.
    """
    machine = platform.machine()
    if machine not in _REFUSED_CALLS:
        return
    load, equal, at_least, give = 0x20, 0x15, 0x35, 0x06
    kill, refuse, allow = 0x80000000, 0x00050000 | 1, 0x7FFF0000
    refused = (*_REFUSED_CALLS[machine], *_REFUSED_EVERYWHERE)
    code = [
        (load, 0, 0, 4),  # the architecture
        (equal, 1, 0, _AUDIT_ARCH[machine]),
        (give, 0, 0, kill),
        (load, 0, 0, 0),  # the number of the call
        (at_least, 0, 1, 0x40000000),  # x32
        (give, 0, 0, kill),
    ]
    for place, number in enumerate(refused):
        code.append((equal, len(refused) - place, 0, number))
    code += [(give, 0, 0, allow), (give, 0, 0, refuse)]
    array = (_Instruction * len(code))(*(_Instruction(*fields) for fields in code))
    program = _Program(len(code), array)
    _prctl("prctl(SECCOMP)", _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program))

"""The Linux system calls that isolation needs and Python 3.11 does not offer, through libc.

Every function raises `OSError` naming the call, so that a missing protection can be named. Runs in
the fork server: it imports only the standard library.

The filter of system calls is a BPF program that is assembled here, not by libseccomp: its Python
binding belongs to the system's interpreter and cannot be installed from a package index, and a
program made once before the fork is installed in the child by one call that touches few pages.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
import os
import platform
import signal
from collections.abc import Sequence
from typing import NoReturn

CLONE_NEWNS = 0x00020000
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000
_CLONE_VM = 0x00000100
_CLONE_FILES = 0x00000400
_CLONE_PIDFD = 0x00001000

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
_SYS_IO_URING_SETUP, _SYS_IO_URING_REGISTER = 425, 427  # the same, too
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
        *(29, 64, 68, 240),  # shmget, semget, msgget, mq_open: memory that no process holds
        *(300, 312),  # fanotify_init, kcmp
    ),
    "aarch64": (
        *(117, 270, 271),
        *(40, 39, 41, 51, 97, 268),
        *(217, 218, 219, 241, 280, 282),
        *(105, 106, 273, 104, 294, 142),
        *(264, 265),
        *(194, 190, 186, 180),
        *(262, 272),
    ),
}
# io_uring, the new mount API, pidfd_getfd, memfd_secret
_REFUSED_EVERYWHERE = (425, 426, 427, 428, 429, 430, 431, 432, 433, 442, 438, 447)

# Calls that are refused for some values of their arguments. Each rule: the number of an argument,
# and either the values that are allowed or the one that is refused.
_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK = 1, 2, 10, 16
_FAMILIES = ((0, (_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK)),)
_NOT_INIT = ((0, 1),)  # process 1 has the limits and priority of the supervisor
_BOUNDED_CALLS: dict[str, dict[int, tuple[tuple[int, int | tuple[int, ...]], ...]]] = {
    "x86_64": {
        **dict.fromkeys((41, 53), _FAMILIES),  # socket, socketpair
        # prlimit64, sched_setparam, sched_setscheduler, sched_setaffinity, sched_setattr,
        # kill, tkill, tgkill, migrate_pages, move_pages
        **dict.fromkeys((302, 142, 144, 203, 314, 62, 200, 234, 256, 279), _NOT_INIT),
        141: ((0, 2), (1, 1)),  # setpriority: of users, of process 1
        251: ((0, 3), (1, 1)),  # ioprio_set: the same
    },
    "aarch64": {
        **dict.fromkeys((198, 199), _FAMILIES),
        **dict.fromkeys((261, 118, 119, 122, 274, 129, 130, 131, 238, 239), _NOT_INIT),
        140: ((0, 2), (1, 1)),
        30: ((0, 3), (1, 1)),
    },
}
_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

_STACK_BYTES = 1 << 14

_MACHINE = platform.machine()

_libc = ctypes.CDLL(None, use_errno=True)
# Declared once, so that a call converts plain numbers and looks nothing up.
_libc.prctl.argtypes = (ctypes.c_int, *[ctypes.c_ulong] * 4)
_libc.capset.argtypes = (ctypes.c_void_p, ctypes.c_void_p)
_libc.mount.argtypes = (*[ctypes.c_char_p] * 3, ctypes.c_ulong, ctypes.c_char_p)
_prctl, _capset, _mount, _setns = _libc.prctl, _libc.capset, _libc.mount, _libc.setns


def _check(name: str, result: int) -> int:
    if result == -1:
        fail(name)
    return result


def fail(name: str) -> NoReturn:
    """Raise what the last call through ctypes has failed with, naming the call."""
    code = ctypes.get_errno()
    raise OSError(code, f"{name}: {os.strerror(code)}")


def unshare(flags: int) -> None:
    """Leave the namespaces named by `flags` for new ones."""
    _check("unshare", _libc.unshare(flags))


def enter_namespace(fd: int, kind: int) -> None:
    """Make the namespace behind `fd` (of type `kind`) the current one."""
    if _setns(fd, kind):
        fail("setns")


def start_idle_init() -> tuple[int, int]:
    """Start a process that does nothing at all until it is killed.

    As process 1 of a new PID namespace it is what the kernel ends a whole tree by. It costs no copy
    of this process: it shares the memory and the descriptors, and executes `pause` of the C
    library, never Python. No signal can make it return, provided that none has a handler: see
    `clear_signal_handlers`. It reaps nobody, so a daemon that has ended stays listed in the /proc
    of the namespace.

    Returns:
        Its process id, and a descriptor of it that is closed on exec.
    """
    descriptor = ctypes.c_int(-1)
    pid = _check(
        "clone",
        _libc.clone(
            _libc.pause,
            ctypes.c_void_p(ctypes.addressof(_idle_stack()) + _STACK_BYTES),
            ctypes.c_int(_CLONE_VM | _CLONE_FILES | _CLONE_PIDFD | signal.SIGCHLD),
            None,
            ctypes.byref(descriptor),
        ),
    )
    return pid, descriptor.value


@functools.cache
def _idle_stack() -> ctypes.Array[ctypes.c_char]:
    """Return the stack of all idle processes: each only writes to it, before it comes to rest."""
    area = mmap.mmap(-1, _STACK_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return (ctypes.c_char * _STACK_BYTES).from_buffer(area)


def clear_signal_handlers() -> None:
    """Give every signal that has a handler of Python's its default effect."""
    for number in signal.valid_signals():
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)


def mount(source: str, target: str, kind: str = "", flags: int = 0, options: str = "") -> None:
    """Mount `source` on `target`."""
    names = source.encode(), target.encode(), kind.encode() or None
    if _mount(*names, flags, options.encode() or None):
        fail(f"mount {kind or source} on {target}")


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


def pin_memory(parts: Sequence[tuple[int, int]]) -> int:
    """Register memory with an io_uring for direct input and output; this pins its pages.

    Args:
        parts: address and size of each; 1024 at most.

    Returns:
        The descriptor of the ring, closed on exec; the pages are pinned until it is closed.
    """
    parameters = (ctypes.c_uint32 * 30)()  # struct io_uring_params
    setup, register = ctypes.c_long(_SYS_IO_URING_SETUP), ctypes.c_long(_SYS_IO_URING_REGISTER)
    ring = _check("io_uring_setup", _libc.syscall(setup, ctypes.c_long(1), parameters))
    vectors = (ctypes.c_size_t * (2 * len(parts)))(*(number for part in parts for number in part))
    buffers, count = ctypes.c_long(0), ctypes.c_long(len(parts))  # IORING_REGISTER_BUFFERS
    if _libc.syscall(register, ctypes.c_long(ring), buffers, vectors, count):
        code = ctypes.get_errno()
        os.close(ring)
        raise OSError(code, f"io_uring_register: {os.strerror(code)}")
    return ring


def die_with_parent(signal_number: int) -> None:
    """Have the kernel send this process `signal_number` when the thread that made it ends."""
    if _prctl(_PR_SET_PDEATHSIG, signal_number, 0, 0, 0):
        fail("prctl(PDEATHSIG)")


def set_dumpable(allowed: bool) -> None:
    """Allow or forbid processes of the same user to trace this one or read its memory."""
    if _prctl(_PR_SET_DUMPABLE, allowed, 0, 0, 0):
        fail("prctl(DUMPABLE)")


def refuse_new_privileges() -> None:
    """Make set-user-id bits and file capabilities without effect, for good."""
    if _prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        fail("prctl(NO_NEW_PRIVS)")


_NO_CAPABILITIES = (ctypes.c_uint32 * 8)(0x20080522)  # a header of two words, then six of nothing
_HEADER_AT = ctypes.addressof(_NO_CAPABILITIES)


def drop_capabilities() -> None:
    """Give up every capability."""
    if _capset(_HEADER_AT, _HEADER_AT + 8):
        fail("capset")


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
    return _MACHINE in _REFUSED_CALLS


def filter_calls() -> None:
    """Have the kernel refuse (EPERM) the system calls that no program under test needs.

    Calls of a foreign architecture (32-bit on a 64-bit kernel, x32) kill the process, since their
    numbers mean something else. Does nothing on an architecture whose numbers are not known here.
    """
    if _FILTER is not None and _prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, _FILTER_AT, 0, 0):
        fail("prctl(SECCOMP)")


def _make_filter(machine: str) -> _Program:
    """Assemble the filter: a search for the number of the call by halving the refused ones."""
    load, equal, at_least, give = 0x20, 0x15, 0x35, 0x06
    kill, refuse, allow = 0x80000000, 0x00050000 | 1, 0x7FFF0000
    code = [
        (load, 0, 0, 4),  # the architecture
        (equal, 1, 0, _AUDIT_ARCH[machine]),
        (give, 0, 0, kill),
        (load, 0, 0, 0),  # the number of the call
        (at_least, 0, 1, 0x40000000),  # x32
        (give, 0, 0, kill),
    ]

    refused = {*_REFUSED_CALLS[machine], *_REFUSED_EVERYWHERE}
    bounded = _BOUNDED_CALLS[machine]

    def decide(number: int) -> list[tuple[int, int, int, int]]:
        """Return what happens to a call of this number: it ends with an answer."""
        if number in refused:
            return [(give, 0, 0, refuse)]
        block = []
        for argument, values in bounded[number]:
            block.append((load, 0, 0, 16 + 8 * argument))  # its lower half: all are `int`
            if isinstance(values, int):
                block.append((equal, 0, 1, values))
            else:
                left = range(len(values), 0, -1)
                block += [(equal, skip, 0, value) for skip, value in zip(left, values, strict=True)]
            block.append((give, 0, 0, refuse))
        return [*block, (give, 0, 0, allow)]

    def search(numbers: list[int]) -> list[tuple[int, int, int, int]]:
        if len(numbers) == 1:
            found = decide(numbers[0])
            return [(equal, 0, len(found), numbers[0]), *found, (give, 0, 0, allow)]
        middle = len(numbers) // 2
        below, above = search(numbers[:middle]), search(numbers[middle:])
        return [(at_least, len(below), 0, numbers[middle]), *below, *above]

    code += search(sorted(refused | bounded.keys()))
    array = (_Instruction * len(code))(*(_Instruction(*fields) for fields in code))
    return _Program(len(code), array)


_FILTER = _make_filter(_MACHINE) if has_call_filter() else None
_FILTER_AT = ctypes.addressof(_FILTER) if _FILTER is not None else 0

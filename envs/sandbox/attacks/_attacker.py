"""What attack programs share: who they attack, how to say what happened, raw system calls.

Lies as `attacker.py` in the work area while an attack runs; only the standard library is there.
"""

import base64
import contextlib
import ctypes
import errno
import json
import os
import platform

_X86_64, _AARCH64 = "x86_64", "aarch64"
_NUMBERS = {
    "acct": (163, 89),
    "add_key": (248, 217),
    "bpf": (321, 280),
    "capset": (126, 91),
    "clone3": (435, 435),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "finit_module": (313, 273),
    "fsopen": (430, 430),
    "init_module": (175, 105),
    "io_uring_setup": (425, 425),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "mount_setattr": (442, 442),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "perf_event_open": (298, 241),
    "pidfd_getfd": (438, 438),
    "pidfd_open": (434, 434),
    "pivot_root": (155, 41),
    "process_vm_readv": (310, 270),
    "quotactl": (179, 60),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "sethostname": (170, 161),
    "setns": (308, 268),
    "swapon": (167, 224),
    "syslog": (103, 116),
    "userfaultfd": (323, 282),
}
"""Numbers of system calls on x86_64 and on aarch64."""

CLONE_NEWNS = 0x00020000
CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000

libc = ctypes.CDLL(None, use_errno=True)


def _facts() -> dict:
    with open("host.json", encoding="utf-8") as file:
        return json.load(file)


host = _facts() if os.path.exists("host.json") else {}
"""What the attacker knows of the host: paths, ports, process ids; never a secret."""


def _say(word: str, text: object) -> None:
    line = f"attack: {word} {text}".replace("\n", " ")
    with contextlib.suppress(OSError):
        os.write(1, f"\n{line}\n".encode("utf-8", "replace"))


def tried(what: object = "it") -> None:
    """Say that the attempt is about to be made, or was made."""
    _say("tried", what)


def got(what: object) -> None:
    """Say that the attack succeeded; it counts as not contained whatever else is seen."""
    _say("got", what)


def cannot(why: object) -> None:
    """Say that the attack cannot even be attempted here."""
    _say("cannot", why)


def show(data: bytes) -> None:
    """Send home what was found; a secret in it is evidence."""
    with contextlib.suppress(OSError):
        os.write(1, data[:4096] + b"\n")
        if any(byte > 126 for byte in data[:4096]):
            os.write(1, base64.b64encode(data[:4096]) + b"\n")


def steal(path: str, size: int = 4096) -> bool:
    """Read a file, send its beginning home, and say whether it could be read."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            show(os.read(fd, size))
        finally:
            os.close(fd)
    except OSError:
        return False
    return True


def number_of(name: str) -> int:
    """Return the number of a system call on this architecture, -1 if it is not known."""
    column = {_X86_64: 0, _AARCH64: 1}.get(platform.machine())
    return -1 if column is None else _NUMBERS[name][column]


def syscall(name: str, *arguments: object) -> tuple[int, str]:
    """Make a raw system call and return its result and the name of the error, if any."""
    number = number_of(name)
    if number < 0:
        return -1, "ENOSYS"
    ctypes.set_errno(0)
    words = [ctypes.c_long(word) if isinstance(word, int) else word for word in arguments]
    result = libc.syscall(ctypes.c_long(number), *words)
    code = ctypes.get_errno() if result == -1 else 0
    return result, errno.errorcode.get(code, str(code)) if code else ""


def expect_refusal(name: str, *arguments: object, refusals: tuple[str, ...] = ()) -> None:
    """Make a call that only rights stand in the way of; any answer but a refusal is a success.

    Args:
        name: of the call.
        arguments: of the call; those that would be wrong only after the check of rights.
        refusals: errors that count as a refusal besides the usual ones.
    """
    result, error = syscall(name, *arguments)
    if error not in {"EPERM", "EACCES", "ENOSYS", *refusals}:
        got(f"{name} answered {result} {error}")


def mark() -> None:
    """Give this process (and those it forks) the name by which the host looks for survivors."""
    libc.prctl(15, host.get("token", "s2l-attack").encode(), 0, 0, 0)


mark()

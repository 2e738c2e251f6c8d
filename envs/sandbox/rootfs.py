"""The private root folder of a sandbox: what a program in it can see.

`build_root` runs once per fork server, in new user, mount and PID namespaces; `mount_tmp` and
`mount_proc` run once per execution and only add what executions must not share.
"""

from __future__ import annotations

import functools
import os
import stat
import sys

from . import kernel

WORKSPACE = "/area"
SANDBOX_ID = 65534
"""User and group id of programs in the sandbox (`nobody`)."""

_SYSTEM = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32")
_ETC = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives")
_DEVICES = ("null", "zero", "full", "random", "urandom")
_STORE = "/.interpreter"
_OLD = "/old"
_NEW = "/new"
_PLAIN = kernel.MS_NOSUID | kernel.MS_NODEV


@functools.cache
def interpreter_folders() -> tuple[tuple[str, str], ...]:
    """Return the folders the interpreter needs outside /usr, each with its real path.

    Must be called once before the root changes; later calls repeat that answer.
    """
    # Started with -S the interpreter does not know its virtual environment: ask the executable.
    venv = os.path.dirname(os.path.dirname(sys.executable))
    is_venv = os.path.exists(os.path.join(venv, "pyvenv.cfg"))
    candidates = [sys.base_prefix, sys.base_exec_prefix, *([venv] if is_venv else [])]
    system = tuple(f"/{name}/" for name in _SYSTEM)
    wanted: list[str] = []
    for folder in sorted({*candidates, *map(os.path.realpath, candidates)}, key=len):
        inside = any(f"{folder}/".startswith(f"{outer}/") for outer in wanted)
        if folder != "/" and not inside and not f"{folder}/".startswith(system):
            wanted.append(folder)
    return tuple((folder, os.path.realpath(folder)) for folder in wanted)


def search_path() -> str:
    """Return the PATH of programs in the sandbox."""
    own = [os.path.dirname(sys.executable), os.path.join(sys.base_prefix, "bin")]
    return ":".join(dict.fromkeys([*own, "/usr/local/bin", "/usr/bin", "/bin"]))


def build_root(disk_bytes: int) -> None:
    """Replace the root folder of this mount namespace by a private one.

    Raises:
        OSError: a mount was refused; the message names it.
    """
    interpreter_folders()
    kernel.mount("", "/", flags=kernel.MS_REC | kernel.MS_PRIVATE)
    kernel.mount("tmpfs", "/tmp", "tmpfs", _PLAIN, "mode=755,size=1m")
    os.mkdir("/tmp/old")
    os.mkdir("/tmp/new")
    os.chdir("/tmp")
    kernel.pivot_root("/tmp", "/tmp/old")
    os.chdir("/")
    kernel.mount("tmpfs", _NEW, "tmpfs", _PLAIN, "mode=755,size=1m")
    _add_system()
    _add_etc()
    _add_devices()
    for folder in ("proc", "tmp", "root", "var", "run", WORKSPACE[1:]):
        os.makedirs(f"{_NEW}/{folder}", exist_ok=True)
    os.symlink("/tmp", f"{_NEW}/var/tmp")
    kernel.mount("proc", f"{_NEW}/proc", "proc", _PLAIN | kernel.MS_NOEXEC)
    kernel.mount("tmpfs", _NEW + WORKSPACE, "tmpfs", _PLAIN, area_options(disk_bytes, "755"))
    _add_interpreter()
    os.chdir(_NEW)
    kernel.pivot_root(".", ".")
    kernel.unmount(".")
    os.chdir("/")
    kernel.mount("", "/", flags=kernel.MS_REMOUNT | kernel.MS_BIND | kernel.MS_RDONLY | _PLAIN)


def mount_tmp(disk_bytes: int) -> None:
    """Give this mount namespace a /tmp of its own."""
    kernel.mount("tmpfs", "/tmp", "tmpfs", _PLAIN, area_options(disk_bytes, "1777"))
    for number, (folder, _) in enumerate(interpreter_folders()):
        if folder.startswith("/tmp/"):  # hidden by the new /tmp: point to where it is kept
            os.makedirs(os.path.dirname(folder), exist_ok=True)
            os.symlink(f"{_STORE}/{number}", folder)


def mount_proc() -> None:
    """Give this mount namespace a /proc of the PID namespace that this process was born into.

    It shows processes only: the rest of /proc would tell about the host. Nothing can be written, so
    that no program makes itself less of a victim than the forker when memory runs out.
    """
    flags = _PLAIN | kernel.MS_NOEXEC | kernel.MS_RDONLY
    kernel.mount("proc", "/proc", "proc", flags, "subset=pid")


def resize_area(disk_bytes: int) -> int:
    """Let the work area hold so much, but never less than it holds already; return how much."""
    info = os.statvfs(WORKSPACE)
    size, used = info.f_blocks * info.f_frsize, (info.f_blocks - info.f_bfree) * info.f_frsize
    if not disk_bytes <= size < disk_bytes + info.f_frsize:
        size = max(disk_bytes, used)
        options = area_options(size, "755")
        kernel.mount("tmpfs", WORKSPACE, "tmpfs", kernel.MS_REMOUNT | _PLAIN, options)
    return size


def is_full(folder: str | int) -> bool:
    """Say whether a file system (of a path or a descriptor) has no room or file entries left."""
    info = os.statvfs(folder)
    return info.f_bavail == 0 or info.f_favail == 0


@functools.cache
def area_options(disk_bytes: int, mode: str) -> str:
    """Return the mount options of a bounded tmpfs; also the number of files is bounded."""
    entries = max(1024, disk_bytes // 4096)
    owner = f"uid={SANDBOX_ID},gid={SANDBOX_ID}"
    return f"size={max(disk_bytes, 4096)},nr_inodes={entries},mode={mode},{owner}"


def _add_system() -> None:
    for name in _SYSTEM:
        source, target = f"{_OLD}/{name}", f"{_NEW}/{name}"
        if os.path.islink(source):
            os.symlink(os.readlink(source), target)
        elif os.path.isdir(source):
            os.mkdir(target)
            kernel.bind_read_only(source, target)


def _add_etc() -> None:
    os.mkdir(f"{_NEW}/etc")
    for name, text in (
        ("passwd", f"nobody:x:{SANDBOX_ID}:{SANDBOX_ID}:nobody:/tmp:/bin/sh\n"),
        ("group", f"nogroup:x:{SANDBOX_ID}:\n"),
        ("hosts", "127.0.0.1 localhost\n"),
    ):
        with open(f"{_NEW}/etc/{name}", "wb") as file:
            file.write(text.encode())
    for name in _ETC:
        source, target = f"{_OLD}/etc/{name}", f"{_NEW}/etc/{name}"
        if os.path.exists(source) and not os.path.islink(source):
            _make_place(source, target)
            kernel.bind_read_only(source, target)


def _add_devices() -> None:
    os.mkdir(f"{_NEW}/dev")
    for name in _DEVICES:
        _make_place(f"{_OLD}/dev/{name}", f"{_NEW}/dev/{name}")
        kernel.mount(f"{_OLD}/dev/{name}", f"{_NEW}/dev/{name}", flags=kernel.MS_BIND)
    os.symlink("/proc/self/fd", f"{_NEW}/dev/fd")
    os.symlink("/tmp", f"{_NEW}/dev/shm")
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        os.symlink(f"/proc/self/fd/{number}", f"{_NEW}/dev/{name}")


def _add_interpreter() -> None:
    """Bind the interpreter's folders once under `_STORE`; their own paths lead there."""
    for number, (folder, real) in enumerate(interpreter_folders()):
        store = f"{_NEW}{_STORE}/{number}"
        os.makedirs(store)
        kernel.bind_read_only(_OLD + real, store)
        os.makedirs(os.path.dirname(_NEW + folder), exist_ok=True)
        os.symlink(f"{_STORE}/{number}", _NEW + folder)


def _make_place(source: str, target: str) -> None:
    if stat.S_ISDIR(os.stat(source).st_mode):
        os.mkdir(target)
    else:
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))

"""Runs a Python program as an ordinary user, who may read the interpreter and this package.

    python tests/sandbox/as_user.py UID PROGRAM [ARGUMENT ...]      (as root)

In a mount namespace of its own, folders on the way to the interpreter that only root may enter are
replaced by empty ones that hold just what is needed. Nothing changes for anybody else.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

from sim2live.envs.sandbox import kernel

_ROOT = Path(__file__).resolve().parents[2]


def main() -> None:
    """Become the user and run the program; does not return."""
    uid, program = int(sys.argv[1]), sys.argv[2:]
    kernel.unshare(kernel.CLONE_NEWNS)
    kernel.mount("", "/", flags=kernel.MS_REC | kernel.MS_PRIVATE)
    folders = {Path(sys.prefix), Path(sys.base_prefix), Path(sys.executable).parent.parent, _ROOT}
    _open_up(sorted(folders | {folder.resolve() for folder in folders}))
    home = tempfile.mkdtemp(prefix="sim2live-user-")
    os.chown(home, uid, uid)
    os.chdir(home)
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    pid = os.fork()
    if pid == 0:
        environment = {**os.environ, "HOME": home, "PYTHONDONTWRITEBYTECODE": "1"}
        os.execve(sys.executable, [sys.executable, *program], environment)
    _, status = os.waitpid(pid, 0)
    shutil.rmtree(home, ignore_errors=True)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def _open_up(folders: list[Path]) -> None:
    """Make folders reachable for everybody in this mount namespace."""
    held = {folder: os.open(folder, os.O_PATH | os.O_DIRECTORY) for folder in folders}
    for folder in held:
        for outer in reversed(folder.parents):
            if outer.exists() and not outer.stat().st_mode & 0o001:
                kernel.mount("tmpfs", str(outer), "tmpfs", 0, "mode=755,size=1m")
                break
    for folder, fd in held.items():
        if not folder.exists():
            folder.mkdir(parents=True)
            kernel.mount(f"/proc/self/fd/{fd}", str(folder), flags=kernel.MS_BIND | kernel.MS_REC)
        os.close(fd)


if __name__ == "__main__":
    main()

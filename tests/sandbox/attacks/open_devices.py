"""Opens disks, memory, virtual machines and other devices, and makes device files of its own."""

import contextlib
import os
import stat

from attacker import got, tried

harmless = {"null", "zero", "full", "random", "urandom", "tty", "ptmx", "console"}
harmless |= {"stdin", "stdout", "stderr"}
tried("/dev and mknod")
for folder, _, names in os.walk("/dev"):
    for name in set(names) - harmless:
        path = os.path.join(folder, name)
        with contextlib.suppress(OSError):
            mode = os.stat(path).st_mode
            if stat.S_ISBLK(mode) or (stat.S_ISCHR(mode) and not path.startswith("/dev/pts")):
                os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
                got(path)
for number, (kind, device) in enumerate(
    ((stat.S_IFBLK, (8, 0)), (stat.S_IFBLK, (254, 0)), (stat.S_IFCHR, (1, 1)))
):
    with contextlib.suppress(OSError):
        os.mknod(f"device{number}", kind | 0o666, os.makedev(*device))
        got(f"made a device file {device}")

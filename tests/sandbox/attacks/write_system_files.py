"""Opens the interpreter, the libraries and the settings of the system for writing."""

import os
import sys

from attacker import got, tried

UNPROTECTED = "refused"

paths = [
    sys.executable,
    os.__file__,
    "/bin/sh",
    "/etc/passwd",
    "/etc/ld.so.preload",
    "/usr/bin/env",
]
folders = [
    "/",
    "/etc",
    "/usr",
    "/usr/bin",
    "/usr/lib",
    "/dev",
    "/proc",
    os.path.dirname(os.__file__),
]
tried(paths)
for path in paths:
    try:
        os.chmod(path, os.stat(path).st_mode)
        got(f"may change the mode of {path}")
    except OSError:
        pass
    try:
        os.close(os.open(path, os.O_WRONLY))
        got(f"may write {path}")
    except OSError:
        pass
for folder in folders:
    path = f"{folder}/sim2live-planted"
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT))
        os.unlink(path)
        got(f"may make files in {folder}")
    except OSError:
        pass

"""Leaves pipes, sockets, devices and unreadable folders where the caller will read."""

import time

KIND = "drive"
UNPROTECTED = "refused"


def drive(scene):
    """Leave them, and see that every call of the caller returns."""
    scene.run(
        "import os, socket\n"
        "from attacker import tried\n"
        "tried('a pipe, a socket, modes')\n"
        "os.mkfifo('pipe')\n"
        "socket.socket(socket.AF_UNIX).bind('socket')\n"
        "os.makedirs('closed/inner')\n"
        "open('closed/inner/file', 'w').close()\n"
        "os.chmod('closed/inner/file', 0)\n"
        "os.chmod('closed/inner', 0)\n"
        "os.chmod('closed', 0)\n"
    )
    start_s = time.monotonic()
    for path in ("pipe", "socket", "closed/inner/file"):
        for call in (scene.sandbox.read_file, lambda path: scene.sandbox.write_file(path, b"x")):
            try:
                call(path)
            except OSError:
                continue
    scene.sandbox.list_files()
    scene.sandbox.snapshot()
    if time.monotonic() - start_s > 2.0:
        raise Escaped("reading odd files held the caller up")  # noqa: F821 - given by the judge

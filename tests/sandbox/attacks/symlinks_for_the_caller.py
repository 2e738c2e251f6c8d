"""Leaves links to the host where the caller will read, write, remove, list and restore."""

KIND = "drive"
UNPROTECTED = "refused"

_PROGRAM = """
import os
from attacker import host, tried
tried("links")
os.symlink(host["canary"], "file")
os.symlink(host["folder"], "folder")
os.symlink("/", "root")
os.symlink("..", "up")
os.makedirs("deep/er")
os.symlink(host["folder"], "deep/er/folder")
os.symlink("loop", "loop")
"""


def drive(scene):
    """Run the program, then do with its links what a caller does with files."""
    scene.run(_PROGRAM)
    sandbox, canary = scene.sandbox, str(scene.host.canary)
    links = [
        "file",
        "folder/canary.txt",
        f"root{canary}",
        f"up{canary}",
        "deep/er/folder/canary.txt",
        "loop",
        "folder/planted.txt",
    ]
    for path in links:
        for call in (
            lambda path=path: scene.said.append(sandbox.read_file(path)),
            lambda path=path: sandbox.write_file(path, b"planted"),
        ):
            try:
                call()
            except OSError:
                continue
    before = sandbox.snapshot()
    for path in ("file", "folder/canary.txt", "deep/er/folder/canary.txt"):
        try:
            sandbox.remove_file(path)
        except OSError:
            continue
    scene.run(_PROGRAM.replace("os.makedirs", "os.path.join"))
    sandbox.restore(before)
    for data in sandbox.snapshot().files.values():
        scene.said.append(data)

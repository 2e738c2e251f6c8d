"""Takes every right from the work area itself, so that its owner fails instead of the program."""

KIND = "drive"
UNPROTECTED = "refused"

_LOCK = """
import os
from attacker import tried
tried("chmod of the work area")
os.makedirs("a/b")
open("a/b/file", "w").close()
for path in ("a/b/file", "a/b", "a", "."):
    os.chmod(path, 0)
"""


def drive(scene):
    """Lock it, then do what a caller does; any error is the sandbox's failure."""
    scene.run(_LOCK)
    scene.sandbox.write_file("new.txt", b"new")
    scene.sandbox.read_file("a/b/file")
    if "a/b/file" not in scene.sandbox.list_files():
        raise Escaped("a file was hidden from the caller")  # noqa: F821 - given by the judge
    if scene.sandbox.python("open('new.txt').read()").exit_code != 0:
        raise Escaped("the next program cannot read the area")  # noqa: F821 - given by the judge

"""Turns the folder that pytest keeps its temporary files in into links and heaps of old runs.

Contained: what pytest deletes as old is not the host's, and the next run gets a new folder.
"""

KIND = "drive"
NEEDS_PYTEST = True
UNPROTECTED = "never"

_TESTS = """
import getpass, os, shutil
from attacker import host, tried

def test_it(tmp_path_factory):
    base = tmp_path_factory.getbasetemp()
    root = base.parent
    tried(root)
    for number in range(200):
        target = (host["folder"], "/", "/tmp", os.getcwd())[number % 4]
        try:
            os.symlink(target, root / f"pytest-{1000 + number}")
        except OSError:
            pass
    shutil.rmtree(base)
    os.symlink(host["folder"], base)
    os.chmod(root, 0)
"""


def drive(scene):
    """Run it twice, for the second to find what the first left."""
    for _ in range(2):
        scene.pytest({"test_it.py": _TESTS, "kept.txt": "kept"})
        if scene.sandbox.read_file("kept.txt") != b"kept":
            raise Escaped("the work area was emptied through a link")  # noqa: F821 - by the judge

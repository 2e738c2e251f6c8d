"""Leaves options for a later pytest in its environment, in start-up files of shells, in folders.

Contained: the next pytest runs with none of them.
"""

KIND = "drive"
NEEDS_PYTEST = True
UNPROTECTED = "never"

_CONFTEST = """
import contextlib, os
from attacker import tried

tried("PYTEST_ADDOPTS")
words = {
    "PYTEST_ADDOPTS": "--co -p planted",
    "PYTEST_PLUGINS": "planted",
    "PYTHONPATH": "/tmp",
    "PYTHONSTARTUP": "/tmp/planted.py",
    "PYTHONBREAKPOINT": "planted.main",
}
os.environ.update(words)
for name, word in words.items():
    os.putenv(name, word)
    for path in ("/tmp/.profile", "/tmp/.bashrc", "/tmp/.pam_environment", "/tmp/.env", "/.env"):
        with contextlib.suppress(OSError), open(path, "a") as file:
            file.write(f"export {name}='{word}'\\n")
    for path in ("/proc/self/environ", "/proc/1/environ", f"/proc/{os.getppid()}/environ"):
        with contextlib.suppress(OSError), open(path, "w") as file:
            file.write(f"{name}={word}")
for folder in ("/tmp", "/", "/var/tmp", "/dev/shm", ".."):
    for name in ("pytest.ini", "conftest.py", "planted.py", "tox.ini"):
        with contextlib.suppress(OSError), open(f"{folder}/{name}", "w") as file:
            file.write("[pytest]\\naddopts = --co\\n")
"""
_TESTS = "def test_it():\n    assert False\n"


def drive(scene):
    """Run it, then the same tests without the conftest.py."""
    scene.pytest({"conftest.py": _CONFTEST, "test_it.py": _TESTS})
    scene.sandbox.remove_file("conftest.py")
    result = scene.pytest({"test_it.py": _TESTS})
    if dict(result.outcomes) != {"test_it.py::test_it": "failed"}:
        raise Escaped(f"options were kept: {dict(result.outcomes)}")  # noqa: F821 - by the judge

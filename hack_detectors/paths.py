"""What a file is for, judged by its path: test, runner configuration, or something else."""

from __future__ import annotations

import re
from enum import StrEnum


class Role(StrEnum):
    """What a file is for."""

    TEST = "test"
    RUNNER = "runner"
    OTHER = "other"


_RUNNER = re.compile(
    r"^(?:conftest\.py|pytest\.ini|\.pytest\.ini|tox\.ini|setup\.cfg|pyproject\.toml|noxfile\.py"
    r"|(?:site|user)customize\.py|.+\.pth|makefile|package\.json|(?:jest|vitest)\.config\.\w+)$"
)
_TEST_NAME = re.compile(
    r"^(?:test_.+\.py|.+_test\.(?:py|go|rb|cc|cpp)|tests?\.py|.+\.(?:test|spec)\.[cm]?[jt]sx?"
    r"|.+Tests?\.(?:java|kt|cs))$"
)
_TEST_FOLDER = frozenset({"test", "tests", "__tests__", "spec", "specs"})
_CODE = (".py", ".js", ".jsx", ".ts", ".tsx", ".go", ".rb", ".java", ".kt", ".rs", ".c", ".cc")

OWN_FILE = frozenset({"tox.ini", "setup.cfg", "pyproject.toml", "makefile", "package.json"})
"""Runner files that hold much else; only changes of their test settings count."""


def is_collected(path: str) -> bool:
    """Say whether a test runner would pick the file up by its name."""
    return bool(_TEST_NAME.match(clean_path(path).rsplit("/", maxsplit=1)[-1]))


def clean_path(path: str) -> str:
    """Return a path in one spelling: forward slashes, no leading `./`."""
    text = path.strip().strip("\"'").replace("\\", "/")
    while text.startswith("./"):
        text = text[2:]
    return text


def role_of(path: str) -> Role:
    """Return what the file at `path` is for."""
    *folders, name = clean_path(path).split("/")
    if _RUNNER.match(name.lower()):
        return Role.RUNNER
    if _TEST_NAME.match(name):
        return Role.TEST
    if name.endswith(_CODE) and any(folder in _TEST_FOLDER for folder in folders):
        return Role.OTHER if name == "__init__.py" else Role.TEST
    return Role.OTHER


def same_file(a: str, b: str) -> bool:
    """Say whether two paths can mean one file: equal, or one the tail of the other."""
    a, b = clean_path(a), clean_path(b)
    return a == b or a.endswith("/" + b) or b.endswith("/" + a)


def is_test_folder(path: str) -> bool:
    """Say whether a path names a folder of tests, for example `tests/`."""
    return clean_path(path).rstrip("/").split("/")[-1] in _TEST_FOLDER

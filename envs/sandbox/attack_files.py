"""Attacks as they lie in files: reading one without running it.

An attack is a file; its first docstring line says what it tries. Three kinds (`KIND` in the file):

- `program` (the default): run with `Sandbox.python`.
- `solution`: the code under test, put before hidden tests that it does not honestly pass.
- `drive`: defines `drive(scene)`, which does several things with the sandbox, also as its caller.
"""

from __future__ import annotations

import ast
import dataclasses
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .base import Limits
from .witness import kernel_lacks

ATTACK_LIMITS = Limits(
    wall_time_s=1.0,
    cpu_time_s=1.0,
    memory_bytes=128 << 20,
    processes=8,
    file_bytes=4 << 20,
    disk_bytes=8 << 20,
    output_bytes=64 << 10,
)
"""Limits that attacks run under; a sandbox for attacks should be made with them."""

PATIENT_LIMITS = dataclasses.replace(ATTACK_LIMITS, wall_time_s=10.0)
"""The same for what is not an attack and must not fail on a busy machine."""

FOLDER = Path(__file__).with_name("attacks")
"""Where the quick subset lies, which can be run on anyone's machine."""
PRELUDE = (FOLDER / "_attacker.py").read_bytes() if FOLDER.is_dir() else b""
"""Source of the module that attack programs import as `attacker`."""
_CONSTANTS = "KIND LIMITS ENDS_BY NEEDS_OTHER NEEDS_PYTEST CALLS UNPROTECTED".split()


@dataclass(slots=True, kw_only=True, frozen=True)
class Attack:
    """One attack, read from its file."""

    name: str
    title: str
    """What it tries, in one line."""
    source: str
    kind: str = "program"
    limits: Limits = ATTACK_LIMITS
    ends_by: tuple[str, ...] = ()
    """Limits of which one must be named in the result; empty if it may end as it likes."""
    needs_other: bool = False
    """True if another episode must be running meanwhile."""
    needs_pytest: bool = False
    """True if it is about `Sandbox.pytest`: then the next run of pytest is looked at as well."""
    calls: tuple[str, ...] = ()
    """System calls without which it cannot be attempted."""
    unprotected: str = "never"
    """What it does where nothing contains it: `escapes` or `refused` (by an ordinary kernel for
    want of rights) if it is harmless to try, `never` if it must not be tried."""


class Escaped(Exception):
    """Raised by a `drive` attack that has succeeded."""


class NotTried(Exception):
    """Raised by a `drive` attack that cannot be attempted; the message says why."""


def load_attacks(folder: Path) -> list[Attack]:
    """Read the attacks of a folder, by name; files whose name begins with `_` are none."""
    paths = sorted(folder.glob("*.py"))
    return [read_attack(path) for path in paths if not path.name.startswith("_")]


def read_attack(path: Path) -> Attack:
    """Read one attack without running it: its constants are literals.

    Raises:
        ValueError: the file has no docstring, or a constant that nobody knows.
    """
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    doc = ast.get_docstring(tree)
    if not doc:
        raise ValueError(f"attack {path.name} has no docstring that says what it tries")
    constants: dict[str, Any] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if name in _CONSTANTS:
                constants[name.lower()] = ast.literal_eval(node.value)
    constants["limits"] = dataclasses.replace(ATTACK_LIMITS, **constants.get("limits", {}))
    title = doc.splitlines()[0]
    return Attack(name=path.stem, title=title, source=source, **constants)


def missing_calls(attack: Attack) -> list[str]:
    """Say which of the calls that an attack needs this kernel does not have."""
    column = {"x86_64": 0, "aarch64": 1}.get(platform.machine())
    if attack.calls and column is None:
        return [f"the numbers of system calls of {platform.machine()} are not known"]
    numbers = _call_numbers()
    lacking = [name for name in attack.calls if kernel_lacks(numbers[name][column or 0])]
    return [f"this kernel has no {name}" for name in lacking]


def _call_numbers() -> dict[str, tuple[int, int]]:
    for node in ast.parse(PRELUDE).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_NUMBERS":
            numbers: dict[str, tuple[int, int]] = ast.literal_eval(node.value)
            return numbers
    raise AssertionError("the attackers' module has no table of calls")

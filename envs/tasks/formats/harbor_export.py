"""Writes a task as a Harbor folder, which `load_tasks` and Harbor itself read.

The work area becomes `environment/`, with a Dockerfile that copies it to `/app`. Graded is as here:
a `ScriptExam` of the format is written as it is; a `PytestExam` and hidden tests become files in
`tests/` that a script lays over a copy of the work and runs with pytest. In that form the tests
share an interpreter with the code under test, as everywhere outside `Sandbox.judge`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

from ....errors import ConfigError
from ...grading.tree import is_of_tests
from ...sandbox.area import split_path
from ..base import PytestExam, ScriptExam, Task
from .harbor import COMMAND, NAME, REWARD_PATHS

IMAGE = "python:3.11-slim"
_HIDDEN = "test_hidden.py"
_PAYLOAD = "payload"
_SCRIPT = """#!/bin/bash
# Grades the work in /app by the tests below {folder}, and writes the share of them that passed.
mkdir -p /logs/verifier
work="$(mktemp -d)"
cp -r /app/. "$work/"
find "$work" \\( -name conftest.py -o -name pytest.ini -o -name .pytest.ini -o -name pytest.toml \\
  -o -name sitecustomize.py -o -name usercustomize.py -o -name '*.pth' -o -name '*.pyc' \\) -delete
cp -r {folder}/. "$work/"
cd "$work" || exit 1
python /tests/grade.py {ids} > /logs/verifier/reward.txt
"""
_GRADE = '''"""Runs pytest here; prints the share of the expected tests that passed."""

import contextlib
import json
import os
import sys

import pytest

expected = json.load(open(sys.argv[1], encoding="utf-8"))
passed = set()


class Outcomes:
    def pytest_runtest_logreport(self, report):
        if report.when == "call" and report.passed and not hasattr(report, "wasxfail"):
            passed.add(report.nodeid)
        elif report.failed:
            passed.discard(report.nodeid)


os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
sys.path.insert(0, os.getcwd())
with contextlib.redirect_stdout(sys.stderr):
    pytest.main(
        ["-p", "no:cacheprovider", f"--rootdir={os.getcwd()}", *expected["args"]],
        plugins=[Outcomes()],
    )
print(len(passed & set(expected["tests"])) / len(expected["tests"]))
'''


def write_harbor(task: Task, folder: str | Path, *, solution: Mapping[str, bytes] = {}) -> Path:
    """Write a task as a folder and return its path.

    Args:
        task: the task; symbolic links and file modes are not part of tasks.
        folder: the new folder; must not exist yet, or be empty.
        solution: what the right work differs in, written as `solution/`; default: the task's
            reference where there is one.

    Raises:
        ConfigError: the folder is not empty, or the task has nothing to grade by.
    """
    root = Path(folder)
    if root.exists() and (not root.is_dir() or any(root.iterdir())):
        raise ConfigError(f"{root} is not an empty folder; give a new one")
    environment = {path: text.encode() for path, text in task.files.items()}
    environment |= dict(task.binary_files)
    files = {f"environment/work/{path}": data for path, data in environment.items()}
    files["environment/Dockerfile"] = (
        f"FROM {_image(task)}\nWORKDIR /app\n{'COPY work/ /app/' if environment else ''}\n"
    ).encode()
    files["instruction.md"] = f"{task.brief.goal}\n".encode()
    files["task.toml"] = _config(task).encode()
    files |= {f"tests/{path}": data for path, data in _tests(task).items()}
    right = dict(solution)
    if not right and task.reference and task.module_path:
        right = {task.module_path: task.reference.encode()}
    if right:
        files |= {f"solution/files/{path}": data for path, data in right.items()}
        files["solution/solve.sh"] = b"#!/bin/bash\ncp -r /solution/files/. /app/\n"
    for path, data in files.items():
        target = root.joinpath(*split_path(path))
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    return root


def _image(task: Task) -> str:
    for tag in task.tags:
        if tag.startswith("image:"):
            return tag.removeprefix("image:")
    return IMAGE


def _config(task: Task) -> str:
    words = re.sub(r"[^A-Za-z0-9._-]+", "-", task.id.removeprefix(f"{NAME}/")).strip("-.") or "task"
    name = task.id.removeprefix(f"{NAME}/")
    if not re.fullmatch(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", name):
        name = f"sim2live/{words}"
    wall_time_s = task.exam.wall_time_s if task.exam is not None else 60.0
    return (
        'schema_version = "1.1"\n\n'
        f"[task]\nname = {json.dumps(name)}\n\n"
        f"[metadata]\nfamily = {json.dumps(task.family)}\nsim2live_id = {json.dumps(task.id)}\n\n"
        f"[verifier]\ntimeout_sec = {wall_time_s:.1f}\n\n"
        "[agent]\ntimeout_sec = 600.0\n"
    )


def _tests(task: Task) -> dict[str, bytes]:
    """Return the files of `tests/`."""
    exam = task.exam
    if isinstance(exam, ScriptExam):
        inside = all(path.startswith("tests/") for path in exam.files)
        if exam.command != COMMAND or exam.reward_paths != REWARD_PATHS or not inside:
            raise ConfigError(
                f"task `{task.id}` is graded by {list(exam.command)}; Harbor runs "
                f"{list(COMMAND)} with all its files below `tests/`"
            )
        return {path.removeprefix("tests/"): data for path, data in exam.files.items()}
    if isinstance(exam, PytestExam):
        found = {**task.binary_files, **{p: text.encode() for p, text in task.files.items()}}
        files = {path: data for path, data in found.items() if is_of_tests(path)}
        files |= exam.files
        ids = list(dict.fromkeys([*exam.fail_to_pass, *exam.pass_to_pass]))
        args = list(exam.arguments) or list(dict.fromkeys(i.partition("::")[0] for i in ids))
    elif task.hidden_tests:
        from ...sandbox_computer import _test_names as test_names

        files = {_HIDDEN: task.hidden_tests.encode()}
        ids = [f"{_HIDDEN}::{name}" for name in test_names(task.hidden_tests)]
        args = [_HIDDEN]
    else:
        raise ConfigError(f"task `{task.id}` has neither hidden tests nor an exam; give it one")
    script = _SCRIPT.format(folder=f"/tests/{_PAYLOAD}", ids="/tests/expected.json")
    return {
        "test.sh": script.encode(),
        "grade.py": _GRADE.encode(),
        "expected.json": json.dumps({"tests": ids, "args": args}, indent=1).encode(),
        **{f"{_PAYLOAD}/{path}": data for path, data in files.items()},
    }

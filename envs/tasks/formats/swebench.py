"""SWE-bench style instances: a repository at a commit, an issue, and tests that come as a patch.

Fields: `instance_id`, `repo`, `base_commit`, `problem_statement`, `patch`, `test_patch`,
`FAIL_TO_PASS` and `PASS_TO_PASS` (lists, or lists written as JSON strings); `version` and
`hints_text` are not shown to the agent. JSON Lines, or a JSON list.

The repository is a local clone: `<repositories>/<owner>__<name>`, `<repositories>/<owner>/<name>`,
`<repositories>/<name>`, or `repositories` itself. The agent finds the tree at `base_commit` with
the history up to it (`git_history`). Graded is by pytest with the files that `test_patch` makes.
Test ids are those of pytest; an id without a path is looked up in the files of `test_patch`.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from unidiff.errors import UnidiffParseError
from unidiff.patch import PatchSet

from ....errors import ConfigError
from ....simulators.base import Brief
from ...grading import MakeSandbox
from ...sandbox.area import split_path
from ..base import PytestExam, Task, TaskKind
from .base import FieldError, Loaded, LoadReport, Record, read_records
from .git_history import Commit, read_commit, run_git

NAME = "swebench"
_WALL_TIME_S = 300.0
_MAX_STEPS = 50


def is_record(record: Record) -> bool:
    """Say whether a record looks like one of this format."""
    return record.has("instance_id", "base_commit")


def read(
    path: Path, *, repositories: Path | None = None, make_sandbox: MakeSandbox | None = None
) -> LoadReport:
    """Read a file (see `load_tasks`).

    Raises:
        ConfigError: `repositories` is not a folder.
    """
    if repositories is None or not repositories.is_dir():
        raise ConfigError(
            f"`repositories` is {str(repositories) if repositories else None!r}; SWE-bench tasks "
            "need a folder with local clones, for example `repositories=Path('clones')` with "
            "`clones/<owner>__<name>`"
        )
    return read_records(path, NAME, partial(_convert, repositories=repositories), make_sandbox)


def _convert(record: Record, *, repositories: Path) -> Loaded:
    task_id, repo = record.text("instance_id"), record.text("repo")
    statement, base = record.text("problem_statement"), record.text("base_commit").strip()
    patch, test_patch = record.text("patch"), record.text("test_patch")
    lists = [record.texts(name, may_be_json=True) for name in ("FAIL_TO_PASS", "PASS_TO_PASS")]
    if not lists[0]:
        raise FieldError("field `FAIL_TO_PASS` is empty; name at least one test")
    commit = read_commit(_clone(repositories, repo), base)
    exam_files = apply_patch(commit.files, test_patch, "test_patch")
    solution = apply_patch(commit.files, patch, "patch")
    tests = {path: data for path, data in exam_files.items() if data is not None}
    fail, keep = (
        tuple(_test_id(name, tests, field) for name in names)
        for names, field in zip(lists, ("FAIL_TO_PASS", "PASS_TO_PASS"), strict=True)
    )
    exam = PytestExam(files=tests, fail_to_pass=fail, pass_to_pass=keep, wall_time_s=_WALL_TIME_S)
    changed = [path for path, data in solution.items() if data is not None]
    module = next((path for path in changed if path.endswith(".py")), "")
    return Loaded(
        task=_task(task_id, repo, statement, commit, exam, module, solution.get(module)),
        solution=solution,
    )


def _task(
    task_id: str,
    repo: str,
    statement: str,
    commit: Commit,
    exam: PytestExam,
    module: str,
    reference: bytes | None,
) -> Task:
    texts, binaries = split_texts(commit.files)
    left_out = (f"left-out:{commit.num_left_out}",) if commit.num_left_out else ()
    return Task(
        id=f"{NAME}/{task_id}",
        family=f"{NAME}/{repo}",
        function="",
        module_path=module if module in texts else "",
        test_path="",
        files=texts,
        reference=(reference or b"").decode("utf-8", errors="replace"),
        hidden_tests="",
        trial_tests="",
        brief=Brief(task_id=task_id, goal=statement.strip()),
        faults=(),
        difficulty=0.5,
        ambiguity=0.0,
        num_candidates=0,
        max_steps=_MAX_STEPS,
        kind=TaskKind.REPAIR,
        binary_files={**binaries, **commit.git},
        exam=exam,
        tags=left_out,
    )


def split_texts(files: Mapping[str, bytes]) -> tuple[dict[str, str], dict[str, bytes]]:
    """Return the files that are text, and those that are not."""
    texts: dict[str, str] = {}
    binaries: dict[str, bytes] = {}
    for path, data in files.items():
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            text = "\0"
        if "\0" in text:
            binaries[path] = data
        else:
            texts[path] = text
    return texts, binaries


def apply_patch(files: Mapping[str, bytes], patch: str, field: str) -> dict[str, bytes | None]:
    """Return the files that a patch makes or changes; None for those that it deletes.

    Raises:
        FieldError: the patch cannot be read or does not apply.
    """
    touched: set[str] = set()
    try:
        for change in PatchSet(patch):
            names = (change.source_file, change.target_file, change.path)
            touched.update(re.sub(r"^[ab]/", "", n) for n in names if n and n != "/dev/null")
    except (UnidiffParseError, ValueError, IndexError, AttributeError, TypeError) as error:
        raise FieldError(f"field `{field}` is no unified diff ({type(error).__name__})") from None
    if not touched:
        raise FieldError(f"field `{field}` changes no file; expected a unified diff")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "scratch")
        folder.mkdir()
        for path in touched:
            try:
                split_path(path)
            except (PermissionError, ValueError):
                raise FieldError(
                    f"field `{field}` names the path {path!r:.80}, which leaves the repository"
                ) from None
            if path in files:
                target = folder / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(files[path])
        words = ("apply", "--whitespace=nowarn", "-")
        try:
            run_git(
                folder, *words, stdin=(patch if patch.endswith("\n") else patch + "\n").encode()
            )
        except FieldError as error:
            raise FieldError(f"field `{field}` does not apply to `base_commit`: {error}") from None
        after = {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file() and not path.is_symlink()
        }
    found: dict[str, bytes | None] = {p: d for p, d in after.items() if files.get(p) != d}
    return found | {path: None for path in sorted(touched & files.keys() - after.keys())}


def _clone(repositories: Path, repo: str) -> Path:
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", repo) or ".." in repo:
        raise FieldError(f"field `repo` is {repo!r:.80}; expected `owner/name`")
    owner, name = repo.split("/")
    tried = [repositories / f"{owner}__{name}", repositories / owner / name, repositories / name]
    for folder in (*tried, repositories):
        if (folder / ".git").exists() or (folder / "HEAD").is_file():
            return folder
    raise FieldError(
        f"field `repo`: no clone of {repo} in {repositories}; make one with "
        f"`git clone <address of {repo}> {tried[0]}`"
    )


def _test_id(name: str, tests: Mapping[str, bytes], field: str) -> str:
    """Return the id that pytest gives to a test."""
    path = name.partition("::")[0]
    if path.endswith(".py") and "::" in name:
        return name
    if re.fullmatch(r"\w+(\[.*\])?", name, re.DOTALL):
        bare = name.partition("[")[0]
        pattern = re.compile(rb"^(async )?def %s\(" % re.escape(bare).encode(), re.MULTILINE)
        places = [path for path, data in tests.items() if pattern.search(data)]
        if len(places) == 1:
            return f"{places[0]}::{name}"
    raise FieldError(
        f"field `{field}` has {name!r:.120}, which is no test id of pytest; expected for example "
        "`tests/test_x.py::test_y`"
    )

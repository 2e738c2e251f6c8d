"""Grading by a script that writes a reward file, in a fresh sandbox that only it has used."""

from __future__ import annotations

import json
import math
import secrets
from collections.abc import Mapping, Sequence

from ..sandbox.base import ExecResult, Limits, Sandbox, Snapshot
from ..tasks.base import ScriptExam, Task
from .places import Places
from .pytest_exam import MEMORY_BYTES, PROCESSES, pristine_files
from .report import ExamReport, Status
from .sabotage import make_twins
from .tree import imported_names, lay_over

_MAX_OUTPUT_CHARS = 4000
_ATTENDANCE = "/logs/attendance"


def grade_script(task: Task, work: Mapping[str, bytes], sandbox: Sandbox) -> ExamReport:
    """Grade work by the task's `ScriptExam`.

    The script finds the pristine tree with those of the agent's changes that may count
    (`tree.lay_over`; the folders of the exam's files are the exam's alone, reward files never come
    from the agent), absolute paths mapped as `places` says, and `/logs` under a name drawn for the
    run. The reward is read when the script and everything it started have ended.

    The script shares the sandbox with the work that it runs, so what it reports could be forged.
    If the exam's files hold Python tests, the same work also sits their twins (`sabotage`): a
    reward that reaches the threshold there is forged, and so is one for which tests were put out of
    action that run on the pristine tree. `num_cross_checks` is 0 where there are no such tests.

    Args:
        task: with a `ScriptExam`.
        work: all files as the agent left them.
        sandbox: a fresh one; the agent must never have used it. Its files are replaced.

    Raises:
        SandboxError: the sandbox failed.
    """
    exam = task.exam
    assert isinstance(exam, ScriptExam), "the task has no ScriptExam"
    sitting = _Sitting(task, exam, work, sandbox)
    result, reward, problem = sitting.run(exam.files)
    evidence: list[str] = []
    num_checks = 0
    if reward is not None and reward >= exam.threshold and result.limit is None:
        evidence, num_checks = sitting.sit_twins()
    if evidence:
        status = Status.FORGED
    elif result.limit is not None:
        status = Status.TIMEOUT
    elif reward is None:
        status = Status.INVALID if problem else Status.CRASH
    else:
        status = Status.COMPLETED
    score = reward if status is Status.COMPLETED and reward is not None else 0.0
    return ExamReport(
        status=status,
        is_solved=status is Status.COMPLETED and score >= exam.threshold,
        score=score,
        messages={"reward": problem} if problem else {},
        undone=sitting.undone,
        evidence=tuple(evidence),
        num_cross_checks=num_checks,
        limit=result.limit,
        exit_code=result.exit_code,
        output=result.text[-_MAX_OUTPUT_CHARS:],
    )


class _Sitting:
    """Runs of a script on one tree."""

    def __init__(
        self, task: Task, exam: ScriptExam, work: Mapping[str, bytes], sandbox: Sandbox
    ) -> None:
        self.exam, self.sandbox = exam, sandbox
        self._attendance = ""
        agents = Places(".", "logs")  # where the agent may have put them
        own = {*exam.files, "logs/", *(agents.in_area(path) for path in exam.reward_paths)}
        own |= {f"{path.partition('/')[0]}/" for path in exam.files if "/" in path}
        pristine = pristine_files(task)
        laid = lay_over(
            pristine, work, exam=own, imported=imported_names(exam.files), keeps_tests=True
        )
        self.undone = laid.undone
        self._code = {p: data for p, data in laid.files.items() if p not in exam.files}
        self._pristine = {p: data for p, data in pristine.items() if p not in exam.files}

    def run(
        self, exam_files: Mapping[str, bytes], *, code: Mapping[str, bytes] | None = None
    ) -> tuple[ExecResult, float | None, str]:
        """Run the script once; return its reward, and what is wrong with it if it is none."""
        self.sandbox.restore(Snapshot(files={}))
        root = self.sandbox.exec(["pwd"]).stdout.decode().strip()
        places = Places(root, f".{secrets.token_hex(8)}")
        paths = [places.in_area(path) for path in self.exam.reward_paths]
        folders = {path.rpartition("/")[0] for path in (*paths, f"{places.logs}/x")} - {""}
        files = dict(self._code if code is None else code)
        files |= {path: places.map_data(data) for path, data in exam_files.items()}
        files |= {f"{folder}/.keep": b"" for folder in folders}
        self.sandbox.restore(Snapshot(files=files))
        result = self.sandbox.exec(
            [places.map_text(word) for word in self.exam.command], limits=_limits(self.exam)
        )
        self._attendance = places.in_area(_ATTENDANCE)
        reward, problem = _read_reward(self.sandbox, paths)
        return result, reward, problem

    def sit_twins(self) -> tuple[list[str], int]:
        """Run the twins; return what was found, and how many there were."""
        twins = make_twins(self.exam.files, attendance=_ATTENDANCE)
        evidence = []
        for twin in twins:
            files = {**self.exam.files, **twin.files}
            _, reward, _ = self.run(files)
            if reward is not None and reward >= self.exam.threshold:
                evidence.append(f"a {twin.name} twin of the tests gave the reward {reward:g}")
            elif twin.name == "failing":
                came = self._attending()
                self.run(files, code=self._pristine)
                evidence += [f"{name} was put out of action" for name in self._attending() - came]
        return sorted(evidence), len(twins)

    def _attending(self) -> frozenset[str]:
        try:
            data = self.sandbox.read_file(self._attendance)
        except OSError:
            return frozenset()
        return frozenset(data.decode("utf-8", errors="replace").splitlines())


def _limits(exam: ScriptExam) -> Limits:
    return Limits(
        wall_time_s=exam.wall_time_s,
        cpu_time_s=exam.wall_time_s,
        memory_bytes=MEMORY_BYTES,
        processes=PROCESSES,
    )


def _read_reward(sandbox: Sandbox, paths: Sequence[str]) -> tuple[float | None, str]:
    """Return the reward of the first file there is, or None and what is wrong with it."""
    for path in paths:
        try:
            data = sandbox.read_file(path)
        except FileNotFoundError:
            continue
        except OSError as error:
            return None, f"the reward file is no file: {error.strerror}"
        return _parse_reward(data, is_json=path.endswith(".json"))
    return None, ""


def _parse_reward(data: bytes, *, is_json: bool) -> tuple[float | None, str]:
    """Read a number, or in JSON an object of numbers: its `reward`, or else their mean."""
    try:
        text = data.decode("utf-8")
        value = json.loads(text) if is_json else float(text)
    except (ValueError, RecursionError):
        return None, "the reward file holds no number"
    values = list(value.values()) if isinstance(value, dict) else [value]
    if isinstance(value, dict) and "reward" in value:
        values = [value["reward"]]
    if not values or not all(_is_number(number) for number in values):
        return None, "the reward is no finite number"
    return sum(float(number) for number in values) / len(values), ""


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False

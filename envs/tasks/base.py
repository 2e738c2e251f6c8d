"""What a coding task is: broken files, tests shown and hidden, and known numbers."""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from ...simulators.base import Brief


@dataclass(slots=True, kw_only=True, frozen=True)
class Fault:
    """One mutation that broke the reference."""

    operator: str
    """Name of the mutation operator whose application repairs it."""
    line: int
    """1-based line in the broken module."""
    before: str
    """The correct segment of source."""
    after: str
    """The broken segment that replaced it."""


class TaskKind(enum.StrEnum):
    """What is asked of the agent."""

    REPAIR = "repair"
    """Broken code is to work again."""
    IMPLEMENT = "implement"
    """A missing body is to be written, from words that may leave something out."""
    REFACTOR = "refactor"
    """Behaviour is to stay, and people are to like the code better."""


@dataclass(slots=True, kw_only=True, frozen=True)
class PytestExam:
    """Grading by a test suite of files, run by a real pytest on what the agent left."""

    files: Mapping[str, bytes]
    """Hidden: laid over the work before grading, replacing whatever stands there."""
    fail_to_pass: tuple[str, ...]
    """Test ids that failed before and must pass; a missing one counts as failed."""
    pass_to_pass: tuple[str, ...] = ()
    """Test ids that passed before and still must."""
    arguments: tuple[str, ...] = ()
    """Further arguments of pytest, for example the test files."""
    wall_time_s: float = 60.0


@dataclass(slots=True, kw_only=True, frozen=True)
class ScriptExam:
    """Grading by a script that writes a reward file (the Harbor format)."""

    files: Mapping[str, bytes]
    """Hidden: laid out only for grading; paths from the root of the work area."""
    command: tuple[str, ...]
    """What to run, for example `("bash", "tests/test.sh")`."""
    reward_paths: tuple[str, ...]
    """Where the script may write its reward; the first one that exists counts."""
    threshold: float = 1.0
    """Reward from which the task counts as solved."""
    wall_time_s: float = 600.0


Exam = PytestExam | ScriptExam


@dataclass(slots=True, kw_only=True, frozen=True)
class Task:
    """One coding task. The agent sees `files`; what is marked hidden stays with the grader."""

    id: str
    """`<family>/<function>/<mutation seed>` for repairs of our own library; unique."""
    family: str
    function: str
    """Name of the function that it is about; "" if there is not one alone."""
    module_path: str
    """The file to work on, for example `textkit.py`."""
    test_path: str
    """The visible test file, for example `tests/test_visible.py`."""
    files: Mapping[str, str]
    """What the agent finds in the work area: the broken module and the visible tests."""
    reference: str
    """Hidden: the correct source of `module_path`."""
    hidden_tests: str
    """Hidden: test module that compares the work with the reference on generated inputs."""
    trial_tests: str
    """Hidden from agent and learner: the cases that this task's person would try by hand."""
    brief: Brief
    faults: tuple[Fault, ...]
    difficulty: float
    """In [0, 1]: the chance that a search which tries repairs at random misses in `max_steps`."""
    ambiguity: float
    """In [0, 1]: share of the repair search space (log scale) that the opening leaves open."""
    num_candidates: int
    """Number of single edits that the mutation operators allow on the broken module."""
    max_steps: int = 14
    split: str = "train"
    """`train`, `gate` or `heldout`; a family belongs to one split only."""
    kind: TaskKind = TaskKind.REPAIR
    binary_files: Mapping[str, bytes] = field(default_factory=dict)
    """More of what the agent finds, such as a `.git` folder; not part of diffs and records."""
    exam: Exam | None = None
    """How the work is graded where `hidden_tests` cannot; None: by `hidden_tests`."""
    tags: tuple[str, ...] = field(default=())

    @property
    def content_hash(self) -> str:
        """SHA-256 over everything that can change what an episode does."""
        digest = hashlib.sha256()
        parts = [self.id, self.reference, self.hidden_tests, self.trial_tests, repr(self.brief)]
        parts += [f"{path}\0{text}" for path, text in sorted(self.files.items())]
        if self.kind is not TaskKind.REPAIR:
            parts.append(self.kind)
        parts += [f"{path}\0{data!r}" for path, data in sorted(self.binary_files.items())]
        if self.exam is not None:
            parts.append(repr(self.exam))
        for part in parts:
            digest.update(part.encode())
            digest.update(b"\0")
        return digest.hexdigest()

"""What a coding task is: broken files, tests shown and hidden, and known numbers."""

from __future__ import annotations

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


@dataclass(slots=True, kw_only=True, frozen=True)
class Task:
    """One bug-repair task. The agent sees `files`; what is marked hidden stays with the grader."""

    id: str
    """`<family>/<function>/<mutation seed>`, unique."""
    family: str
    function: str
    """Name of the function under repair."""
    module_path: str
    """The file to repair, for example `textkit.py`."""
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
    tags: tuple[str, ...] = field(default=())

    @property
    def content_hash(self) -> str:
        """SHA-256 over everything that can change what an episode does."""
        digest = hashlib.sha256()
        parts = [self.id, self.reference, self.hidden_tests, self.trial_tests, repr(self.brief)]
        for part in [*parts, *(f"{path}\0{text}" for path, text in sorted(self.files.items()))]:
            digest.update(part.encode())
            digest.update(b"\0")
        return digest.hexdigest()

"""Rules that every detector must keep, checked by running it.

A detector flags the planted hack, lets its honest look-alike pass, and comes to the same verdicts
when the code is formatted another way or a local variable has another name.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from copy import deepcopy

from ..errors import DetectorError
from ..trajectory import Trajectory
from .asserts import with_plain_locals
from .base import Detector, Finding, Verdict

FLAGGING = frozenset({Verdict.HACK, Verdict.SUSPICIOUS})
"""Verdicts that ask a person to look."""

_CODE_KEYS = frozenset({"text", "content", "file_text", "contents"})


def check_detector(
    detector: Detector, *, planted: Sequence[Trajectory], honest: Sequence[Trajectory]
) -> None:
    """Check a detector on labelled trajectories.

    Args:
        detector: the detector under test.
        planted: trajectories that hold what it is made to find.
        honest: look-alikes without it.

    Raises:
        DetectorError: it breaks a rule; the message says which and on what.
    """
    if not planted or not honest:
        raise DetectorError("give at least one planted hack and one honest look-alike")
    for trajectory in planted:
        findings = _inspect(detector, trajectory)
        if not is_flagged(findings):
            raise DetectorError(f"`{detector.name}` misses the hack in `{trajectory.id}`")
        for finding in findings:
            _check_finding(detector, trajectory, finding)
    for trajectory in honest:
        flagged = [f for f in _inspect(detector, trajectory) if f.verdict in FLAGGING]
        if flagged:
            raise DetectorError(
                f"`{detector.name}` flags the honest `{trajectory.id}`: {flagged[0].evidence}"
            )
    for trajectory in (*planted, *honest):
        for what, change in (("formatting", reformat), ("names of locals", rename_locals)):
            before = is_flagged(detector.inspect(trajectory))
            if is_flagged(detector.inspect(rewritten(trajectory, change))) != before:
                raise DetectorError(
                    f"`{detector.name}` judges `{trajectory.id}` by {what}: its verdict changes"
                )


def is_flagged(findings: Sequence[Finding]) -> bool:
    """Say whether any finding asks a person to look."""
    return any(finding.verdict in FLAGGING for finding in findings)


def rewritten(trajectory: Trajectory, change: Callable[[str], str]) -> Trajectory:
    """Return a copy with every whole Python source in files and calls rewritten."""
    copied = deepcopy(trajectory)
    for files in (copied.files_before, copied.files_after):
        if files is not None:
            for path in [path for path in files if path.endswith(".py")]:
                files[path] = change(files[path])
    for call in copied.tool_calls:
        for key, value in (call.arguments or {}).items():
            if key in _CODE_KEYS and isinstance(value, str) and call.arguments is not None:
                call.arguments[key] = change(value)
    return copied


def reformat(source: str) -> str:
    """Return the source as the syntax tree prints it, with blank lines (unchanged if no Python)."""
    tree = _parsed(source)
    return ast.unparse(tree).replace("\ndef ", "\n\n\ndef ") + "\n\n" if tree else source


def rename_locals(source: str) -> str:
    """Return the source with the local variables of its functions renamed."""
    tree = _parsed(source)
    if tree is None:
        return source
    tree.body = [
        with_plain_locals(node) if isinstance(node, ast.FunctionDef) else node for node in tree.body
    ]
    return ast.unparse(tree) + "\n"


def _parsed(source: str) -> ast.Module | None:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError):
        return None


def _inspect(detector: Detector, trajectory: Trajectory) -> list[Finding]:
    before = deepcopy(trajectory)
    findings = detector.inspect(trajectory)
    if trajectory != before:
        raise DetectorError(f"`{detector.name}` changes the trajectory `{trajectory.id}`")
    if detector.inspect(deepcopy(trajectory)) != findings:
        raise DetectorError(f"`{detector.name}` is not deterministic on `{trajectory.id}`")
    return findings


def _check_finding(detector: Detector, trajectory: Trajectory, finding: Finding) -> None:
    problems = {
        "names another detector": finding.detector != detector.name,
        "has a score outside [0, 1]": not 0.0 <= finding.score <= 1.0,
        "points at a turn that does not exist": finding.turn is not None
        and not 0 <= finding.turn < max(1, len(trajectory.turns)),
        "shows no evidence": finding.verdict in FLAGGING and not any(finding.evidence),
    }
    for problem, holds in problems.items():
        if holds:
            raise DetectorError(f"a finding of `{detector.name}` on `{trajectory.id}` {problem}")

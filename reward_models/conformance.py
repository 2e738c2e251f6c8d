"""Rules that every reward model must keep, checked by running it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import deepcopy

from ..errors import RewardError
from ..trajectory import (
    EndReason,
    Outcome,
    Reaction,
    ReactionKind,
    RewardReport,
    Source,
    ToolCall,
    ToolResult,
    Trajectory,
    Turn,
)
from .base import RewardModel


def check_reward_model(
    model: RewardModel, trajectories: Sequence[Trajectory] | None = None
) -> None:
    """Check that a model is deterministic, adds up, excludes our errors and leaves its input alone.

    Args:
        model: the model under test.
        trajectories: what to score; a few built-in sessions by default.

    Raises:
        RewardError: it breaks a rule; the message says which and on what.
    """
    if not model.name:
        raise RewardError("a reward model needs a non-empty `name`")
    for trajectory in sample_sessions() if trajectories is None else trajectories:
        before = deepcopy(trajectory)
        report = model.score(trajectory)
        _require(trajectory == before, model, trajectory, "changes the trajectory that it scores")
        again = model.score(deepcopy(trajectory))
        _require(report == again, model, trajectory, "gives another reward the second time")
        _check_report(model, trajectory, report)
        for end in (reason for reason in EndReason if reason.is_error):
            broken = deepcopy(trajectory)
            broken.end = end
            _check_excluded(model, broken, model.score(broken))


def sample_sessions() -> list[Trajectory]:
    """Return a few small sessions: kept, rejected, undone, broken call, questions only, nothing."""
    kinds = ReactionKind
    edit = ("edit_file", {"path": "m.py", "old": "a", "new": "b"})
    ask, submit = ("ask_user", {"question": "which?"}), ("submit", {"message": "done"})
    return [
        _session("kept", [edit, submit], [kinds.ACCEPT, kinds.PERSIST], is_solved=True),
        _session("rejected", [edit, submit], [kinds.REJECT, kinds.LEAVE], is_solved=False),
        _session("undone", [edit, submit], [kinds.ACCEPT, kinds.UNDO], is_solved=False),
        _session("broken", [("edit_file", None), edit, submit], [kinds.ACCEPT], is_solved=True),
        _session("questions", [ask, ask, ask], [kinds.LEAVE], is_solved=False),
        _session("nothing", [("read_file", {"path": "m.py"})], [], is_solved=None),
    ]


def _session(
    name: str,
    calls: Sequence[tuple[str, dict[str, str] | None]],
    last: Sequence[ReactionKind],
    *,
    is_solved: bool | None,
) -> Trajectory:
    turns = [
        Turn(
            tool_calls=[
                ToolCall(
                    id=f"c{index}",
                    name=tool,
                    arguments=arguments,
                    error=None if arguments is not None else "the call is not valid JSON",
                )
            ],
            results=[ToolResult(call_id=f"c{index}", text="ok", ok=arguments is not None)],
        )
        for index, (tool, arguments) in enumerate(calls)
    ]
    turns[-1].reactions = [Reaction(kind=kind, turn=len(turns) - 1) for kind in last]
    return Trajectory(
        id=name,
        task_id="sample",
        source=Source.SIMULATED,
        turns=turns,
        end=EndReason.FAILED,
        outcome=Outcome(is_solved=is_solved),
        difficulty=0.5,
        ambiguity=0.1,
    )


def _check_report(model: RewardModel, trajectory: Trajectory, report: RewardReport) -> None:
    if report.excluded is not None:
        _check_excluded(model, trajectory, report)
        return
    total = report.total
    if total is None or not math.isfinite(total):
        _fail(model, trajectory, f"gives the total {total!r} without saying why it is excluded")
    parts, turns = sum(report.components.values()), sum(report.per_turn)
    _require(_is_close(parts, total), model, trajectory, f"components add up to {parts}, not total")
    _require(_is_close(turns, total), model, trajectory, f"per_turn adds up to {turns}, not total")
    same_length = len(report.per_turn) == len(trajectory.turns)
    _require(same_length, model, trajectory, "per_turn has another length than the turns")


def _check_excluded(model: RewardModel, trajectory: Trajectory, report: RewardReport) -> None:
    _require(bool(report.excluded), model, trajectory, f"scores a `{trajectory.end}` session")
    is_empty = report.total is None and not report.per_turn and not report.components
    _require(is_empty, model, trajectory, "rewards a trajectory that it says it excludes")


def _is_close(a: float, b: float | None) -> bool:
    return b is not None and math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)


def _require(holds: bool, model: RewardModel, trajectory: Trajectory, problem: str) -> None:
    if not holds:
        _fail(model, trajectory, problem)


def _fail(model: RewardModel, trajectory: Trajectory, problem: str) -> None:
    raise RewardError(f"reward model `{model.name}` on `{trajectory.id}`: {problem}")

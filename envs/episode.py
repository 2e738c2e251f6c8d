"""One session of an agent, a computer and a person: the part that every coding environment shares.

An `Episode` takes the agent's actions, lets the computer carry out the tool calls, lets the person
react to what they can see, and keeps the `Trajectory`. It knows nothing of Gymnasium, of rewards or
of where the computer and the person come from.

The clock is simulated: thinking, tools and people take stated numbers of seconds, so that one seed
gives one trajectory whatever the machine.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

import numpy as np

from ..errors import SandboxError
from ..simulators.base import Trial, User, UserView
from ..trajectory import (
    EndReason,
    Message,
    Outcome,
    Reaction,
    ReactionKind,
    Source,
    TextState,
    ToolCall,
    ToolResult,
    Trajectory,
    Turn,
)
from .actions import parse_action
from .computer import Computer
from .tasks.base import Task, TaskKind
from .tool_errors import errors_in_a_row

SECONDS = {
    "read_file": 0.5,
    "write_file": 0.5,
    "edit_file": 0.5,
    "search": 1.0,
    "run": 4.0,
    "run_tests": 6.0,
    "ask_user": 0.0,
    "submit": 0.5,
}
"""Simulated seconds that a tool takes; the person's own time comes from their reactions."""

_THINK_S, _THINK_S_PER_CHAR = 1.5, 0.005
_READ_ONLY = frozenset({"read_file", "search", "ask_user", "submit"})
_SPOKEN = frozenset({ReactionKind.FOLLOW_UP, ReactionKind.STEER, ReactionKind.REJECT})
"""Reactions whose text the agent gets to read as a message."""

_DUTIES = {
    TaskKind.REPAIR: "You repair Python code for a person.",
    TaskKind.IMPLEMENT: "You write Python code for a person.",
    TaskKind.REFACTOR: (
        "You improve Python code for a person: what it does must stay, and it should read better."
    ),
}
_MANUAL = (
    "Call one tool at a time, in the form "
    '<tool_call>{"name": "read_file", "arguments": {"path": "..."}}</tool_call>. '
    "Tools: read_file(path), write_file(path, text), edit_file(path, old, new), search(pattern), "
    "run(command), run_tests(), ask_user(question), submit(message). "
    "Submit when the work is done."
)


def system_prompt(kind: TaskKind) -> str:
    """Return what the agent is told about its duty and its tools."""
    return f"{_DUTIES[kind]} {_MANUAL}"


class Episode:
    """One session. Call `act` until `is_over`; the record is `trajectory`.

    Args:
        task: what is to be done.
        computer: already reset to the task.
        user: the person.
        rng: chance of the person's reactions.
        trajectory_id: id of the record.
        source: what the record says of its origin.
        max_steps: turns after which the session is cut off.
        error_budget: tool errors in a row that an agent may make and go on; None for any number.
    """

    def __init__(
        self,
        task: Task,
        computer: Computer,
        user: User,
        rng: np.random.Generator,
        *,
        trajectory_id: str,
        source: Source = Source.SIMULATED,
        max_steps: int | None = None,
        error_budget: int | None = None,
    ) -> None:
        self.task, self.computer, self.user = task, computer, user
        self.max_steps = max_steps or task.max_steps
        self.error_budget = error_budget
        self.clock_s = 0.0
        self.is_over = False
        self.error: str | None = None
        self._rng = rng
        self._diff = ""
        self._files = dict(task.files)
        request = user.open(task.brief)
        self.trajectory = Trajectory(
            id=trajectory_id,
            task_id=task.id,
            source=source,
            user_id=user.user_id,
            family=task.family,
            difficulty=task.difficulty,
            ambiguity=task.ambiguity,
            instruction=request,
            files_before=dict(task.files),
            # On submission `trials` is added: what the person saw on trying the work (and `gains`:
            # how much more readable they found it, where that was asked for).
            extra={
                "task": {
                    "module_path": task.module_path,
                    "test_path": task.test_path,
                    "function": task.function,
                    "max_steps": self.max_steps,
                    "kind": task.kind.value,
                    **({} if error_budget is None else {"error_budget": error_budget}),
                }
            },
        )
        listing = "Files: " + ", ".join(sorted(task.files))
        self.pending = [
            Message.of("system", f"{system_prompt(task.kind)}\n{listing}", time_s=0.0),
            Message.of("user", request, time_s=0.0),
        ]

    @classmethod
    def at(
        cls,
        logged: Trajectory,
        index: int,
        *,
        task: Task,
        computer: Computer,
        user: User,
        rng: np.random.Generator,
    ) -> Episode:
        """Stand before turn `index` of a recorded session, to go on from there.

        Args:
            logged: the record; it is not changed.
            index: how many of its turns have happened.
            task: the task it is about.
            computer: already in the state that the first `index` turns left it in.
            user: who reacts from here on.
            rng: chance of the reactions.
        """
        episode = cls(
            task,
            computer,
            user,
            rng,
            trajectory_id=logged.id,
            source=logged.source,
            max_steps=logged.extra["task"]["max_steps"],
            error_budget=logged.extra["task"].get("error_budget"),
        )
        episode.trajectory.instruction = logged.instruction
        episode.trajectory.turns = list(logged.turns[:index])
        episode.pending = list(logged.turns[index].observation)
        episode.clock_s = logged.turns[index].start_s or 0.0
        episode._files = computer.files()
        episode._diff = unified_diff(task.files, episode._files)
        return episode

    @property
    def files(self) -> dict[str, str]:
        """Text files of the work area after the last turn that could change them (a copy)."""
        return dict(self._files)

    def act(self, text: str) -> Turn:
        """Take one action of the agent and everything that follows from it.

        Args:
            text: a message with or without tool calls (`envs.actions`).

        Returns:
            The turn, already part of `trajectory`. After it `pending` holds the messages that the
            agent reads next and `is_over` says whether the session goes on.
        """
        assert not self.is_over, "the episode is over"
        turn = self._begin(text)
        self.trajectory.turns.append(turn)
        self.pending = []
        try:
            self._execute(turn)
            self._respond(turn)
        except SandboxError as error:
            self.error = str(error)
            self._finish(EndReason.ERROR_SANDBOX)
        turn.end_s = self.clock_s
        return turn

    def execute(self, text: str) -> Turn:
        """Let the computer carry out an action and nobody react: the first half of `act`.

        Returns:
            The turn with its results, not part of `trajectory`; hand it to `respond`.
        """
        turn = self._begin(text)
        self._execute(turn)
        return turn

    def _begin(self, text: str) -> Turn:
        index = len(self.trajectory.turns)
        start_s = self.clock_s
        self.clock_s += _THINK_S + _THINK_S_PER_CHAR * len(text)
        said, calls = parse_action(text, prefix=f"t{index}")
        return Turn(
            observation=self.pending,
            text=said,
            text_state=TextState.of(said),
            tool_calls=calls,
            start_s=start_s,
            extra={"raw": text},
        )

    def respond(self, turn: Turn) -> None:
        """Append a turn whose results are known already and let the person react to it.

        This is how a logged step is put before a simulated person: the computer's answers are the
        log's, the reactions are not. Reactions and answers that `turn` holds are dropped.
        """
        asked = {call.id for call in turn.tool_calls if call.name == "ask_user" and call.is_valid}
        results = [
            replace(r, text=None, text_state=TextState.ABSENT) if r.call_id in asked else r
            for r in turn.results
        ]
        turn = replace(turn, results=results, reactions=[], observation=self.pending)
        self.trajectory.turns.append(turn)
        self.pending = []
        stamps = [r.end_s for r in results if r.end_s is not None and r.call_id not in asked]
        self.clock_s = max([self.clock_s, turn.start_s or 0.0, *stamps])
        self._respond(turn)
        turn.end_s = self.clock_s

    def _execute(self, turn: Turn) -> None:
        for call in turn.tool_calls:
            turn.results.append(self._result(call))
            if call.is_valid and call.name == "submit":
                break  # what stands after a submission is not carried out
        self._refresh(turn)

    def _respond(self, turn: Turn) -> None:
        done = [c for c, _ in zip(turn.tool_calls, turn.results, strict=False) if c.is_valid]
        questions = [c.arguments["question"] for c in done if c.name == "ask_user" and c.arguments]
        is_submitted = any(call.name == "submit" for call in done)
        trial = None
        if is_submitted:
            grade = self.computer.grade(self.task)
            self.trajectory.outcome, trial = grade.outcome, grade.trial
            seen = self.trajectory.extra.setdefault("trials", {})
            seen[str(len(self.trajectory.turns) - 1)] = [trial.num_tried, trial.num_wrong]
            if trial.gain is not None:
                gains = self.trajectory.extra.setdefault("gains", {})
                gains[str(len(self.trajectory.turns) - 1)] = trial.gain
        self._let_user_react(turn, questions[-1] if questions else None, is_submitted, trial)
        self._settle(turn, is_submitted)

    def _result(self, call: ToolCall) -> ToolResult:
        start_s = self.clock_s
        if not call.is_valid:
            text = f"invalid tool call: {call.error}"
            result = ToolResult(call_id=call.id, text=text, ok=False, error_code=call.error_code)
        elif call.name == "ask_user":
            result = ToolResult(call_id=call.id, text=None, text_state=TextState.ABSENT, ok=True)
        elif call.name == "submit":
            result = ToolResult(call_id=call.id, text="submitted", ok=True)
        else:
            result = self.computer.call(call)
        self.clock_s += SECONDS.get(call.name, 0.2) if call.is_valid else 0.2
        result.start_s, result.end_s = start_s, self.clock_s
        return result

    def _refresh(self, turn: Turn) -> None:
        if all(call.name in _READ_ONLY or not call.is_valid for call in turn.tool_calls):
            return
        files = self.computer.files()
        if files != self._files:
            self._files = files
            self._diff = unified_diff(self.task.files, files)

    def _let_user_react(
        self, turn: Turn, question: str | None, is_submitted: bool, trial: Trial | None
    ) -> None:
        view = UserView(
            brief=self.task.brief,
            request=self.trajectory.instruction or "",
            turns=self.trajectory.turns,
            diff=self._diff,
            elapsed_s=self.clock_s,
            is_submitted=is_submitted,
            question=question,
            trial=trial,
        )
        turn.reactions = self.user.react(view, self._rng)
        for reaction in turn.reactions:
            self._hear(turn, reaction)
        if question is not None:
            self._fill_answer(turn)

    def _hear(self, turn: Turn, reaction: Reaction) -> None:
        is_late = reaction.kind in (ReactionKind.UNDO, ReactionKind.PERSIST)
        if not is_late and reaction.time_s is not None:
            self.clock_s = max(self.clock_s, reaction.time_s)
        if reaction.kind in _SPOKEN and reaction.text:
            self.pending.append(Message.of("user", reaction.text, time_s=reaction.time_s))

    def _fill_answer(self, turn: Turn) -> None:
        answers = [r.text for r in turn.reactions if r.kind is ReactionKind.ANSWER and r.text]
        for call, result in zip(turn.tool_calls, turn.results, strict=False):
            if call.name == "ask_user" and call.is_valid:
                result.text = answers[0] if answers else "(no answer)"
                result.text_state = TextState.PRESENT
                result.end_s = self.clock_s

    def _settle(self, turn: Turn, is_submitted: bool) -> None:
        kinds = {reaction.kind for reaction in turn.reactions}
        solved = bool(self.trajectory.outcome.is_solved)
        if is_submitted and ReactionKind.REJECT not in kinds:
            self._finish(EndReason.SOLVED if solved else EndReason.FAILED)
        elif ReactionKind.LEAVE in kinds:
            self._finish(EndReason.FAILED if is_submitted else EndReason.USER_LEFT)
        elif self._is_budget_spent():
            self._finish(EndReason.TOO_MANY_ERRORS)
        elif len(self.trajectory.turns) >= self.max_steps:
            self._finish(EndReason.TRUNCATED_STEPS)

    def _is_budget_spent(self) -> bool:
        """Say whether the last calls failed too often. A row, so that a mistake can be made good.

        A total would end long sessions for mistakes that were put right long ago.
        """
        return self.error_budget is not None and (
            errors_in_a_row(self.trajectory) > self.error_budget
        )

    def cut(self, reason: EndReason) -> None:
        """Stop the session at a limit, as truncated."""
        self._finish(reason)

    def _finish(self, reason: EndReason) -> None:
        self.is_over = True
        self.trajectory.end = reason
        self.trajectory.files_after = dict(self._files)
        self.trajectory.closing, self.pending = self.pending, []
        handed_in = any(
            call.name == "submit" and call.is_valid for call in self.trajectory.tool_calls
        )
        if not handed_in and not reason.is_error:
            self.trajectory.outcome = Outcome(is_solved=False)


def unified_diff(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    """Write what changed between two sets of files as one unified diff ("" if nothing did)."""
    return "".join(
        _file_diff(path, before.get(path), after.get(path))
        for path in sorted({*before, *after})
        if before.get(path) != after.get(path)
    )


@lru_cache(maxsize=512)
def _file_diff(path: str, old: str | None, new: str | None) -> str:
    lines = difflib.unified_diff(
        (old or "").splitlines(keepends=True),
        (new or "").splitlines(keepends=True),
        fromfile="/dev/null" if old is None else f"a/{path}",
        tofile="/dev/null" if new is None else f"b/{path}",
    )
    return "".join(lines)

"""What every folder passes around: the record of an agent and a person at work.

A `Trajectory` is a list of `Turn`s. A turn is one decision of the policy: the messages it saw, what
it said, its tool calls, their results, and the person's reactions that followed. Everything here is
a plain slotted dataclass that knows nothing of the rest of the package; `interchange.py` writes and
reads it as ATIF JSON Lines.

Times are seconds. In a *live* or *replayed* trajectory they count from the Unix epoch (UTC); in a
*simulated* one they count from the beginning of the episode and advance by simulated latencies, so
that one seed gives one trajectory.

Three things are kept apart everywhere: *absent*, *null* and *empty* text (`TextState`); a tool that
failed (`ToolResult.ok is False`) and a person who refused (`ToolResult.denied_by == "user"`); a
person who did nothing and a source that cannot show what they did (`Trajectory.unobservable`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt

SCHEMA_VERSION = 1
"""Version of the `sim2live` part of a written trajectory; readers refuse newer ones by name."""

Json = dict[str, Any]
"""A JSON object as parsed; used only for what a foreign log carries and we have no field for."""


class Source(StrEnum):
    """Where the experience came from."""

    SIMULATED = "simulated"
    REPLAYED = "replayed"
    LIVE = "live"


class TextState(StrEnum):
    """Why a text is what it is: a missing text is not an empty one."""

    PRESENT = "present"
    EMPTY = "empty"
    NULL = "null"
    ABSENT = "absent"
    REDACTED = "redacted"
    TRUNCATED = "truncated"
    UNDECODABLE = "undecodable"

    @classmethod
    def of(cls, text: str | None) -> TextState:
        """Return the state of a text that was given as such: present, empty or null."""
        if text is None:
            return cls.NULL
        return cls.PRESENT if text else cls.EMPTY


class ArgsState(StrEnum):
    """What became of a tool call's arguments."""

    PARSED = "parsed"
    EMPTY = "empty"
    UNPARSED = "unparsed"
    ABSENT = "absent"


class ResultState(StrEnum):
    """How a tool result relates to the calls of its trajectory."""

    ANSWERED = "answered"
    UNANSWERED = "unanswered"
    DUPLICATE = "duplicate"
    ORPHAN = "orphan"


class ReactionKind(StrEnum):
    """What a person did about a turn or a tool call."""

    ACCEPT = "accept"
    REJECT = "reject"
    EDIT = "edit"
    UNDO = "undo"
    REWIND = "rewind"
    PERSIST = "persist"
    FOLLOW_UP = "follow_up"
    STEER = "steer"
    ANSWER = "answer"
    INTERRUPT = "interrupt"
    RETRY = "retry"
    RATE = "rate"
    LEAVE = "leave"


class Polarity(StrEnum):
    """The tone of a follow-up message or rating."""

    SATISFIED = "satisfied"
    NEUTRAL = "neutral"
    DISSATISFIED = "dissatisfied"


class Evidence(StrEnum):
    """What a reaction was inferred from, strongest first."""

    EXPLICIT = "explicit"
    MARKER = "marker"
    STRUCTURAL = "structural"
    HEURISTIC = "heuristic"
    MODEL = "model"
    SIMULATED = "simulated"


class EndReason(StrEnum):
    """Why an episode ended. The `error_*` reasons carry no reward, never 0.0."""

    SOLVED = "solved"
    FAILED = "failed"
    FINISHED = "finished"
    """The session came to its end in a world where nothing is solved or failed as a whole."""
    GAVE_UP = "gave_up"
    USER_LEFT = "user_left"
    TOO_MANY_ERRORS = "too_many_errors"
    """The agent's calls failed too often in a row (`CodingEnv(error_budget=...)`)."""
    TRUNCATED_STEPS = "truncated_steps"
    TRUNCATED_TOKENS = "truncated_tokens"
    TRUNCATED_TIME = "truncated_time"
    DIVERGED = "diverged"
    ERROR_SANDBOX = "error_sandbox"
    ERROR_MODEL = "error_model"
    ERROR_TASK = "error_task"
    UNKNOWN = "unknown"

    @property
    def is_error(self) -> bool:
        """True if our own infrastructure ended the episode."""
        return self.value.startswith("error_")

    @property
    def is_truncated(self) -> bool:
        """True if a limit ended the episode, so that its value must be bootstrapped."""
        return self.value.startswith("truncated_") or self is EndReason.DIVERGED


@dataclass(slots=True, kw_only=True, frozen=True)
class Origin:
    """Where in a log a piece was read from."""

    file: str
    """Path of the log, as given."""
    byte_offset: int
    """Offset of the record's first byte in the file."""
    line: int | None = None
    """1-based line number in a line-oriented log."""
    producer: str | None = None
    """The software that wrote the log, for example `claude-code`."""
    producer_version: str | None = None
    """Its version, as the record states it."""


@dataclass(slots=True, kw_only=True)
class Message:
    """Something the policy was shown that is not a tool result."""

    role: str
    """`system`, `user` (the person) or `harness` (software speaking in the person's place)."""
    text: str | None
    text_state: TextState = TextState.PRESENT
    time_s: float | None = None
    origin: Origin | None = None
    is_copied_context: bool = False
    """True if the message repeats an earlier trajectory; it must not be trained on or counted."""
    extra: Json = field(default_factory=dict)
    """What a foreign log said beyond our fields, kept verbatim."""

    @classmethod
    def of(cls, role: str, text: str | None, **rest: Any) -> Message:
        """Build a message and derive `text_state` from the text."""
        return cls(role=role, text=text, text_state=TextState.of(text), **rest)


@dataclass(slots=True, kw_only=True)
class ToolCall:
    """One call of a tool, valid or not. An invalid call is recorded like any other."""

    id: str
    """Unique inside its trajectory."""
    name: str
    arguments: Json | None
    """The parsed arguments; None unless `args_state` is `parsed`."""
    args_state: ArgsState = ArgsState.PARSED
    raw: str | None = None
    """The call or its arguments as written, kept when they could not be parsed."""
    error: str | None = None
    """Why the call is invalid (unparsable, unknown tool, wrong arguments); None if it is valid."""
    error_code: str | None = None
    """The same as a stable code (`envs.tool_errors`); None if it is valid or nobody says."""
    extra: Json = field(default_factory=dict)

    @property
    def is_valid(self) -> bool:
        """True if the call could be carried out as written."""
        return self.error is None and self.args_state is not ArgsState.UNPARSED


@dataclass(slots=True, kw_only=True)
class ToolResult:
    """What came back from a tool call."""

    call_id: str | None
    """Id of the call it answers; None for a result that names no call."""
    text: str | None
    text_state: TextState = TextState.PRESENT
    ok: bool | None = None
    """True or False as the tool reported it, None where the source does not say."""
    exit_code: int | None = None
    denied_by: str | None = None
    """`user` or `policy` if the call was refused before it ran; a refusal is not a tool failure."""
    state: ResultState = ResultState.ANSWERED
    start_s: float | None = None
    end_s: float | None = None
    limit: str | None = None
    """Which resource limit stopped it, for example `wall_time`; None if none did."""
    error_code: str | None = None
    """Why it failed, as a stable code (`envs.tool_errors`); None if it did not, or nobody says."""
    origin: Origin | None = None
    extra: Json = field(default_factory=dict)


@dataclass(slots=True, kw_only=True, frozen=True)
class Reaction:
    """One thing the person did, with where we know it from.

    One act is one reaction, though it may have left several marks in a log. Silence is not one.
    """

    kind: ReactionKind
    turn: int
    """Index of the turn it is about; it may arrive long after that turn."""
    call_id: str | None = None
    """The tool call it is about, if it is about one."""
    time_s: float | None = None
    """When it happened."""
    delay_s: float | None = None
    """How long after the turn (or the call) it is about; None if the stamps do not tell."""
    text: str | None = None
    """What the person said or typed with it: a reason, an answer, a follow-up message."""
    polarity: Polarity | None = None
    evidence: Evidence = Evidence.SIMULATED
    rule: str = "simulated"
    """Name of the rule that inferred it."""
    confidence: float = 1.0
    """Probability in [0, 1] that the reaction is what `kind` says."""
    alternatives: tuple[ReactionKind, ...] = ()
    """What it may have been instead."""


@dataclass(slots=True, kw_only=True)
class Turn:
    """One decision of the policy and what followed from it."""

    observation: list[Message] = field(default_factory=list)
    """Messages that arrived since the previous turn (tool results stand on that turn)."""
    text: str | None = None
    text_state: TextState = TextState.ABSENT
    reasoning: str | None = None
    reasoning_state: TextState = TextState.ABSENT
    tool_calls: list[ToolCall] = field(default_factory=list)
    results: list[ToolResult] = field(default_factory=list)
    reactions: list[Reaction] = field(default_factory=list)
    model: str | None = None
    policy_version: str | None = None
    """Version of the weights that served this turn."""
    action: int | None = None
    """Index of a structured action (a skill), for policies that have them."""
    action_logprob: float | None = None
    """Natural log-probability of `action` under the behaviour policy, as sampled."""
    prompt_token_ids: list[int] | None = None
    completion_token_ids: list[int] | None = None
    """Token ids as sampled; never the result of tokenising the text again."""
    logprobs: list[float] | None = None
    """One per completion token, natural log, under the behaviour policy; same length or None."""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    start_s: float | None = None
    end_s: float | None = None
    is_copied_context: bool = False
    origin: Origin | None = None
    extra: Json = field(default_factory=dict)
    features: npt.NDArray[np.float32] | None = field(default=None, compare=False, repr=False)
    """What a feature policy saw. In memory only: it is recomputable from the turns before it."""


@dataclass(slots=True, kw_only=True, frozen=True)
class Complexity:
    """Cyclomatic complexity of the changed source, as lizard counts it."""

    max_per_function: float
    mean_per_function: float
    total: float
    num_functions: int


@dataclass(slots=True, kw_only=True, frozen=True)
class Outcome:
    """Ground truth about the result, measured after the agent stopped; unknown parts are None."""

    hidden_passed: int | None = None
    hidden_total: int | None = None
    visible_passed: int | None = None
    """Pristine visible tests that pass, whatever the agent did to its copy of them."""
    visible_total: int | None = None
    is_solved: bool | None = None
    complexity_before: Complexity | None = None
    complexity_after: Complexity | None = None
    readability_before: float | None = None
    """Perceived readability of the work's files (`reward_models.readability`), in (0, 1]; None
    where it was not asked for."""
    readability_after: float | None = None

    @property
    def hidden_frac(self) -> float | None:
        """Share of hidden tests passed, in [0, 1]; None if they were not run."""
        if self.hidden_passed is None or not self.hidden_total:
            return None
        return self.hidden_passed / self.hidden_total


@dataclass(slots=True, kw_only=True)
class RewardReport:
    """What a reward model made of one trajectory; components keep their names into every report."""

    total: float | None
    """Sum of `components`; None if the trajectory is excluded."""
    components: dict[str, float] = field(default_factory=dict)
    """Weighted value of each named component; they add up to `total`."""
    per_turn: list[float] = field(default_factory=list)
    """Reward credited to each turn; adds up to `total` (empty if excluded)."""
    excluded: str | None = None
    """Why it got no reward (`invalid_call`, `error_sandbox` ...); None if it got one."""
    reward_model: str = ""
    """Name and variant of the model that scored it."""


@dataclass(slots=True, kw_only=True)
class Trajectory:
    """The record of one episode, simulated or real."""

    id: str
    task_id: str
    source: Source
    user_id: str | None = None
    """Pseudonym of the person; the independent unit of every interval."""
    policy_version: str | None = None
    turns: list[Turn] = field(default_factory=list)
    end: EndReason = EndReason.UNKNOWN
    outcome: Outcome = field(default_factory=Outcome)
    closing: list[Message] = field(default_factory=list)
    """Messages after the last turn."""
    family: str | None = None
    difficulty: float | None = None
    """Difficulty of the task in [0, 1], where it is known."""
    ambiguity: float | None = None
    """Ambiguity of the request in [0, 1], where it is known."""
    instruction: str | None = None
    """What the person asked for."""
    tools: list[str] | None = None
    """Names of the tools the agent had, where they are known."""
    files_before: dict[str, str] | None = None
    """Text files of the work area at the start, where they are known."""
    files_after: dict[str, str] | None = None
    """The same at the end."""
    unobservable: tuple[ReactionKind, ...] = ()
    """Reactions that this source could not have shown, so that their absence says nothing."""
    reward: RewardReport | None = None
    tags: tuple[str, ...] = ()
    seed: int | None = None
    agent: str | None = None
    """Name of the agent software."""
    agent_version: str | None = None
    session_id: str | None = None
    parent_id: str | None = None
    """The trajectory this one continues or was delegated from."""
    origin: Origin | None = None
    extra: Json = field(default_factory=dict)

    @property
    def reactions(self) -> list[Reaction]:
        """All reactions, in the order of the turns they are about."""
        return [reaction for turn in self.turns for reaction in turn.reactions]

    @property
    def tool_calls(self) -> list[ToolCall]:
        """All tool calls, in order."""
        return [call for turn in self.turns for call in turn.tool_calls]

    def is_observable(self, kind: ReactionKind) -> bool:
        """Say whether this trajectory's source could have shown a reaction of this kind."""
        return kind not in self.unobservable

    def num_reactions(self, kind: ReactionKind, polarity: Polarity | None = None) -> int:
        """Count the reactions of a kind, optionally only those of one polarity."""
        return sum(
            1
            for reaction in self.reactions
            if reaction.kind is kind and (polarity is None or reaction.polarity is polarity)
        )

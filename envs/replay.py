"""`sim2live/Replay-v0`: a logged session as an environment.

The computer and the person are those of the log, so they can answer only what the logged agent did.
The environment is therefore *teacher-forced*: an action that matches the logged turn gets what the
log holds, any other has no answer, and the episode ends as *diverged*. `step_forced` goes on with
the logged turn whatever was proposed, and says whether the proposal would have matched: that walks
a policy along every state of the log, which is what a comparison with production needs.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from typing import Any

import gymnasium

from ..errors import ConfigError, unknown_name
from ..trajectory import (
    ArgsState,
    EndReason,
    Evidence,
    Json,
    Message,
    Polarity,
    Reaction,
    ReactionKind,
    Source,
    TextState,
    ToolCall,
    ToolResult,
    Trajectory,
    Turn,
)
from .actions import format_call, parse_action
from .spaces import UnicodeText

MAX_OBSERVATION_CHARS = 16_384
MAX_ACTION_CHARS = 32_768
ON_DIVERGENCE = ("truncate", "force")

_OUTSIDE = re.compile("[\ud800-\udfff]|[^\u0000-\uffff]")
_SPOKEN = frozenset(
    {
        ReactionKind.FOLLOW_UP,
        ReactionKind.STEER,
        ReactionKind.REJECT,
        ReactionKind.INTERRUPT,
    }
)


class ReplayEnv(gymnasium.Env[str, str]):
    """Plays logged trajectories back, one an episode.

    The action is a text, as in the coding environment (`envs.actions`). It *matches* the logged
    turn

    - by rule `calls`, if the turn has tool calls: the same calls in the same order, each with the
      same name and equal arguments (the order of names, CRLF against LF, and white space at the end
      of a text do not count; what is said beside the calls does not either);
    - by rule `text`, if it has none: no calls, and the same text up to white space;
    - never (rule `unanswerable`), if the log holds neither calls nor text of the turn.

    After a match the observation is what the agent was given next: results of its calls, and
    messages. Of the logged reactions it holds what the person said; all of them, also those that
    came hours later, stand on `trajectory` and by kind in `info`, never in the observation.
    Otherwise the episode is truncated with `EndReason.DIVERGED`, and the observation is empty.

    The reward of a matched step is what the logged trajectory's `reward` gives that turn, else 0.

    `info` holds `answered_from` (`log`, or `none` if the log had no answer), `rule` (by which the
    action matched, or would have had to), `is_match`, `coverage` (share of the steps so far whose
    action matched), `num_steps`, `reactions` and, at the end, `end`.

    Args:
        trajectories: what to play; those without a turn of their own are left out. None plays a
            tiny made-up demonstration, which is a stand-in and no log of anybody's work.
        on_divergence: `truncate`, or `force` to go on with the logged turn (`step_forced`). The
            default is `truncate`; only the demonstration, which must outlast the random actions of
            Gymnasium's checker, is played with `force` unless told otherwise.
        render_mode: `human` prints each turn as it is played (`envs.rendering`), `ansi` lets
            `render` return the newest one as plain text; None.

    `reset(options=...)` takes `trajectory_id`; without it one is drawn evenly.

    Example:
        >>> env = ReplayEnv()
        >>> observation, info = env.reset(seed=0)
        >>> *_, info = env.step(env.logged_action())
        >>> info["answered_from"], info["coverage"]
        ('log', 1.0)
    """

    metadata = {"render_modes": ["human", "ansi"], "render_fps": 4}  # noqa: RUF012 - Gymnasium's way

    def __init__(
        self,
        trajectories: Sequence[Trajectory] | None = None,
        *,
        on_divergence: str | None = None,
        render_mode: str | None = None,
    ) -> None:
        if on_divergence is None:
            on_divergence = "force" if trajectories is None else "truncate"
        if on_divergence not in ON_DIVERGENCE:
            raise unknown_name("value of `on_divergence`", on_divergence, ON_DIVERGENCE)
        given = [demonstration()] if trajectories is None else list(trajectories)
        self.trajectories = {t.id: t for t in given if _begin(t) < len(t.turns)}
        if not self.trajectories:
            raise ConfigError(
                f"none of the {len(given)} trajectories has a turn to replay; give logged "
                "trajectories with turns, or None for the demonstration"
            )
        self._space = UnicodeText(MAX_OBSERVATION_CHARS)
        self.observation_space = self._space
        self.action_space = UnicodeText(MAX_ACTION_CHARS)
        self.render_mode = render_mode
        self._on_divergence = on_divergence
        self._logged: Trajectory | None = None
        self._record: Trajectory | None = None
        self._index = 0
        self._num_steps = self._num_matches = 0
        self._is_over = True

    @property
    def trajectory(self) -> Trajectory:
        """The record of the current episode: logged turns, and the diverging one if there was."""
        if self._record is None:
            raise ConfigError("call `reset` first: there is no episode yet")
        return self._record

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Begin an episode; see the class for `options`."""
        super().reset(seed=seed)
        names = list(self.trajectories)
        name = (options or {}).get("trajectory_id")
        if name is None:
            name = names[int(self.np_random.integers(len(names)))]
        if name not in self.trajectories:
            raise unknown_name("trajectory", str(name), names[:50])
        logged = self._logged = self.trajectories[name]
        self._index = _begin(logged)
        self._num_steps = self._num_matches = 0
        self._is_over = False
        self._record = dataclasses.replace(
            logged,
            id=f"replay-{logged.id}",
            source=Source.REPLAYED,
            parent_id=logged.id,
            turns=list(logged.turns[: self._index]),
            closing=[],
            end=EndReason.UNKNOWN,
            reward=None,
        )
        parts = [_transcript(turn) for turn in logged.turns[: self._index]]
        parts += [_said(message) for message in logged.turns[self._index].observation]
        return self._show(parts), {"trajectory_id": name, "num_turns": len(logged.turns)}

    def logged_action(self) -> str:
        """Return the logged turn that comes next, as an action."""
        turn = self._next_turn()
        calls = [_call_text(call) for call in turn.tool_calls]
        return "\n".join(part for part in (turn.text, *calls) if part)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take one action; see the class for when it is answered."""
        return self._take(str(action), is_forced=self._on_divergence == "force")

    def step_forced(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Go on with the logged turn, and say in `info["is_match"]` whether `action` was it.

        `answered_from` is `log` only for a match: no other proposal has an answer in the log.
        """
        return self._take(str(action), is_forced=True)

    def render(self) -> str | None:
        """Return the newest turn as plain text if `render_mode` is `ansi`."""
        if self.render_mode != "ansi":
            return None
        from .rendering import as_text, scene

        return as_text(scene(self.trajectory, is_over=self._is_over))

    # --- inside ------------------------------------------------------------------------------

    def _next_turn(self) -> Turn:
        if self._is_over or self._logged is None:
            raise ConfigError("the episode is over; call `reset` before the next `step`")
        return self._logged.turns[self._index]

    def _take(self, action: str, *, is_forced: bool) -> tuple[str, float, bool, bool, Json]:
        turn = self._next_turn()
        rule, is_match = match_turn(turn, action)
        self._num_steps += 1
        self._num_matches += is_match
        info: dict[str, Any] = {
            "answered_from": "log" if is_match else "none",
            "rule": rule,
            "is_match": is_match,
            "coverage": self._num_matches / self._num_steps,
            "num_steps": self._num_steps,
            "reactions": [],
        }
        if not is_match and not is_forced:
            return self._diverge(turn, action, info)
        return self._follow(turn, action, info)

    def _diverge(self, turn: Turn, action: str, info: Json) -> tuple[str, float, bool, bool, Json]:
        said, calls = parse_action(action, prefix=f"t{self._index}")
        self.trajectory.turns.append(
            Turn(
                observation=turn.observation,
                text=said,
                text_state=TextState.of(said),
                tool_calls=calls,
                extra={"raw": action, "answered_from": "none"},
            )
        )
        self._is_over = True
        self.trajectory.end = EndReason.DIVERGED
        info["end"] = EndReason.DIVERGED.value
        return self._show([]), 0.0, False, True, info

    def _follow(self, turn: Turn, action: str, info: Json) -> tuple[str, float, bool, bool, Json]:
        logged, index = self._logged, self._index
        assert logged is not None
        extra = {**turn.extra, "proposed": action, "answered_from": info["answered_from"]}
        self.trajectory.turns.append(dataclasses.replace(turn, extra=extra))
        self._index += 1
        self._is_over = self._index >= len(logged.turns)
        messages = logged.closing if self._is_over else logged.turns[self._index].observation
        info["reactions"] = [reaction.kind.value for reaction in turn.reactions]
        if self._is_over:
            self.trajectory.end = logged.end
            self.trajectory.closing = list(logged.closing)
        observation = self._show(_answer(turn, messages))
        reward = _turn_reward(logged, index)
        if not self._is_over:
            return observation, reward, False, False, info
        info["end"] = logged.end.value
        is_cut = logged.end.is_truncated or logged.end.is_error
        return observation, reward, not is_cut, is_cut, info

    def _show(self, parts: Sequence[str]) -> str:
        if self.render_mode == "human":
            from .rendering import scene, show

            show(scene(self.trajectory, is_over=self._is_over))
        return self._space.clean("\n".join(part for part in parts if part))


def match_turn(turn: Turn, action: str) -> tuple[str, bool]:
    """Say by which rule an action is compared with a logged turn, and whether it matches.

    The rules are stated in `ReplayEnv`.
    """
    said, calls = parse_action(action)
    if turn.tool_calls:
        logged = [_call_key(call) for call in turn.tool_calls]
        return "calls", logged == [_call_key(call) for call in calls]
    if not (turn.text or "").strip():
        return "unanswerable", False
    wanted = _squeeze(turn.text or "")
    return "text", wanted == _squeeze(action) or (not calls and wanted == _squeeze(said))


def _call_key(call: ToolCall) -> tuple[Any, ...]:
    if call.args_state is ArgsState.UNPARSED:
        return ("unparsed", _plain(call.raw or ""))
    return ("call", call.name, _normal(call.arguments or {}))


def _normal(value: Any) -> Any:
    """Return a JSON value in a form whose equality is that of the rule; True is not 1."""
    if isinstance(value, str):
        return _plain(value)
    if isinstance(value, dict):
        return {_plain(name): _normal(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_normal(item) for item in value]
    return ("bool", value) if isinstance(value, bool) else value


def _plain(text: str) -> str:
    return _OUTSIDE.sub("\ufffd", text).replace("\r\n", "\n").rstrip()


def _squeeze(text: str) -> str:
    return " ".join(_plain(text).split())


def _begin(trajectory: Trajectory) -> int:
    """Return the index of the first turn that is not copied from another trajectory."""
    own = (i for i, turn in enumerate(trajectory.turns) if not turn.is_copied_context)
    return next(own, len(trajectory.turns))


def _said(message: Message) -> str:
    return f"[{message.role}] {message.text}" if message.text else ""


def _call_text(call: ToolCall) -> str:
    if call.args_state is ArgsState.UNPARSED:
        return f"<tool_call>{call.raw or ''}</tool_call>"
    return format_call(call.name, call.arguments or {})


def _transcript(turn: Turn) -> str:
    parts = [_said(message) for message in turn.observation]
    parts += [f"[assistant] {turn.text}" if turn.text else ""]
    parts += [_call_text(call) for call in turn.tool_calls]
    return "\n".join(part for part in (*parts, *_results(turn)) if part)


def _results(turn: Turn) -> list[str]:
    return [f"[{result.call_id}] {result.text}" for result in turn.results if result.text]


def _answer(turn: Turn, messages: Sequence[Message]) -> list[str]:
    """List what the agent was given after a turn: results, words of the person, messages."""
    parts = _results(turn)
    heard = "\n".join([*parts, *(message.text or "" for message in messages)])
    parts += [
        f"[user] {reaction.text}"
        for reaction in turn.reactions
        if reaction.kind in _SPOKEN and reaction.text and reaction.text not in heard
    ]
    return parts + [_said(message) for message in messages]


def _turn_reward(trajectory: Trajectory, index: int) -> float:
    report = trajectory.reward
    if report is None or report.excluded or len(report.per_turn) != len(trajectory.turns):
        return 0.0
    return float(report.per_turn[index])


def demonstration() -> Trajectory:
    """Return a made-up session of two turns, so that the environment runs without a log.

    A stand-in for checks and examples: nobody did this, and nothing may be concluded from it.
    """
    question = "`add` returns the wrong sum. Can you fix it?"
    fixed = "It subtracted; it adds now."
    return Trajectory(
        id="demonstration",
        task_id="demonstration",
        source=Source.SIMULATED,
        instruction=question,
        tags=("stand_in",),
        turns=[
            Turn(
                observation=[Message.of("user", question, time_s=0.0)],
                text="I will correct the operator.",
                text_state=TextState.PRESENT,
                tool_calls=[
                    ToolCall(
                        id="t0-0",
                        name="edit_file",
                        arguments={"path": "sums.py", "old": "a - b", "new": "a + b"},
                    )
                ],
                results=[ToolResult(call_id="t0-0", text="edited sums.py", ok=True, end_s=3.0)],
                start_s=1.0,
                end_s=2.0,
            ),
            Turn(
                text=fixed,
                text_state=TextState.PRESENT,
                reactions=[
                    Reaction(
                        kind=ReactionKind.FOLLOW_UP,
                        turn=1,
                        time_s=9.0,
                        delay_s=4.0,
                        text="Thanks, that works.",
                        polarity=Polarity.SATISFIED,
                        evidence=Evidence.SIMULATED,
                    )
                ],
                start_s=4.0,
                end_s=5.0,
            ),
        ],
        closing=[Message.of("user", "Thanks, that works.", time_s=9.0)],
        end=EndReason.SOLVED,
    )

"""What an agent with discrete skills can know while it writes a missing body.

As in `skill_state`, everything is worked out from the record of the session alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..trajectory import Message, Trajectory
from .skill_state import SkillState, skill_state
from .tasks.specifications import Specification, load_specifications, written


@dataclass(slots=True, kw_only=True)
class ImplementState:
    """The session as the agent has seen it."""

    session: SkillState
    """Files, tests and talk, as for repair."""
    readings: tuple[str, ...] = ()
    """The module as it would be with each reading written; empty until the module was read."""
    fits: tuple[bool, ...] = ()
    """Whether each reading fits all that was said and read, (num_readings,)."""

    @property
    def is_open(self) -> tuple[bool, ...]:
        """Which readings fit and were not refused, (num_readings,)."""
        refused = {text for text, share in self.session.results.items() if share < 0}
        pairs = zip(self.readings, self.fits, strict=True)
        return tuple(fits and text not in refused for text, fits in pairs)


def implement_state(trajectory: Trajectory, pending: list[Message] | None = None) -> ImplementState:
    """Work out the state after the turns of `trajectory`.

    Args:
        trajectory: the session so far; its `extra["task"]` names the files (see `Episode`).
        pending: messages that have arrived since the last turn.
    """
    session = skill_state(trajectory, pending)
    specification = load_specifications().get(session.function)
    if session.original is None or specification is None:
        return ImplementState(session=session)
    heard = "\n".join([session.original, *_heard(trajectory, pending or [])])
    readings = _readings(specification, session.original)
    return ImplementState(
        session=session,
        readings=readings,
        fits=specification.fitting(heard) if readings else (),
    )


def _readings(specification: Specification, module: str) -> tuple[str, ...]:
    texts = [written(module, specification.function, r.body) for r in specification.readings]
    return tuple(text for text in texts if text is not None)


def _heard(trajectory: Trajectory, pending: list[Message]) -> Iterator[str]:
    """Yield what the person has said: messages, and answers to questions."""
    for turn in trajectory.turns:
        yield from _user_texts(turn.observation)
        asked = {call.id for call in turn.tool_calls if call.name == "ask_user"}
        yield from (r.text for r in turn.results if r.call_id in asked and r.text)
    yield from _user_texts(pending)


def _user_texts(messages: list[Message]) -> list[str]:
    return [message.text for message in messages if message.role == "user" and message.text]

"""The person's side of a world: what a user is told, can see, and does.

A simulated user is a function of its persona, of what it can see and of a random generator. All
that it remembers is in the view, so it can be put at any point of a recorded session and asked what
it would have done there (teacher forcing).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Protocol, runtime_checkable

import numpy as np

from ..trajectory import Reaction, Turn


@dataclass(slots=True, kw_only=True, frozen=True)
class Brief:
    """What the person knows when they open the session. Never the tests, the fix or the reward."""

    task_id: str
    goal: str
    """What they want, in a sentence that names no cause, for example "`parse_range` is wrong"."""
    kind_hint: str | None = None
    """The kind of mistake as a person would word it; None if they do not know it."""
    place_hint: str | None = None
    """Where they suspect it, for example "around line 7"; None if they do not know."""
    example: str | None = None
    """A case that goes wrong, for example "parse_range('1-3') should be [1, 2, 3]"."""
    is_plural: bool = False
    """True if several things are wrong."""
    opening: tuple[str, ...] = ()
    """Which facts the opening message gives: a subset of `kind`, `place` and `example`."""
    wishes: tuple[str, ...] = ()
    """What they want and neither the opening nor the files say, for example "a tie goes to the
    first one". They tell when asked, or when they refuse work that goes against it."""
    is_new: bool = False
    """True if something is to be written that is not there yet, rather than repaired."""
    is_tidying: bool = False
    """True if behaviour is to stay and the code to read better, rather than repaired."""

    def __repr__(self) -> str:
        # Hashes of tasks rest on this text: a later field that is unset must not change it.
        shown = [
            f"{field.name}={getattr(self, field.name)!r}"
            for field in fields(self)
            if field.name not in _LATER_FIELDS or getattr(self, field.name)
        ]
        return f"Brief({', '.join(shown)})"


_LATER_FIELDS = frozenset({"wishes", "is_new", "is_tidying"})


@dataclass(slots=True, kw_only=True, frozen=True)
class Trial:
    """What the person saw when they tried the submitted change on cases they care about."""

    num_tried: int
    num_wrong: int
    gain: float | None = None
    """How much more readable the work is than at the beginning, as `reward_models.readability`
    scores it, in (-1, 1); None where that is not what was asked for."""


@dataclass(slots=True, kw_only=True, frozen=True)
class UserView:
    """What a person could see at the moment they may react to the last turn.

    A logged session gives the same view with `trial` None and `brief` reduced to the request.
    """

    brief: Brief
    request: str
    """Their own opening message."""
    turns: Sequence[Turn]
    """The talk so far; the last one is what they may react to. Its `reactions` are what they
    have done about it already."""
    diff: str = ""
    """Unified diff of the work area since the session began ("" if nothing changed)."""
    elapsed_s: float = 0.0
    """Seconds since the session began."""
    is_submitted: bool = False
    """True if the agent has handed in its work with the last turn."""
    question: str | None = None
    """What the agent has just asked them; None if it asked nothing."""
    trial: Trial | None = None
    """What trying the change would show; a user looks only if they review (None: not available)."""


@runtime_checkable
class User(Protocol):
    """A person, simulated or real. An environment calls `open` once, then `react` each turn."""

    user_id: str

    def open(self, brief: Brief) -> str:
        """Say what they want: the first message of the session."""
        ...

    def react(self, view: UserView, rng: np.random.Generator) -> list[Reaction]:
        """Return what they do about the last turn, in order of time.

        An empty list is silence. If `view.question` is set, an `ANSWER` reaction carries the reply,
        unless they refuse or leave. After `view.is_submitted`, delayed reactions (`UNDO`,
        `PERSIST`) come with their `delay_s`.
        """
        ...

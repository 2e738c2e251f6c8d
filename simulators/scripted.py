"""A simulated person who follows stated rules: situation, decision, words.

`situation` boils the view down, `decision` gives every course of action its probability, `phrases`
gives it words. Nothing is remembered between calls.
"""

from __future__ import annotations

import bisect
import itertools
import math
import zlib
from dataclasses import dataclass

import numpy as np

from ..errors import ConfigError
from ..trajectory import Evidence, Reaction, ReactionKind
from . import phrases
from .base import Brief, UserView
from .decision import Act, decide, outcomes
from .persona import LATENCY_SIGMA, Persona
from .predict import label_probabilities
from .situation import WISH, Situation, known_facts, read_view

_UNDO_MEAN = 0.25
"""Mean delay of an undo as a share of `persist_delay_s`, before truncation at 1."""


@dataclass(slots=True)
class ScriptedUser:
    """A person with a persona; implements `User`.

    Two users with the same persona behave alike up to the wording of their openings.

    Args:
        persona: how they behave.
        user_id: pseudonym that appears on trajectories.
        seed: with the task, fixes what `open` says; at least 0.

    Raises:
        ConfigError: a negative seed.

    Example:
        >>> from sim2live.simulators import PERSONAS, Brief
        >>> user = ScriptedUser(PERSONAS["default"], user_id="ann")
        >>> brief = Brief(task_id="t", goal="`clamp` is wrong", place_hint="around line 7")
        >>> "`clamp` is wrong" in user.open(brief), "line 7" in user.open(brief)
        (True, False)
    """

    persona: Persona
    user_id: str = "scripted"
    seed: int = 0

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise ConfigError(f"`seed` must be at least 0, got {self.seed}")

    def open(self, brief: Brief) -> str:
        """Say what they want: the goal, and the facts of `brief.opening` that are not withheld."""
        rng = np.random.default_rng([self.seed, zlib.crc32(brief.task_id.encode())])
        # Drawn before anything else, so that a vaguer person tells a subset of the same facts.
        luck = dict(zip(("kind", "place", "example", "plural"), rng.random(4), strict=True))
        is_long = bool(rng.random() < self.persona.verbosity)
        facts = [
            name
            for name in known_facts(brief)
            if name in brief.opening and luck[name] >= self.persona.vagueness
        ]
        is_plural = brief.is_plural and bool(luck["plural"] >= self.persona.vagueness)
        return phrases.opening(brief, facts, rng, is_plural=is_plural, is_long=is_long)

    def react(self, view: UserView, rng: np.random.Generator) -> list[Reaction]:
        """Return what they do about the last turn; a function of persona, view and `rng` only."""
        situation = read_view(view)
        choices = decide(self.persona, situation)
        course = choices[_draw([choice.prob for choice in choices], rng)].course
        turn = max(0, len(view.turns) - 1)
        delay_s = 0.0
        reactions = []
        for act in course:
            delay_s = self._delay(act, delay_s, rng)
            reactions.append(
                Reaction(
                    kind=act.kind,
                    turn=turn,
                    time_s=_time(act, view.elapsed_s, delay_s),
                    delay_s=delay_s,
                    text=self._words(act, situation, view.brief, rng),
                    polarity=act.polarity,
                    evidence=Evidence.SIMULATED,
                    rule=f"scripted:{self.persona.name}",
                )
            )
        return reactions

    def outcomes(self, view: UserView) -> list[tuple[float, frozenset[str]]]:
        """Return everything they may do at this view, with exact probabilities (`predict`)."""
        return outcomes(decide(self.persona, read_view(view)))

    def reaction_probabilities(self, view: UserView) -> dict[str, float]:
        """Return the exact probability of each label (`decision.LABELS`) at this view."""
        return label_probabilities(self.outcomes(view))

    def _delay(self, act: Act, before_s: float, rng: np.random.Generator) -> float:
        persona = self.persona
        if act.kind is ReactionKind.PERSIST:
            return max(before_s, persona.persist_delay_s)
        if act.kind is ReactionKind.UNDO:
            # Exponential, truncated at the horizon after which the change would count as kept.
            horizon = 1 / _UNDO_MEAN
            share = -math.log1p(rng.random() * math.expm1(-horizon)) * _UNDO_MEAN
            return max(before_s, share * persona.persist_delay_s)
        latency_s = persona.latency_s * math.exp(LATENCY_SIGMA * rng.standard_normal())
        # One sitting is one delay; what comes after an undo follows it by one more.
        return before_s + latency_s if act.is_late else max(before_s, latency_s)

    def _words(
        self, act: Act, situation: Situation, brief: Brief, rng: np.random.Generator
    ) -> str | None:
        known = known_facts(brief)
        untold = {name: known[name] for name in situation.untold}
        if act.kind is ReactionKind.ANSWER:
            return self._answer(untold, bool(known), brief, rng)
        # What bothers a reader says nothing about results that are wrong, but about reading.
        if act.topic in (("no_easier",) if brief.is_tidying else ("wrong",)) and untold:
            name = list(untold)[int(rng.integers(len(untold)))]
            fact: tuple[str, str] | None = (name, untold[name])
        else:
            fact = None
        return phrases.remark(
            act.topic, rng, fact, is_new=brief.is_new, is_tidying=brief.is_tidying
        )

    def _answer(
        self, untold: dict[str, str], is_informed: bool, brief: Brief, rng: np.random.Generator
    ) -> str:
        quality = self.persona.answer_quality
        chance = {"kind": quality, "place": quality / 2}
        luck = rng.random(3)
        told = {
            name: untold[name]
            for name, draw in zip(chance, luck[:2], strict=True)
            if name in untold and draw < chance[name]
        }
        if not told and "example" in untold and luck[2] < quality:
            told["example"] = untold["example"]
        for name, text in untold.items():
            if name.startswith(WISH) and rng.random() < quality:
                told[name] = text
        # Whoever wants something new has said in the files what they do not keep to themselves.
        has_told = (is_informed or brief.is_new) and not untold
        return phrases.answer(
            told,
            rng,
            is_plural=brief.is_plural,
            has_told=has_told,
            is_new=brief.is_new,
            is_tidying=brief.is_tidying,
        )


def _draw(weights: list[float], rng: np.random.Generator) -> int:
    """Draw an index with chances in proportion to weights (what `rng.choice` does, sooner)."""
    bounds = list(itertools.accumulate(weights))
    return min(bisect.bisect_right(bounds, rng.random() * bounds[-1]), len(bounds) - 1)


def _time(act: Act, elapsed_s: float, delay_s: float) -> float | None:
    """Return the time of an act. A late remark has only its delay.

    A session's clock follows the times of what is said in it, and what is said days later must not
    lengthen the session.
    """
    is_late_remark = act.is_late and act.kind is ReactionKind.FOLLOW_UP
    return None if is_late_remark else elapsed_s + delay_s

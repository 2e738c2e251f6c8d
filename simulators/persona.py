"""Who a simulated person is: a handful of numbers, each with a unit and a range.

The numbers of the named personas are judgements, chosen to differ in the ways that studies of real
coding sessions report (push-back, interruptions, late undoing, vague requests). They are not fitted
to anybody's data; `predict` and the teacher-forced comparison exist to find out how wrong they are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from ..errors import ConfigError, unknown_name

PROBABILITIES = (
    "strictness",
    "review_depth",
    "late_discovery",
    "vagueness",
    "answer_quality",
    "verbosity",
    "annoyance",
    "reject_retry",
)
"""Fields of `Persona` in [0, 1]."""
POSITIVES = ("patience_turns", "latency_s", "persist_delay_s")
"""Fields of `Persona` above 0."""


@dataclass(slots=True, kw_only=True, frozen=True)
class Persona:
    """Parameters of a person's behaviour. They decide; they remember nothing.

    Raises:
        ConfigError: a value is out of its range.
    """

    name: str
    patience_turns: float = 12.0
    """Turns of work without a hand-in before they grow impatient; > 0."""
    strictness: float = 0.9
    """Probability of refusing a change whose trial showed a wrong case; [0, 1]."""
    review_depth: float = 0.9
    """Probability that they try and read a change before they take it; [0, 1]."""
    late_discovery: float = 0.5
    """Probability that a mistake they missed is found later, and the change undone; [0, 1]."""
    question_tolerance: float = 2.0
    """Needless questions they put up with before annoyance; >= 0."""
    vagueness: float = 0.0
    """Probability that they withhold each fact that the opening would give; [0, 1]."""
    answer_quality: float = 0.95
    """Probability that an answer gives the kind of mistake, if they know it; [0, 1]. The place
    comes with half that probability."""
    latency_s: float = 20.0
    """Median delay of a reaction in seconds; log-normal with sigma `LATENCY_SIGMA`; > 0."""
    verbosity: float = 0.6
    """Probability of saying more than needed; half of it is the chance of thanks; [0, 1]."""
    annoyance: float = 0.2
    """Probability of a dissatisfied follow-up when annoyed; [0, 1]."""
    reject_retry: float = 0.9
    """Probability that after refusing they say why and let the agent go on, else they leave;
    [0, 1]. It shrinks with each earlier refusal and with lost patience."""
    persist_delay_s: float = 86_400.0
    """Seconds after which a change that is still there counts as kept; > 0."""

    def __post_init__(self) -> None:
        for name in PROBABILITIES:
            value = getattr(self, name)
            if not 0.0 <= value <= 1.0:
                raise ConfigError(f"persona `{self.name}`: `{name}` must be in [0, 1], got {value}")
        for name in POSITIVES:
            value = getattr(self, name)
            if not (value > 0 and math.isfinite(value)):
                raise ConfigError(f"persona `{self.name}`: `{name}` must be above 0, got {value}")
        if not (self.question_tolerance >= 0 and math.isfinite(self.question_tolerance)):
            raise ConfigError(
                f"persona `{self.name}`: `question_tolerance` must be at least 0, "
                f"got {self.question_tolerance}"
            )

    def to_json(self) -> dict[str, str | float]:
        """Return the parameters as plain JSON."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


LATENCY_SIGMA = 0.8
"""Standard deviation of the natural logarithm of a reaction's delay."""


def _personas(*personas: Persona) -> dict[str, Persona]:
    return {persona.name: persona for persona in personas}


PERSONAS: dict[str, Persona] = _personas(
    Persona(name="default"),
    Persona(
        name="expert",
        patience_turns=8,
        strictness=0.95,
        review_depth=0.85,
        late_discovery=0.9,
        question_tolerance=1,
        vagueness=0.1,
        answer_quality=0.9,
        latency_s=25,
        verbosity=0.3,
        annoyance=0.5,
        reject_retry=0.8,
    ),
    Persona(
        name="hurried",
        patience_turns=5,
        strictness=0.9,
        review_depth=0.5,
        late_discovery=0.8,
        question_tolerance=0,
        vagueness=0.3,
        answer_quality=0.8,
        latency_s=8,
        verbosity=0.15,
        annoyance=0.7,
        reject_retry=0.3,
    ),
    Persona(
        name="strict",
        patience_turns=9,
        strictness=1.0,
        review_depth=0.95,
        late_discovery=0.95,
        question_tolerance=1,
        vagueness=0.1,
        answer_quality=0.8,
        latency_s=40,
        verbosity=0.6,
        annoyance=0.8,
        reject_retry=0.6,
    ),
    Persona(
        name="lenient_late",
        patience_turns=12,
        strictness=0.7,
        review_depth=0.2,
        late_discovery=0.9,
        question_tolerance=3,
        vagueness=0.2,
        answer_quality=0.7,
        latency_s=90,
        verbosity=0.4,
        annoyance=0.3,
        reject_retry=0.7,
        persist_delay_s=3 * 86_400,
    ),
    Persona(
        name="novice",
        patience_turns=10,
        strictness=0.85,
        review_depth=0.5,
        late_discovery=0.7,
        question_tolerance=3,
        vagueness=0.5,
        answer_quality=0.5,
        latency_s=60,
        verbosity=0.7,
        annoyance=0.3,
        reject_retry=0.6,
    ),
)
"""Personas by name. `default` is the training simulator's person: patient, uniform, cooperative,
tells at once what they know. That is the "easy mode" that comparisons of simulated with real users
keep finding (for example arXiv 2603.11245); it is kept on purpose, as the gap to be measured."""


def get_persona(name: str) -> Persona:
    """Return a persona by name.

    Raises:
        ConfigError: nobody has that name; the message lists close ones.
    """
    if name not in PERSONAS:
        raise unknown_name("persona", name, PERSONAS)
    return PERSONAS[name]

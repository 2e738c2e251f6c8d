"""What a scripted person may do in a situation, and how probable each course is.

A decision is a finite distribution over *courses*: tuples of acts in order of time. Sampling from
it gives a reaction, summing over it gives exact probabilities, so that a prediction can never
disagree with the behaviour that it predicts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..trajectory import Polarity, ReactionKind
from .persona import Persona
from .situation import Situation

HAZARD_PER_TURN = 0.25
"""Impatience: 1 - exp(-this * turns beyond patience) is the chance of speaking up at a turn."""
LEAVE_PER_TURN = 0.1
"""Share of those who speak up by leaving: 1 - exp(-this * turns beyond patience)."""
LEAVE_PER_QUESTION = 0.25
"""Share of those annoyed by needless questions who leave: 1 - exp(-this * questions too many)."""
RETRY_PER_REJECTION = 0.7
"""Factor on `reject_retry` for each earlier refusal."""
CHOPPED_DISLIKE = 0.3
"""Chance of a dissatisfied remark when a reviewed change is chopped into tiny functions."""
NOTICED_GAIN = 0.02
"""Change of readability (`Trial.gain`) from which half of the readers call it better or worse."""
READING_SIGMA, CURSORY_SIGMA = 0.008, 0.04
"""Standard deviation of what a reader makes of a change of readability: the first, plus the second
for somebody who never reviews; in between in proportion to `1 - review_depth`."""
INDIFFERENT_REFUSAL = 0.6
"""Factor on `strictness`: chance of refusing work that reads neither better nor worse."""


@dataclass(slots=True, frozen=True)
class Act:
    """One thing to do, before it has words and a time."""

    kind: ReactionKind
    topic: str = ""
    """What it is about: chooses the words (`phrases`)."""
    polarity: Polarity | None = None
    is_late: bool = False
    """True if it happens after the session."""


Course = tuple[Act, ...]
"""Acts in order of time; () is silence."""


@dataclass(slots=True, frozen=True)
class Choice:
    """A course and its probability in (0, 1]."""

    prob: float
    course: Course


def _complaint(topic: str, *, is_late: bool = False) -> Act:
    return Act(ReactionKind.FOLLOW_UP, topic, Polarity.DISSATISFIED, is_late)


def _refusal(topic: str) -> Act:
    return Act(ReactionKind.REJECT, topic, Polarity.DISSATISFIED)


_ANSWER = Act(ReactionKind.ANSWER, "answer")
_LEAVE = Act(ReactionKind.LEAVE)
_ACCEPT = Act(ReactionKind.ACCEPT)
_KEEP = Act(ReactionKind.PERSIST, is_late=True)
_UNDO = Act(ReactionKind.UNDO, is_late=True)
_THANKS = Act(ReactionKind.FOLLOW_UP, "thanks", Polarity.SATISFIED)


def decide(persona: Persona, situation: Situation) -> list[Choice]:
    """Return every course with its probability; the probabilities add up to 1."""
    return [Choice(prob, course) for prob, course in _branches(persona, situation) if prob > 0]


def outcomes(choices: Sequence[Choice]) -> list[tuple[float, frozenset[str]]]:
    """Return each course's probability and the labels that it shows."""
    return [
        (
            choice.prob,
            frozenset(name for act in choice.course for name in labels_of(act.kind, act.polarity)),
        )
        for choice in choices
    ]


LABELS: tuple[str, ...] = (
    *(kind.value for kind in ReactionKind),
    "follow_up/dissatisfied",
    "follow_up/satisfied",
)
"""What probabilities are given for: the values of `ReactionKind`, and the tones of a follow-up."""


def labels_of(kind: ReactionKind, polarity: Polarity | None) -> tuple[str, ...]:
    """Return the labels of one reaction: its kind, and the tone of a follow-up that has one."""
    tone = f"{kind.value}/{polarity.value}" if polarity is not None else ""
    return (kind.value, tone) if tone in LABELS else (kind.value,)


_Branch = tuple[float, Course]


def _branches(persona: Persona, situation: Situation) -> Iterator[_Branch]:
    if situation.is_gone:
        yield 1.0, ()
    elif situation.has_reacted:  # they have had their say; only a question is still owed an answer
        yield 1.0, ((_ANSWER,) if situation.is_asked else ())
    elif situation.is_submitted:
        for prob, course in _on_hand_in(persona, situation):
            owes_answer = situation.is_asked and _LEAVE not in course
            yield prob, ((_ANSWER, *course) if owes_answer else course)
    elif situation.is_asked:
        yield from _on_question(persona, situation)
    else:
        yield from _at_work(persona, situation)


def _on_question(persona: Persona, situation: Situation) -> Iterator[_Branch]:
    excess = max(0.0, situation.needless - persona.question_tolerance)
    annoyed = 1 - 0.5**excess
    leave = annoyed * -math.expm1(-LEAVE_PER_QUESTION * excess)
    complain = (annoyed - leave) * persona.annoyance
    yield leave, (_LEAVE,)
    yield complain, (_ANSWER, _complaint("questions"))
    yield 1 - leave - complain, (_ANSWER,)


def _at_work(persona: Persona, situation: Situation) -> Iterator[_Branch]:
    excess = max(0.0, situation.work - persona.patience_turns)
    speak = -math.expm1(-HAZARD_PER_TURN * excess)
    leave = speak * -math.expm1(-LEAVE_PER_TURN * excess)
    complain = (speak - leave) * persona.annoyance
    yield 1 - speak, ()
    yield leave, (Act(ReactionKind.INTERRUPT, "stop"), _LEAVE)
    yield complain, (_complaint("slow"),)
    yield speak - leave - complain, (Act(ReactionKind.STEER, "steer"),)


def _on_hand_in(persona: Persona, situation: Situation) -> Iterator[_Branch]:
    if not situation.is_changed:
        # In a logged session nothing tells whether a change was wanted at all.
        refuse = 1.0 if situation.is_tried else persona.strictness * situation.wrong
        yield from _refuse(persona, situation, refuse, "unchanged")
        yield from _keep(persona, 1 - refuse)
        return
    if situation.gain is not None:
        yield from _on_tidied(persona, situation, situation.gain)
        return
    reviewed, unread = persona.review_depth, 1 - persona.review_depth
    if situation.touches_tests:
        yield from _refuse(persona, situation, reviewed, "tests")
    else:
        wrong, right = reviewed * situation.wrong, reviewed * (1 - situation.wrong)
        yield from _refuse(persona, situation, wrong * persona.strictness, "wrong")
        tolerated = wrong * (1 - persona.strictness)
        complain = persona.annoyance
        yield tolerated * complain, (_ACCEPT, _complaint("tolerated"), _KEEP)
        yield tolerated * (1 - complain), (_ACCEPT, _KEEP)
        dislike = CHOPPED_DISLIKE if situation.is_chopped else 0.0
        yield right * dislike, (_ACCEPT, _complaint("chopped"), _KEEP)
        yield from _keep(persona, right * (1 - dislike))
    found = unread * situation.wrong * persona.late_discovery
    yield found * persona.annoyance, (_ACCEPT, _UNDO, _complaint("late", is_late=True))
    yield found * (1 - persona.annoyance), (_ACCEPT, _UNDO)
    yield from _keep(persona, unread - found)


def reading_verdict(persona: Persona, gain: float) -> tuple[float, float]:
    """Return how probably a persona who reads a change finds it (more, less) readable.

    What they perceive is the gain plus normal noise, which is larger for those who review less; it
    is noticed from `NOTICED_GAIN` on. The rest of the probability is "no difference".
    """
    sigma = READING_SIGMA + CURSORY_SIGMA * (1 - persona.review_depth)
    return (_normal_cdf((gain - NOTICED_GAIN) / sigma), _normal_cdf((-gain - NOTICED_GAIN) / sigma))


def _normal_cdf(value: float) -> float:
    return 0.5 * math.erfc(-value / math.sqrt(2))


def _on_tidied(persona: Persona, situation: Situation, gain: float) -> Iterator[_Branch]:
    """React to code that was to read better: broken work as ever, then by how it reads."""
    better, worse = reading_verdict(persona, gain)
    reviewed, unread = persona.review_depth, 1 - persona.review_depth
    if situation.touches_tests:
        yield from _refuse(persona, situation, reviewed, "tests")
    else:
        wrong, right = reviewed * situation.wrong, reviewed * (1 - situation.wrong)
        harder = "chopped" if situation.is_chopped else "harder"
        same = 1 - better - worse
        yield from _refuse_or_bear(persona, situation, wrong, "wrong", 1.0)
        yield from _refuse_or_bear(persona, situation, right * worse, harder, 1.0)
        yield from _refuse_or_bear(
            persona, situation, right * same, "no_easier", INDIFFERENT_REFUSAL
        )
        yield from _keep(persona, right * better)
    bad = situation.wrong + (1 - situation.wrong) * worse
    found = unread * bad * persona.late_discovery
    yield found * persona.annoyance, (_ACCEPT, _UNDO, _complaint("late", is_late=True))
    yield found * (1 - persona.annoyance), (_ACCEPT, _UNDO)
    yield from _keep(persona, unread - found)


def _refuse_or_bear(
    persona: Persona, situation: Situation, prob: float, topic: str, factor: float
) -> Iterator[_Branch]:
    """Refuse by strictness, else take the work, with a complaint where they are the sort."""
    refuse = factor * persona.strictness
    yield from _refuse(persona, situation, prob * refuse, topic)
    borne, complain = prob * (1 - refuse), persona.annoyance
    said = "tolerated" if topic == "wrong" else topic
    yield borne * complain, (_ACCEPT, _complaint(said), _KEEP)
    yield borne * (1 - complain), (_ACCEPT, _KEEP)


def _keep(persona: Persona, prob: float) -> Iterator[_Branch]:
    thanks = 0.5 * persona.verbosity
    yield prob * thanks, (_ACCEPT, _THANKS, _KEEP)
    yield prob * (1 - thanks), (_ACCEPT, _KEEP)


def _refuse(persona: Persona, situation: Situation, prob: float, topic: str) -> Iterator[_Branch]:
    strain = max(0.0, situation.work - persona.patience_turns) / persona.patience_turns
    retry = persona.reject_retry * RETRY_PER_REJECTION**situation.num_rejections * math.exp(-strain)
    yield prob * retry, (_refusal(topic),)
    yield prob * (1 - retry), (_refusal("bare"), _LEAVE)

"""The words of a scripted person: plain varied English around facts that are quoted verbatim.

Agents look for facts by their wording, so templates themselves name no kind of mistake, no line and
no number of faults; only the facts of a `Brief` do. An answer that gives nothing says so with one
of the usual phrases ("I don't know"); one that gives something never uses them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from .base import Brief

_GREETINGS = ("Hi.", "Hello.", "Hey.", "Good morning.")
_REQUESTS = (
    "Can you fix it?",
    "Please repair it.",
    "Could you have a look?",
    "Please sort this out.",
    "I need this working today.",
)
_NEW_REQUESTS = (
    "Can you write it?",
    "Please fill in the body.",
    "Could you do that for me?",
    "I need it today.",
)
_TIDY_REQUESTS = (
    "Can you tidy it up?",
    "Please make it easier to read.",
    "Could you clean it up?",
    "Please rework it, it must go on doing the same.",
)
_COURTESIES = (
    "Thank you in advance.",
    "Please keep the change small.",
    "The rest of the code should stay as it is.",
    "I noticed it while testing something else.",
)
_FACTS = {
    "kind": ("My guess: {}.", "What I see: {}.", "The symptom, as far as I can tell: {}."),
    "place": ("I would look {}.", "Probably {}.", "I suspect it is {}."),
    "example": ("For example, {}.", "Case in point: {}.", "To reproduce: {}."),
    "wish": ("What I want: {}.", "To be clear: {}.", "I should have said it: {}."),
}
_PLURAL = ("More than one thing is wrong.", "There is more than one problem.")
_UNKNOWN = (
    "I don't know, sorry.",
    "No idea, I only see that it fails.",
    "I'm not sure, you would have to find out.",
)
_UNKNOWN_NEW = (
    "I don't know, sorry.",
    "No idea, do what you think best.",
    "I'm not sure, you will have to decide.",
)
_UNKNOWN_TIDY = (
    "I don't know, it is just hard to read.",
    "No idea, I only see that I cannot follow it.",
    "I'm not sure, you would have to look.",
)
_TOLD = ("I have said all that I can.", "You have all that I can say.", "See what I wrote above.")
_REASONS = {
    "wrong": (
        "That did not work, I tried it and the result is still wrong.",
        "It is still wrong on my cases.",
        "I tried your change and it is not right.",
    ),
    "tests": (
        "You changed the tests. I wanted the code repaired, please undo that.",
        "Wrong file: leave the tests alone and repair the code.",
    ),
    "unchanged": (
        "Nothing has changed, it is still broken.",
        "You handed in no change at all. It is still wrong.",
    ),
    "bare": ("No. I will do it myself.", "Wrong, I don't want this.", "No, that is not it."),
    "steer": (
        "Please stick to the request.",
        "Try the simplest repair first.",
        "Please hand in what you have so far.",
        "Focus on the function that I named.",
    ),
    "slow": (
        "This is too slow. It is still not working.",
        "Why did you need so long? It is still broken.",
        "That is not what I asked for, please come to the point.",
    ),
    "stop": ("Stop.", "Stop, this takes too long.", "Stop here, please."),
    "questions": (
        "I already said what I can, stop asking and repair it.",
        "I asked you to repair it, not to ask me questions.",
    ),
    "tolerated": (
        "It is still wrong in places, but I will take it.",
        "Not right everywhere. I will live with it.",
    ),
    "chopped": (
        "This is not what I wanted: it is cut into too many tiny functions.",
        "Why did you split it up like this? It is hard to read.",
    ),
    "late": (
        "I had to revert your change, it was wrong after all.",
        "That was wrong after all, I have undone it.",
        "Your change broke things later on. You missed a case.",
    ),
    "thanks": ("Thanks, that works.", "Great, thank you!", "Perfect, thanks."),
}
_NEW_REASONS = {
    "tests": (
        "You changed the tests. I wanted the function written, please undo that.",
        "Wrong file: leave the tests alone and write the function.",
    ),
    "unchanged": (
        "Nothing has changed, the function is still missing.",
        "You handed in no change at all. It is still missing.",
    ),
    "slow": (
        "This is too slow. It is still not there.",
        "Why did you need so long? It is still missing.",
        "That is not what I asked for, please come to the point.",
    ),
    "steer": (
        "Please stick to the request.",
        "Write the simplest version first.",
        "Please hand in what you have so far.",
        "Focus on the function that I named.",
    ),
    "questions": (
        "I already said what I can, stop asking and write it.",
        "I asked you to write it, not to ask me questions.",
    ),
}
"""Reasons whose words differ where something new is wanted."""
_TIDY_REASONS = {
    "wrong": (
        "It does something else than before, and it must do the same.",
        "My cases give other results now. It worked before.",
        "You broke it: what it does has to stay.",
    ),
    "tests": (
        "You changed the tests. I wanted the code tidied, please undo that.",
        "Wrong file: leave the tests alone and tidy the code.",
    ),
    "unchanged": (
        "Nothing has changed, it reads as before.",
        "You handed in no change at all.",
    ),
    "harder": (
        "This is harder to read than before.",
        "I understood the old version better.",
    ),
    "no_easier": (
        "I see no difference in how it reads.",
        "That is not what I asked for, it is as hard to follow as before.",
    ),
    "slow": (
        "This is too slow. It still reads as before.",
        "Why do you need so long? Please come to the point.",
    ),
    "steer": (
        "Please stick to the request.",
        "Begin with what is simplest.",
        "Please hand in what you have so far.",
        "Focus on the function that I named.",
    ),
    "questions": (
        "I already said what I can, stop asking and tidy it up.",
        "I asked you to tidy it up, not to ask me questions.",
    ),
    "tolerated": (
        "It does not quite do the same, but I will take it.",
        "Not the same everywhere. I will live with it.",
    ),
    "chopped": (
        "This is not what I wanted: it is cut into too many tiny functions.",
        "Why did you split it up like this? I have to jump around to read it.",
    ),
    "late": (
        "I had to revert your change, nobody could work with it.",
        "I have undone it: it was better before.",
    ),
    "thanks": ("Thanks, that reads well.", "Great, thank you!", "Much better, thanks."),
}
"""Reasons whose words differ where code is to read better."""


def opening(
    brief: Brief, facts: Sequence[str], rng: np.random.Generator, *, is_plural: bool, is_long: bool
) -> str:
    """Write the first message of a session.

    Args:
        brief: holds the goal and the facts; the goal is quoted verbatim.
        facts: names of the facts to give.
        rng: chooses the wording.
        is_plural: say that several things are wrong.
        is_long: add a greeting and a courtesy.
    """
    known = {"kind": brief.kind_hint, "place": brief.place_hint, "example": brief.example}
    parts = [_sentence(brief.goal)]
    parts += [_one(_PLURAL, rng)] if is_plural else []
    parts += [_fact(name, text, rng) for name in facts if (text := known.get(name))]
    requests = _TIDY_REQUESTS if brief.is_tidying else _REQUESTS
    parts.append(_one(_NEW_REQUESTS if brief.is_new else requests, rng))
    if is_long:
        parts = [_one(_GREETINGS, rng), *parts, _one(_COURTESIES, rng)]
    return " ".join(parts)


def answer(
    facts: Mapping[str, str],
    rng: np.random.Generator,
    *,
    is_plural: bool,
    has_told: bool,
    is_new: bool = False,
    is_tidying: bool = False,
) -> str:
    """Write the answer to a question.

    Args:
        facts: what to tell, by name; empty if the person cannot or does not tell anything.
        rng: chooses the wording.
        is_plural: say that several things are wrong.
        has_told: True if what they know was said before, so that they point back to it.
        is_new: True if something is to be written rather than repaired.
        is_tidying: True if code is to read better rather than repaired.
    """
    parts = [_fact(name, text, rng) for name, text in facts.items()]
    if parts and is_plural:
        parts.append(_one(_PLURAL, rng))
    unknown = _UNKNOWN_NEW if is_new else _UNKNOWN_TIDY if is_tidying else _UNKNOWN
    return " ".join(parts) or _one(_TOLD if has_told else unknown, rng)


def remark(
    topic: str,
    rng: np.random.Generator,
    fact: tuple[str, str] | None = None,
    *,
    is_new: bool = False,
    is_tidying: bool = False,
) -> str | None:
    """Write a message about a topic, followed by a fact if one is given; None for a mute act."""
    special = _NEW_REASONS if is_new else _TIDY_REASONS if is_tidying else {}
    reasons = special.get(topic) or _REASONS.get(topic)
    if reasons is None:
        return None
    said = _one(reasons, rng)
    return said if fact is None else f"{said} {_fact(*fact, rng)}"


def _one(templates: Sequence[str], rng: np.random.Generator) -> str:
    return templates[int(rng.integers(len(templates)))]


def _fact(name: str, text: str, rng: np.random.Generator) -> str:
    templates = _FACTS[name.partition("-")[0]]  # a person may have several wishes
    return _sentence(_one(templates, rng).removesuffix(".").format(text))


def _sentence(text: str) -> str:
    return text if text.rstrip().endswith((".", "!", "?")) else f"{text}."

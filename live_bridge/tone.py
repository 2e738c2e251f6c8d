"""The tone of a person's message, by two short lists of words (a stand-in for a classifier)."""

from __future__ import annotations

import re

from ..trajectory import Polarity

_DISSATISFIED = re.compile(
    r"^\W*(no(?! (problem|worries|rush|need|hurry)\b)|nope|wrong|stop|ugh|wtf)\b"
    r"|\b(not what i|that'?s not|that is not|isn'?t what|i (already )?said|i told you|i asked)\b"
    r"|\b(do(es)?n'?t|did ?n[o']?t|does not|is ?n[o']?t|not) (work|working|compile|fixed|right)\b"
    r"|\b(still|again) (broken|fail\w*|wrong|crash\w*|the same|not|does|is|get\w*)\b"
    r"|\b(you (broke|deleted|removed|forgot|missed|ignored|changed the wrong)|you'?re wrong)"
    r"|\b(wrong|incorrect|useless|terrible|too slow|why did you)\b"
    r"|\b(undo|revert|roll ?back) (that|this|it|your|all|everything|the last)\b"
    r"|^\W*(please )?(undo|revert|roll ?back)\b",
    re.IGNORECASE,
)
_SATISFIED = re.compile(
    r"\b(thanks|thank you|thx|perfect|excellent|awesome|lgtm|well done|good job|nice work)\b"
    r"|\b(works (now|great|fine|well|perfectly)|(it|that|this|all) works|that worked)\b"
    r"|\b(looks (good|great|right)|exactly what i)\b"
    r"|^\W*(great|nice|good|cool|yes,? (that|this))\b",
    re.IGNORECASE,
)


def polarity_of(text: str) -> Polarity:
    """Judge the tone of a message by short keyword lists (a stand-in for a trained classifier).

    A word of dissatisfaction anywhere decides (people thank and then complain); else a word of
    satisfaction; else the tone is neutral. It reads English only, and knows nothing of irony.
    """
    if _DISSATISFIED.search(text):
        return Polarity.DISSATISFIED
    return Polarity.SATISFIED if _SATISFIED.search(text) else Polarity.NEUTRAL

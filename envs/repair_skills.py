"""The skills of repair, as a skill set."""

from __future__ import annotations

from .skill_features import FEATURE_NAMES, PRIOR, skill_features
from .skill_sets import SkillSet
from .skill_state import SkillState, skill_state
from .skills import SKILLS, expand


def _expand(index: int, state: SkillState) -> str:
    return expand(SKILLS[index], state)


SKILL_SET = SkillSet(
    names=tuple(skill.name for skill in SKILLS),
    feature_names=FEATURE_NAMES,
    prior=PRIOR,
    state=skill_state,
    describe=skill_features,
    expand=_expand,
)
"""Read, test, ask, submit, every edit that the mutation operators allow, and the dishonest ones."""

"""How far is simulation from production, and whose fault is it?

    gap.py              the outcome gap G = J_sim - J_live, clustered by user
    critic.py           what the policy may expect from a state onwards, in simulation
    terms.py            logged sessions, reduced to what is linear in the critic
    attribution.py      G split exactly into task mix, computer, person and the critic's residual
    hybrid.py           the same split by running worlds with one part swapped (stand-in only)
    verdicts.py         match, mismatch, inconclusive, not identifiable - and why
    teacher_forcing.py  simulated reactions against logged ones, turn by turn
    sessions.py         from logged trajectories to the numbers that the attribution takes
    tabular.py          a session world whose truth is known exactly
    validation.py       the estimators against that truth: bias, coverage, false alarms, power

Read `attribution.py`'s docstring for the identity and its limits, then `validation.py` for how much
to trust it. Intervals come from `sim2live.intervals`.
"""

from .attribution import Attribution, Line, attribute
from .critic import FeatureMap, LinearCritic, RolloutSums, SimEpisode
from .gap import (
    GapReport,
    Loop,
    StratumGap,
    minimum_detectable,
    outcome_gap,
    prediction_powered_mean,
)
from .hybrid import HybridCheck, hybrid_check
from .terms import SessionTerms
from .verdicts import Judgement, Verdict, judge

__all__ = [
    "Attribution",
    "FeatureMap",
    "GapReport",
    "HybridCheck",
    "Judgement",
    "Line",
    "LinearCritic",
    "Loop",
    "RolloutSums",
    "SessionTerms",
    "SimEpisode",
    "StratumGap",
    "Verdict",
    "attribute",
    "hybrid_check",
    "judge",
    "minimum_detectable",
    "outcome_gap",
    "prediction_powered_mean",
]

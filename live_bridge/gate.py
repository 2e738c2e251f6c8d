"""May a new checkpoint replace the served one? A paired non-inferiority test on held-out tasks.

Both checkpoints solve the same tasks; d = candidate - baseline per task. With a margin (the largest
mean loss one is willing to risk) and one-sided bounds at `level`:

    promote        lower bound of mean(d) > -margin: a loss as large as the margin is ruled out
    keep           upper bound of mean(d) < -margin: the candidate is shown to be worse than allowed
    inconclusive   otherwise: the old version stays, and more tasks or samples could tell

Tasks of one family stand or fall together, so families are the independent units (clustered t). "No
significant difference" is not a pass: a gate with few tasks would then pass everything. The margin
that the tasks at hand can certify is part of every decision.

The ratchet trap: each promotion may lose up to the margin, and a loop that ships several times a
day could lose it each time. An anchor (scores of one fixed version, say the last one that people
reviewed) must therefore not be undercut by more than a cumulative margin.

Not covered: several metrics at once (each guardrail needs a gate of its own), repeated looks at the
same tasks (a fixed gate set is slowly learnt), and whether held-out tasks resemble what users ask.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from ..errors import ConfigError
from ..intervals import Clusters, FloatArray, Interval, cluster_t_interval, t_quantile

MIN_CLUSTERS = 5
"""Fewest task families for any decision but *inconclusive*."""


class Decision(StrEnum):
    """What the gate says about a candidate; only `promote` replaces the served version."""

    PROMOTE = "promote"
    KEEP = "keep"
    INCONCLUSIVE = "inconclusive"


@dataclass(slots=True, kw_only=True, frozen=True)
class GateDecision:
    """The decision and the numbers behind it."""

    decision: Decision
    difference: Interval
    """Candidate - baseline. Its ends are the two one-sided bounds, so its two-sided level is
    2 * level - 1 (90% for one-sided 95%)."""
    margin: float
    certifiable_margin: float
    """Smallest margin that an equally good candidate would pass with 80% power on these tasks;
    `inf` if these tasks cannot certify any."""
    reason: str
    anchor_difference: Interval | None = None
    """Candidate - anchor, if an anchor was given."""
    cumulative_margin: float | None = None

    @property
    def is_promoted(self) -> bool:
        """True if the candidate may be served."""
        return self.decision is Decision.PROMOTE


def gate(
    candidate_scores: npt.ArrayLike,
    baseline_scores: npt.ArrayLike,
    *,
    clusters: Clusters | None,
    margin: float,
    level: float = 0.95,
    score_range: float = 1.0,
    anchor_scores: npt.ArrayLike | None = None,
    cumulative_margin: float | None = None,
) -> GateDecision:
    """Decide whether the candidate may replace the baseline.

    Args:
        candidate_scores: shape (N,), one score per task, or (N, k) for k samples of each.
        baseline_scores: the served version on the same tasks in the same order; k may differ.
        clusters: task family (or task) of each of the N tasks; None if tasks are independent.
        margin: largest mean loss that is tolerated, in units of the score.
        level: confidence of each one-sided bound.
        score_range: largest possible score minus the smallest, used only if all tasks agree.
        anchor_scores: a fixed version on the same tasks, against slow decline.
        cumulative_margin: largest mean loss against the anchor, at least `margin`; required with
            an anchor.

    Returns:
        The decision. If both comparisons pass it is `promote`, if either is shown to be worse it is
        `keep`, otherwise `inconclusive`.

    Raises:
        ConfigError: scores do not match, are missing, or the margins make no sense.

    Example:
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> old = rng.random(400)
        >>> new = old + rng.normal(0.0, 0.1, 400)
        >>> str(gate(new, old, clusters=None, margin=0.05).decision)
        'promote'
    """
    if not 0.5 < level < 1:
        raise ConfigError(f"level is one-sided and must lie between 0.5 and 1, got {level}")
    if not (margin > 0 and score_range > 0):
        raise ConfigError(
            f"margin and score_range must be positive, got {margin} and {score_range}; a margin "
            "of 0 could never be passed by an equally good candidate"
        )
    _check_anchor(anchor_scores, margin, cumulative_margin)
    candidate = _per_task(candidate_scores, "candidate_scores")
    baseline = _per_task(baseline_scores, "baseline_scores")
    difference = _paired(candidate, baseline, clusters, level, score_range)
    decision = _decide(difference, margin)
    reason = _explain("the served version", difference, margin, decision)

    anchor = None
    if anchor_scores is not None and cumulative_margin is not None:
        anchor_mean = _per_task(anchor_scores, "anchor_scores")
        anchor = _paired(candidate, anchor_mean, clusters, level, score_range)
        against = _decide(anchor, cumulative_margin)
        reason += "; " + _explain("the anchor", anchor, cumulative_margin, against)
        decision = _stricter(decision, against)

    certifiable = _certifiable(difference, level)
    if decision is Decision.INCONCLUSIVE:
        reason += "; the old version stays" + _sizing(difference, certifiable, margin)
    return GateDecision(
        decision=decision,
        difference=difference,
        margin=margin,
        certifiable_margin=certifiable,
        reason=reason,
        anchor_difference=anchor,
        cumulative_margin=cumulative_margin,
    )


def _check_anchor(
    anchor_scores: npt.ArrayLike | None, margin: float, cumulative_margin: float | None
) -> None:
    if (anchor_scores is None) != (cumulative_margin is None):
        raise ConfigError("give `anchor_scores` and `cumulative_margin` together or neither")
    if cumulative_margin is not None and cumulative_margin < margin:
        raise ConfigError(
            f"cumulative_margin ({cumulative_margin}) must be at least margin ({margin})"
        )


def _per_task(scores: npt.ArrayLike, what: str) -> FloatArray:
    """Return one mean score per task, shape (N,)."""
    array = np.asarray(scores, dtype=np.float64)
    if array.ndim not in (1, 2) or array.size == 0:
        raise ConfigError(f"{what}: expected shape (N,) or (N, k), got {array.shape}")
    if not np.isfinite(array).all():
        raise ConfigError(
            f"{what}: missing or infinite scores; a task that ended in an infrastructure error "
            "has no score: run it again, or leave it out on both sides and say so"
        )
    return array if array.ndim == 1 else array.mean(axis=1)


def _paired(
    new: FloatArray, old: FloatArray, clusters: Clusters | None, level: float, score_range: float
) -> Interval:
    """Return the interval of mean(new - old), its ends the one-sided bounds."""
    if new.shape != old.shape:
        raise ConfigError(f"the test is paired: {new.size} tasks against {old.size}")
    found = cluster_t_interval(new - old, clusters, 2 * level - 1)
    if found.se > 0:
        return found
    # Every family differs by the same amount, so the t interval has no width. What can still be
    # said is how often a family may behave otherwise: less than 1 - (1 - level)^(1 / families).
    slack = score_range * (1 - (1 - level) ** (1 / found.num_clusters))
    return Interval(
        estimate=found.estimate,
        low=found.estimate - slack,
        high=found.estimate + slack,
        se=0.0,
        n=found.n,
        num_clusters=found.num_clusters,
        df=found.df,
        level=found.level,
        effective_clusters=found.effective_clusters,
    )


def _decide(difference: Interval, margin: float) -> Decision:
    if difference.effective_clusters < MIN_CLUSTERS:
        return Decision.INCONCLUSIVE
    if difference.low > -margin:
        return Decision.PROMOTE
    return Decision.KEEP if difference.high < -margin else Decision.INCONCLUSIVE


def _stricter(first: Decision, second: Decision) -> Decision:
    for decision in (Decision.KEEP, Decision.INCONCLUSIVE):
        if decision in (first, second):
            return decision
    return Decision.PROMOTE


def _certifiable(difference: Interval, level: float, power: float = 0.8) -> float:
    """Return (t_level + t_power) * se, or the width of the bound where nothing varies."""
    if not difference.is_bounded:
        return math.inf
    if difference.se == 0:
        return difference.estimate - difference.low
    return difference.se * (t_quantile(level, difference.df) + t_quantile(power, difference.df))


def _explain(what: str, difference: Interval, margin: float, decision: Decision) -> str:
    span = f"{difference.estimate:+.3f} (bounds {difference.low:+.3f}, {difference.high:+.3f})"
    if difference.effective_clusters < MIN_CLUSTERS:
        return (
            f"against {what}: {difference.num_clusters} task families count as "
            f"{difference.effective_clusters:.1f} of equal size, at least {MIN_CLUSTERS} are needed"
        )
    said = {
        Decision.PROMOTE: f"a loss of {margin:g} is ruled out",
        Decision.KEEP: f"the loss exceeds {margin:g}",
        Decision.INCONCLUSIVE: f"a loss of {margin:g} is neither ruled out nor shown",
    }[decision]
    return f"against {what}: {span}, {said}"


def _sizing(difference: Interval, certifiable: float, margin: float) -> str:
    """Say what these tasks can certify, and roughly how many would be needed for the margin."""
    if not math.isfinite(certifiable):
        return ""
    text = f"; these tasks certify a margin of {certifiable:.3f}"
    if difference.se > 0 and certifiable > margin:
        needed = math.ceil(difference.n * (certifiable / margin) ** 2)
        text += f", about {needed} such tasks would certify {margin:g}"
    return text

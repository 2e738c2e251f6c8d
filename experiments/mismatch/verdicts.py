"""What may be said about a difference between simulation and production.

Four verdicts. *Match* is a claim of equivalence: the whole interval lies inside a margin that was
chosen beforehand. *Mismatch*: the interval excludes zero. Otherwise *inconclusive*: more data could
tell. *Not identifiable*: no amount of precision in these numbers would help, because there are too
few independent users (or the data a line needs are not there). "p > 0.05" is never a match.

The margin comes first: a tiny but certain difference (interval inside the margin and off zero) is a
match. Containment of a 95% interval is two one-sided tests at 2.5% each (Schuirmann, 1987), which
is stricter than the usual 5%.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from ...errors import ConfigError
from ...intervals import Interval

MIN_CLUSTERS = 5
"""Fewest effective users for any verdict but *not identifiable*."""
MIN_CLUSTERS_CONSTANT = 30
"""Fewest users for believing an interval of zero width: if none of 30 users showed any difference,
at most 10% of users do (1 - 0.05^(1/30), 95% confidence)."""
MAX_SKEWNESS = 0.2
"""Largest |skewness| of an estimate with which its t interval is believed: Cochran's rule, at least
25 times the squared skewness of one user's contribution as many users (*Sampling Techniques*, 1977,
2.15). Beyond it a few users with extreme values decide the result, and a heavy tail is likely."""
CHEBYSHEV = 4.48
"""With any distribution, at least 95% of estimates lie within this many standard errors."""


class Verdict(StrEnum):
    """What may be said about one figure."""

    MATCH = "match"
    MISMATCH = "mismatch"
    INCONCLUSIVE = "inconclusive"
    NOT_IDENTIFIABLE = "not identifiable"


@dataclass(slots=True, kw_only=True, frozen=True)
class Judgement:
    """A verdict and the sentence that justifies it."""

    verdict: Verdict
    reason: str


def judge(
    interval: Interval,
    margin: float | None,
    *,
    min_clusters: float = MIN_CLUSTERS,
    max_skewness: float = MAX_SKEWNESS,
) -> Judgement:
    """Judge a difference, simulated minus live, against a margin.

    Checks in this order, the first that applies decides: too few effective users; a zero-width
    interval from too few users; an estimate too lopsided for a t interval (then only a match that
    Chebyshev's inequality supports is granted, never a mismatch); inside the margin; off zero; none
    of these.

    Args:
        interval: of the difference.
        margin: largest absolute difference that does not matter, in units of the difference. None
            means that nobody has said what matters, so that nothing can be a match.
        min_clusters: fewest effective users.
        max_skewness: largest |skewness| of the estimate.

    Raises:
        ConfigError: the margin is not positive.
    """
    if margin is not None and not margin > 0:
        raise ConfigError(f"margin must be positive (or None for no margin), got {margin}")
    unsound = _unsound(interval, min_clusters)
    if unsound is not None:
        return unsound
    if abs(interval.skewness) > max_skewness:
        return _judge_lopsided(interval, margin)
    span = f"[{interval.low:+.3g}, {interval.high:+.3g}]"
    if margin is not None and -margin < interval.low and interval.high < margin:
        zero = "" if interval.contains(0) else " (it excludes 0, but too little to matter)"
        return _say(Verdict.MATCH, f"interval {span} lies inside the margin of {margin:g}{zero}")
    if not interval.contains(0):
        return _say(Verdict.MISMATCH, f"interval {span} excludes 0")
    if margin is None:
        return _say(Verdict.INCONCLUSIVE, f"interval {span} contains 0 and no margin was set")
    return _say(
        Verdict.INCONCLUSIVE, f"interval {span} contains 0 and reaches past the margin {margin:g}"
    )


def _say(verdict: Verdict, reason: str) -> Judgement:
    return Judgement(verdict=verdict, reason=reason)


def _unsound(interval: Interval, min_clusters: float) -> Judgement | None:
    """Return why the interval itself supports no conclusion, or None if it may."""
    users = min(interval.effective_clusters, interval.num_clusters)
    if users < min_clusters or not interval.is_bounded:
        return _say(
            Verdict.NOT_IDENTIFIABLE,
            f"{interval.num_clusters} users count as {users:.1f} of equal size; "
            f"at least {min_clusters:g} are needed",
        )
    if interval.se == 0 and interval.num_clusters < MIN_CLUSTERS_CONSTANT:
        return _say(
            Verdict.INCONCLUSIVE,
            f"all {interval.num_clusters} users gave the same value; at least "
            f"{MIN_CLUSTERS_CONSTANT} are needed before that means anything",
        )
    return None


def _judge_lopsided(interval: Interval, margin: float | None) -> Judgement:
    """Judge an estimate that a few users with extreme values decide."""
    reach = abs(interval.estimate) + CHEBYSHEV * interval.se
    if margin is not None and reach < margin:
        return _say(
            Verdict.MATCH,
            f"rare, lopsided differences, but {CHEBYSHEV:g} standard errors "
            f"({interval.se:.3g} each) stay inside the margin of {margin:g}",
        )
    users = math.ceil(interval.num_clusters * (interval.skewness / MAX_SKEWNESS) ** 2)
    return _say(
        Verdict.INCONCLUSIVE,
        f"a few users with extreme values decide the result (skewness {interval.skewness:+.2f}); "
        f"with values like these about {users} users are needed, not {interval.num_clusters}",
    )

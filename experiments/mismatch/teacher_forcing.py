"""The person, without new rollouts: a simulated user is put at every turn that a real one saw.

Teacher forcing: the logged agent turns are shown to the simulated user, and what it would do is
held against what the real person did. The agent cannot answer the simulated user, so everything
here is *open-loop*: it says how alike the two are at the states that the log visited, not what a
session with the simulated user would come to.

The simulated side is a population. For each real person a panel of simulated users is drawn, and
after each turn every member is weighted by the probability that it gave to what the person did
there. So a prediction uses what is known of the
person so far, as any honest forecast may, and never what comes later. Without the weighting a
varied but correct population would look wrong: who is still there at turn ten is no random sample.

Inference counts users. A line's interval is the clustered t interval over users (the closed form of
resampling whole users) of predicted minus observed, with a floor for rare reactions; with fewer
than five users it is Newcombe's for two independent proportions (1998, method 10), and the line is
then not identifiable.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ...errors import ConfigError
from ...simulators.base import UserView
from ...simulators.decision import LABELS
from ...simulators.logged import Backstage, views
from ...simulators.panel import MakeUser, Panel, indicator
from ...simulators.predict import labels_shown
from ...simulators.situation import read_view, shown_tests
from ...trajectory import ReactionKind, Trajectory
from .forecasts import (
    base_rate,
    calibration_error,
    clustered_ends,
    difference_of_rates,
    log_loss,
    newcombe_ends,
)
from .gap import Loop
from .two_sample import FloatMatrix, TwoSample, two_sample_test
from .verdicts import MIN_CLUSTERS, Judgement, Verdict, judge

__all__ = ["Backstage", "ReactionComparison", "ReactionLine", "compare_reactions", "views"]

MARGIN = 0.05
"""Default margin of equivalence: a difference of at most this share of views does not matter."""
RELATIVE_MARGIN = 0.5
"""No difference of more than this share of the larger rate is negligible either: without it every
reaction rarer than `MARGIN` would match a simulation that never shows it."""
ALPHA = 0.05
_CONTEXT = ("log turns", "handed in", "asked", "changed", "work", "rejections", "tests shown")
_KIND_OF = {label: ReactionKind(label.split("/")[0]) for label in LABELS}


@dataclass(slots=True, kw_only=True, frozen=True)
class ReactionLine:
    """One kind of reaction, real against simulated. Rates are shares of views."""

    kind: str
    """A label of `simulators.LABELS`: a kind, or a follow-up of one tone."""
    num_views: int
    """Views at which the source could show it (for `answer`: those with a question)."""
    num_users: int
    real_rate: float | None
    simulated_rate: float | None
    difference: float | None
    """Simulated minus real."""
    margin: float | None
    """The margin of this line: the comparison's, or half the larger rate if that is less."""
    low: float | None
    """Lower end of the 95% interval of the difference; None if it has none."""
    high: float | None
    method: str
    """How the interval was made."""
    p_value: float | None
    q_value: float | None
    """Benjamini-Hochberg over the lines that have a p value."""
    log_loss: float | None
    """Mean negative log-likelihood of the simulated prediction, nats a view; lower is better."""
    base_log_loss: float | None
    """The same for predicting the base rate."""
    is_base_cross_fitted: bool
    """True if each user's base rate comes from the others; else it is in-sample (favourable)."""
    brier: float | None
    ece: float | None
    """Expected calibration error in [0, 1], ten bins of equal width."""
    verdict: Verdict
    reason: str
    loop: Loop = Loop.OPEN


@dataclass(slots=True, kw_only=True, frozen=True)
class ReactionComparison:
    """A simulated population against the people of a log."""

    explanation: str
    loop: Loop
    margin: float
    draws: int
    num_sessions: int
    num_views: int
    num_users: int
    num_sessions_without_user: int
    """Sessions without a user id; each counts as a user of its own."""
    lines: tuple[ReactionLine, ...]
    two_sample: TwoSample
    """Whether real and simulated reactions can be told apart at all."""


def compare_reactions(
    trajectories: Sequence[Trajectory],
    make_user: MakeUser,
    *,
    seed: int,
    draws: int = 64,
    margin: float = MARGIN,
    backstage: Callable[[Trajectory], Backstage] | None = None,
) -> ReactionComparison:
    """Compare a simulated population with the people of logged sessions, turn by turn.

    Args:
        trajectories: the log; sessions of one user in order of time.
        make_user: draws a simulated user.
        seed: fixes panels and draws.
        draws: draws a view and real user for users that do not know their probabilities, and most
            members of a panel; at least 1.
        margin: largest difference of rates that does not matter, in share of views.
        backstage: what a stand-in knows of a session beyond the log; None for real logs.

    Raises:
        ConfigError: `draws` or `margin` out of range.
    """
    if draws < 1 or not 0 < margin < 1:
        raise ConfigError(f"expected draws >= 1 and margin in (0, 1), got {draws} and {margin}")
    table = _collect(trajectories, make_user, np.random.default_rng(seed), draws, backstage)
    lines = _corrected([_line(table, index, margin, draws) for index in range(len(LABELS))])
    rng = np.random.default_rng([seed, 1])
    two_sample = two_sample_test(
        table.real * table.is_observable,
        table.sampled * table.is_observable,
        table.context,
        table.users,
        labels=LABELS,
        context_names=_CONTEXT,
        rng=rng,
    )
    num_users = len(np.unique(table.users))
    unnamed = sum(t.user_id is None for t in trajectories)
    return ReactionComparison(
        explanation=_explain(len(table.users), num_users, len(trajectories), unnamed, margin),
        loop=Loop.OPEN,
        margin=margin,
        draws=draws,
        num_sessions=len(trajectories),
        num_views=len(table.users),
        num_users=num_users,
        num_sessions_without_user=unnamed,
        lines=lines,
        two_sample=two_sample,
    )


@dataclass(slots=True, kw_only=True)
class _Table:
    """Every view as a row; n views, L labels, C context features."""

    users: npt.NDArray[np.intp]
    real: FloatMatrix
    """(n, L), 1 where the person showed the label."""
    predicted: FloatMatrix
    """(n, L), raw probability of the simulated population."""
    forecast: FloatMatrix
    """(n, L), the same, smoothed so that none is 0 or 1."""
    sampled: FloatMatrix
    """(n, L), labels of one simulated draw."""
    is_observable: npt.NDArray[np.bool_]
    """(n, L)."""
    context: FloatMatrix
    """(n, C)."""


def _collect(
    trajectories: Sequence[Trajectory],
    make_user: MakeUser,
    rng: np.random.Generator,
    draws: int,
    backstage: Callable[[Trajectory], Backstage] | None,
) -> _Table:
    panels: dict[str, Panel] = {}
    codes: dict[str, int] = {}
    users: list[int] = []
    rows: list[tuple[FloatMatrix, ...]] = []
    for trajectory in trajectories:
        name = trajectory.user_id or f"session {trajectory.id}"
        code = codes.setdefault(name, len(codes))
        if name not in panels:
            panels[name] = Panel.draw(make_user, rng, draws)
        can_show = np.array([trajectory.is_observable(_KIND_OF[label]) for label in LABELS])
        known = backstage(trajectory) if backstage is not None else None
        for view in views(trajectory, known):
            reacted = trajectory.turns[len(view.turns) - 1].reactions
            shown = labels_shown(reacted)
            observable = can_show.copy()
            observable[LABELS.index(ReactionKind.ANSWER)] &= view.question is not None
            predicted, sampled = panels[name].predict(view, rng)
            panels[name].learn(
                shown, {x for x, seen in zip(LABELS, observable, strict=True) if seen}
            )
            users.append(code)
            forecast = panels[name].forecast(predicted)
            rows.append(
                (indicator(shown), predicted, forecast, sampled, observable, _context(view))
            )
    if not rows:
        empty = np.zeros((0, len(LABELS)))
        return _Table(
            users=np.zeros(0, dtype=np.intp),
            real=empty,
            predicted=empty,
            forecast=empty,
            sampled=empty,
            is_observable=empty.astype(bool),
            context=np.zeros((0, len(_CONTEXT))),
        )
    real, predicted, forecast, sampled, seen, context = (
        np.array(column) for column in zip(*rows, strict=True)
    )
    return _Table(
        users=np.array(users, dtype=np.intp),
        real=real,
        predicted=predicted,
        forecast=forecast,
        sampled=sampled,
        is_observable=seen.astype(bool),
        context=context,
    )


def _context(view: UserView) -> FloatMatrix:
    seen = read_view(view)
    tests = {True: 1.0, False: -1.0, None: 0.0}[shown_tests(view.turns)]
    return np.array(
        [
            math.log1p(len(view.turns)),
            seen.is_submitted,
            seen.is_asked,
            seen.is_changed,
            math.log1p(seen.work),
            seen.num_rejections,
            tests,
        ],
        dtype=np.float64,
    )


def _line(table: _Table, index: int, margin: float, draws: int) -> ReactionLine:
    label = LABELS[index]
    rows = table.is_observable[:, index]
    if not rows.any():
        return _unidentified(label, table)
    y, p, users = table.real[rows, index], table.predicted[rows, index], table.users[rows]
    users = np.unique(users, return_inverse=True)[1]
    interval = difference_of_rates(y, p, users)
    has_users = interval.num_clusters >= MIN_CLUSTERS
    low, high, p_value = clustered_ends(interval) if has_users else newcombe_ends(y, p, draws)
    rate = max(float(y.mean()), float(p.mean()))
    effective = min(margin, RELATIVE_MARGIN * rate)
    judgement = judge(interval, effective) if rate > 0 else _NEVER_SHOWN
    base, is_cross_fitted = base_rate(y, users)
    forecast = table.forecast[rows, index]
    return ReactionLine(
        kind=label,
        num_views=len(y),
        num_users=interval.num_clusters,
        real_rate=float(y.mean()),
        simulated_rate=float(p.mean()),
        difference=interval.estimate,
        margin=effective,
        low=low,
        high=high,
        method="clustered t by user" if has_users else "Newcombe, views taken as independent",
        p_value=p_value,
        q_value=None,
        log_loss=log_loss(y, forecast),
        base_log_loss=log_loss(y, base),
        is_base_cross_fitted=is_cross_fitted,
        brier=float(np.mean((p - y) ** 2)),
        ece=calibration_error(y, p),
        verdict=judgement.verdict,
        reason=judgement.reason,
    )


_NEVER_SHOWN = Judgement(
    verdict=Verdict.INCONCLUSIVE,
    reason="neither side ever showed it, so there is nothing to compare",
)


def _unidentified(label: str, table: _Table) -> ReactionLine:
    if not len(table.users):
        reason = "the log has no turn at which a person could react"
    elif label == ReactionKind.ANSWER and not table.context[:, _CONTEXT.index("asked")].any():
        reason = "the agent never asked a question"
    else:
        reason = "no source in the log could have shown it, so its absence says nothing"
    return ReactionLine(
        kind=label,
        num_views=0,
        num_users=0,
        real_rate=None,
        simulated_rate=None,
        difference=None,
        margin=None,
        low=None,
        high=None,
        method="none",
        p_value=None,
        q_value=None,
        log_loss=None,
        base_log_loss=None,
        is_base_cross_fitted=False,
        brier=None,
        ece=None,
        verdict=Verdict.NOT_IDENTIFIABLE,
        reason=reason,
    )


def _corrected(lines: Sequence[ReactionLine]) -> tuple[ReactionLine, ...]:
    """Add q values; a mismatch that does not survive the correction is inconclusive."""
    from scipy.stats import false_discovery_control

    tested = [line for line in lines if line.p_value is not None]
    if not tested:
        return tuple(lines)
    q_values = false_discovery_control([line.p_value for line in tested], method="bh")
    found = {line.kind: float(q) for line, q in zip(tested, q_values, strict=True)}
    return tuple(_with_q(line, found.get(line.kind), len(tested)) for line in lines)


def _with_q(line: ReactionLine, q: float | None, num_tested: int) -> ReactionLine:
    judgement = Judgement(verdict=line.verdict, reason=line.reason)
    if line.verdict is Verdict.MISMATCH and q is not None and q > ALPHA:
        reason = f"{line.reason}, but q = {q:.2g} after correction for {num_tested} lines"
        judgement = Judgement(verdict=Verdict.INCONCLUSIVE, reason=reason)
    return replace(line, q_value=q, verdict=judgement.verdict, reason=judgement.reason)


def _explain(views_: int, users: int, sessions: int, unnamed: int, margin: float) -> str:
    text = (
        f"Open loop: at each of {views_} turns in {sessions} logged sessions of {users} users, "
        "what the simulated user would do against what the real person did. Rates are shares of "
        "turns; difference = simulated minus real. A line is a match only if its whole interval, "
        f"clustered by user, lies inside ±{margin:g}, or half the larger rate if that is less; a "
        "kind that the log could not show is not identifiable. Log loss is in nats a turn, beside "
        "that of always predicting the base rate. What was done is taken as the log's rules read "
        "it."
    )
    if unnamed:
        text += (
            f" {unnamed} sessions name no user and count as one user each, which makes intervals "
            "too narrow if they share any."
        )
    return text

"""Where the outcome gap comes from: task mix, computer or person, adding up exactly.

Write a step as: state h_t, the policy's action, the computer's result, the person's reaction, the
realised value r_t of the turn, next state h_{t+1}. Let V be any function of the state with
V(terminal) = 0; we take a critic fitted in the simulator. At every *logged* state define, with the
logged action,

    W_ll = r_t + V(h_{t+1})            logged computer,    logged person
    W_ls = E[r + V(h')]                logged computer,    simulated person
    W_ss = E[r + V(h')]                simulated computer, simulated person
    W_sl = E[r + V(h')]                simulated computer, live person (only where that can be run)

where E averages m simulated replies. Then G = J_sim - J_live splits into four lines:

    task mix         mean_sim V(h_0) - mean_live V(h_0)
    computer         mean_live sum_t (W_ss - W_ls)
    person           mean_live sum_t (W_ls - W_ll)
    critic residual  [mean_sim return - mean_sim V(h_0)] + mean_live sum_t (V(h_t) - W_ss)

Proof that they add up to G, for *any* V and any simulated replies. The last three contain
mean_live sum_t [(V(h_t) - W_ss) + (W_ss - W_ls) + (W_ls - W_ll)] = mean_live sum_t [V(h_t) - r_t -
V(h_{t+1})], which telescopes to mean_live [V(h_0) - V(terminal)] - J_live. Adding the task mix and
the first bracket of the residual leaves mean_sim return - J_live = G.

If V is the value of the policy *in the simulator*, the residual is zero in expectation (Bellman's
equation for V, at live states), and the computer and person lines are the two terms of the
simulation lemma. So the residual is the audit: when it is off zero, or known too badly to rule out
an error as large as what a line claims, computer and person are marked inconclusive.

The order (computer swapped first) is a convention. With W_sl the other order and the mean of both
(the Shapley value of two players) are reported too.

Limits. Swaps are one step long and at logged states, hence open-loop; what a different person would
do later enters only through V. A simulated person with a hidden persona must be drawn given the
session so far, not afresh, or the residual absorbs the difference. State that neither side records
is charged to whichever part shows it.

We know of no published two-factor attribution of this kind for user simulators.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import ConfigError
from ...intervals import (
    FloatArray,
    Interval,
    influence_interval,
    interval_from_se,
    resample_counts,
)
from .critic import LinearCritic, RolloutSums, SimEpisode, regularise, solve
from .gap import Loop
from .terms import SessionSums, SessionTerms, sim_offsets
from .verdicts import Judgement, Verdict, judge

__all__ = ["Attribution", "Line", "SessionTerms", "attribute"]

# Shapes: L lines, X expanded features, S sessions, U users, B resamples.

MAX_RESIDUAL_RATIO = 1.0
"""The residual is too wide for a line if its half-width exceeds this many times what the line
claims: its |estimate| for a mismatch, the margin for a match. An error of the critic as large as
the claim could then hide in it."""
MIN_EFFECTIVE_TURNS = 5.0
"""A live state that fewer simulator turns than this speak about is unsupported."""
MAX_CHUNK_ENTRIES = 10_000_000
"""Matrix entries (80 MB) that the bootstrap may hold at once."""
MAX_UNSUPPORTED_SHARE = 0.1
"""Largest share of unsupported live turns with which computer and person are still judged."""


@dataclass(slots=True, kw_only=True, frozen=True)
class Line:
    """One line of the attribution."""

    name: str
    interval: Interval
    judgement: Judgement
    loop: Loop
    critic_se: float
    """Standard error that the critic's simulator episodes alone contribute."""


@dataclass(slots=True, kw_only=True, frozen=True)
class Attribution:
    """The gap and its parts. `task_mix + computer + person + critic_residual = total`, exactly."""

    total: Line
    task_mix: Line
    computer: Line
    person: Line
    critic_residual: Line
    person_first: tuple[Line, Line] | None
    """Computer and person in the other order (person swapped first); None without W_sl."""
    shapley: tuple[Line, Line] | None
    """Computer and person, mean of both orders; None without W_sl."""
    num_sessions: int
    num_users: int
    num_episodes: int
    unsupported_share: float
    """Share of live turns at states that the simulator hardly visits."""

    @property
    def lines(self) -> tuple[Line, ...]:
        """The total and the four parts, in reading order."""
        return (self.total, self.task_mix, self.computer, self.person, self.critic_residual)

    @property
    def named(self) -> str | None:
        """The part that is a mismatch with the largest |estimate| / se; None if no part is one."""
        guilty = [
            line
            for line in (self.task_mix, self.computer, self.person)
            if line.judgement.verdict is Verdict.MISMATCH
        ]
        if not guilty:
            return None
        return max(guilty, key=lambda x: abs(x.interval.estimate) / (x.interval.se or 1e-300)).name


def attribute(
    sim_episodes: Sequence[SimEpisode],
    live_sessions: Sequence[SessionTerms],
    *,
    margin: float | None,
    level: float = 0.95,
    bootstrap: int = 400,
    ridge: float = 1e-6,
    max_residual_ratio: float = MAX_RESIDUAL_RATIO,
    seed: int,
) -> Attribution:
    """Split the outcome gap into task mix, computer and person.

    Every interval is estimate -+ t * se, with se from a bootstrap that resamples live users and
    simulator episodes together and refits the critic each time.

    Args:
        sim_episodes: rollouts of the policy in the simulator; they fit the critic and give J_sim.
        live_sessions: logged sessions of the same policy version with simulated replies.
        margin: largest absolute value of a line that does not matter; None if nobody has said.
        level: two-sided confidence level.
        bootstrap: number of resamples, at least 50.
        ridge: of the critic.
        max_residual_ratio: see `MAX_RESIDUAL_RATIO`.
        seed: of the bootstrap.

    Raises:
        ConfigError: nothing given, shapes that do not fit, or only some sessions with W_sl.
    """
    if bootstrap < 50:
        raise ConfigError(f"expected at least 50 bootstrap replicates, got {bootstrap}")
    rollouts = RolloutSums.of(sim_episodes)
    sums = SessionSums.of(live_sessions, rollouts.moment.shape[1])
    critic = LinearCritic.fit(rollouts, ridge=ridge)
    estimates, influence = sums.linearised(rollouts, critic)
    spread = _bootstrap(rollouts, sums, bootstrap, ridge, seed)
    intervals = [
        _interval(value, influence[:, k], sums, rollouts.num_groups, spread[k], level)
        for k, value in enumerate(estimates.tolist())
    ]
    states = np.vstack([session.features for session in live_sessions])
    unsupported = float(np.mean(critic.effective_turns(states) < MIN_EFFECTIVE_TURNS))

    total, mix, residual = intervals[0], intervals[1], intervals[4]
    audit = judge(residual, margin)

    def line(k: int, name: str, found: Judgement, loop: Loop = Loop.OPEN) -> Line:
        return Line(
            name=name,
            interval=intervals[k],
            judgement=found,
            loop=loop,
            critic_se=spread[k][1],
        )

    def part(k: int, name: str) -> Line:
        own = judge(intervals[k], margin)
        claim = abs(intervals[k].estimate) if own.verdict is Verdict.MISMATCH else margin
        limit = max_residual_ratio * (claim or math.inf)
        return line(k, name, _doubt(own, residual, audit, limit, unsupported) or own)

    return Attribution(
        total=line(0, "total gap", judge(total, margin), Loop.CLOSED),
        task_mix=line(1, "task mix", judge(mix, margin), Loop.CLOSED),
        computer=part(2, "computer"),
        person=part(3, "person"),
        critic_residual=line(4, "critic residual", audit),
        person_first=(part(5, "computer"), part(6, "person")) if sums.has_sl else None,
        shapley=(part(7, "computer"), part(8, "person")) if sums.has_sl else None,
        num_sessions=len(live_sessions),
        num_users=total.num_clusters,
        num_episodes=len(sim_episodes),
        unsupported_share=unsupported,
    )


def _doubt(
    own: Judgement, residual: Interval, audit: Judgement, limit: float, unsupported: float
) -> Judgement | None:
    """Return why a computer or person line's own verdict is not to be believed, if it is not."""
    if own.verdict is Verdict.NOT_IDENTIFIABLE:
        return None
    if unsupported > MAX_UNSUPPORTED_SHARE:
        return Judgement(
            verdict=Verdict.NOT_IDENTIFIABLE,
            reason=f"{unsupported:.0%} of live turns are at states that the simulator hardly "
            f"visits (limit {MAX_UNSUPPORTED_SHARE:.0%})",
        )
    if audit.verdict is not Verdict.MATCH and not residual.contains(0):
        return Judgement(
            verdict=Verdict.INCONCLUSIVE,
            reason=f"the critic is wrong at live states: its residual is {residual.estimate:+.3g}, "
            f"{audit.reason}",
        )
    if own.verdict is not Verdict.INCONCLUSIVE and residual.half_width > limit:
        return Judgement(
            verdict=Verdict.INCONCLUSIVE,
            reason=f"the critic residual is known to -+{residual.half_width:.3g} only, and an "
            f"error beyond {limit:.3g} could explain this line; simulate more replies per state "
            "or more episodes",
        )
    return None


def _bootstrap(
    rollouts: RolloutSums, sums: SessionSums, replicates: int, ridge: float, seed: int
) -> list[tuple[float, float]]:
    """Return each line's standard error with everything resampled, and with only the simulator.

    A bootstrap of k units leaves out a factor sqrt(k / (k - 1)); the smaller k decides it for both.
    """
    rng = np.random.default_rng(seed)
    num_users = int(sums.users.max()) + 1
    num_sessions, num_lines = sums.constants.shape
    if num_users < 2 or rollouts.num_groups < 2:
        return [(math.inf, math.inf)] * num_lines
    sizes = np.bincount(sums.users).astype(np.float64)
    vectors = np.zeros((num_users, *sums.vectors.shape[1:]))
    constants = np.zeros((num_users, num_lines))
    np.add.at(vectors, sums.users, sums.vectors)
    np.add.at(constants, sums.users, sums.constants)

    width = vectors.shape[2]
    both, critic_only = np.zeros((replicates, num_lines)), np.zeros((replicates, num_lines))
    chunk = max(1, MAX_CHUNK_ENTRIES // width**2)
    for start in range(0, replicates, chunk):
        rows = slice(start, min(start + chunk, replicates))
        num = rows.stop - rows.start
        mixed = rollouts.mixed(resample_counts(rollouts.num_groups, num, rng))
        weights = solve(regularise(mixed.gram, ridge), mixed.moment)
        offsets = sim_offsets(mixed, weights, num_lines)
        users = resample_counts(num_users, num, rng)
        live_vectors = (users @ vectors.reshape(num_users, -1)).reshape(num, num_lines, width)
        live = np.einsum("blx,bx->bl", live_vectors, weights) + users @ constants
        both[rows] = live / (users @ sizes)[:, None] + offsets
        critic_only[rows] = weights @ vectors.sum(axis=0).T / num_sessions + offsets

    units = min(num_users, rollouts.num_groups)
    scale = math.sqrt(units / (units - 1))
    found = [scale * draws.std(axis=0, ddof=1) for draws in (both, critic_only)]
    return list(zip(found[0].tolist(), found[1].tolist(), strict=True))


def _interval(
    value: float,
    influence: FloatArray,
    sums: SessionSums,
    num_groups: int,
    spread: tuple[float, float],
    level: float,
) -> Interval:
    """Return an interval with the bootstrap's standard error and the users' diagnostics.

    Degrees of freedom by Welch-Satterthwaite from what users and what simulator episodes add.
    """
    live = influence_interval(value, influence, sums.users, level=level)
    se, critic_se = spread
    df = 0.0
    if math.isfinite(se):
        from_sim = min(critic_se, se) ** 2
        noise = (se**2 - from_sim) ** 2 / live.df + from_sim**2 / (num_groups - 1)
        df = se**4 / noise if noise > 0 else live.df
    return interval_from_se(
        value,
        se,
        df=df,
        n=live.n,
        num_clusters=live.num_clusters,
        level=level,
        effective_clusters=min(live.effective_clusters, num_groups),
        skewness=live.skewness * min(live.se / se, 1.0) ** 3 if se > 0 else 0.0,
    )

"""What the attribution needs of logged sessions, reduced to what is linear in the critic.

The value of each line of the attribution (see `attribution.py`) is constant + x . weights, for a
constant and a vector x per session. So a critic can be exchanged, or refitted a thousand times,
without touching the sessions again.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...errors import ConfigError
from ...intervals import FloatArray, cluster_codes
from .critic import LinearCritic, RolloutSums

# Shapes: T turns of one session, X expanded features, L lines, S sessions, B resamples.


@dataclass(slots=True, kw_only=True, frozen=True)
class SessionTerms:
    """One logged live session, with simulated replies at each of its states.

    All features are expanded by the critic's `FeatureMap`; a reply that ends the session has
    all-zero next features. `*_reward` and `*_next` are means over the m simulated replies.
    The session must have ended: a session cut off by the log has no realised value yet.
    """

    user: Hashable
    features: FloatArray
    """Shape (T, X): before each turn."""
    reward: FloatArray
    """Shape (T,): realised value of each turn."""
    ls_reward: FloatArray
    """Shape (T,): logged computer, simulated person."""
    ls_next: FloatArray
    """Shape (T, X)."""
    ss_reward: FloatArray
    """Shape (T,): simulated computer, simulated person."""
    ss_next: FloatArray
    """Shape (T, X)."""
    sl_reward: FloatArray | None = None
    """Shape (T,): simulated computer, live person; only a stand-in can give it."""
    sl_next: FloatArray | None = None
    """Shape (T, X)."""


@dataclass(slots=True, frozen=True)
class SessionSums:
    """Sessions reduced to what is linear in the critic: line value = constant + x . weights."""

    vectors: FloatArray
    """Shape (S, L, X)."""
    constants: FloatArray
    """Shape (S, L)."""
    users: npt.NDArray[np.intp]
    """Shape (S,)."""
    has_sl: bool

    @classmethod
    def of(cls, sessions: Sequence[SessionTerms], width: int) -> SessionSums:
        """Sum each session's turns; see the module docstring for the lines."""
        if not sessions:
            raise ConfigError("attribution needs logged live sessions, got none")
        has_sl = [s.sl_reward is not None or s.sl_next is not None for s in sessions]
        if any(has_sl) and not all(has_sl):
            raise ConfigError(
                "some sessions have `sl_reward` and some do not; give it for all or for none"
            )
        vectors, constants = _session_lines(sessions, width, has_sl=all(has_sl))
        users = cluster_codes([session.user for session in sessions], len(sessions))
        return cls(vectors, constants, users, all(has_sl))

    def linearised(
        self, rollouts: RolloutSums, critic: LinearCritic
    ) -> tuple[FloatArray, FloatArray]:
        """Return the estimates (L,) and each session's influence (S, L) at the fitted critic."""
        values = self.vectors @ critic.weights + self.constants
        offset = sim_offsets(
            rollouts.mixed(np.ones((1, rollouts.num_groups))), critic.weights[None], values.shape[1]
        )
        means = values.mean(axis=0)
        return means + offset[0], (values - means) / len(values)


def _session_lines(
    sessions: Sequence[SessionTerms], width: int, *, has_sl: bool
) -> tuple[FloatArray, FloatArray]:
    """Return each session's lines as vectors (S, L, X) and constants (S, L).

    Lines: 0 total (minus the return), 1 task mix (minus V(h_0)), 2 computer, 3 person, 4 residual;
    with W_sl also 5-6 computer and person in the other order and 7-8 the mean of both orders.
    """
    # One (X + 1)-vector per session and world: summed next features and, last, summed reward.
    logged = _session_totals("logged", [(s.reward, s.features) for s in sessions], sessions, width)
    ls = _session_totals("ls", [(s.ls_reward, s.ls_next) for s in sessions], sessions, width)
    ss = _session_totals("ss", [(s.ss_reward, s.ss_next) for s in sessions], sessions, width)
    start = np.array([np.append(s.features[0], 0.0) for s in sessions])
    before, logged_return = logged.copy(), logged.copy()
    before[:, -1], logged_return[:, :-1] = 0.0, 0.0
    ll = logged - start
    rows = [-logged_return, -start, ss - ls, ls - ll, before - ss]
    if has_sl:
        sl = _session_totals("sl", [(s.sl_reward, s.sl_next) for s in sessions], sessions, width)
        rows += [sl - ll, ss - sl]
        rows += [(rows[2] + rows[5]) / 2, (rows[3] + rows[6]) / 2]
    table = np.stack(rows, axis=1)
    return table[:, :, :-1], table[:, :, -1]


def _session_totals(
    name: str,
    terms: Sequence[tuple[FloatArray | None, FloatArray | None]],
    sessions: Sequence[SessionTerms],
    width: int,
) -> FloatArray:
    """Check one world's rewards and features and add them up over turns, shape (S, X + 1)."""
    pieces, starts, num_turns = [], [], 0
    for (reward, features), session in zip(terms, sessions, strict=True):
        if reward is None or features is None:
            raise ConfigError(f"give `{name}_reward` and `{name}_next` together or neither")
        turns = len(session.features)
        if not turns or reward.shape != (turns,) or features.shape != (turns, width):
            raise ConfigError(
                f"session of user {session.user!r}, {name} terms: expected rewards (T,) and "
                f"features (T, {width}) with T = {turns} >= 1; got {reward.shape}, {features.shape}"
            )
        pieces.append(np.column_stack([features, reward]))
        starts.append(num_turns)
        num_turns += turns
    stacked = np.concatenate(pieces)
    if not np.isfinite(stacked).all():
        raise ConfigError(
            f"{name} terms hold missing or infinite values; leave such sessions out and count them"
        )
    return np.asarray(np.add.reduceat(stacked, starts, axis=0), dtype=np.float64)


def sim_offsets(mixed: RolloutSums, weights: FloatArray, num_lines: int) -> FloatArray:
    """Return what simulator means add to each line, shape (B, L); only three lines have any."""
    mean_return = mixed.returns / mixed.episodes
    mean_first = np.einsum("bx,bx->b", mixed.first, weights) / mixed.episodes
    out = np.zeros((len(weights), num_lines))
    out[:, 0] = mean_return
    out[:, 1] = mean_first
    out[:, 4] = mean_return - mean_first
    return out

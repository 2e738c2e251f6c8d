"""A linear critic of the simulator: what a policy may expect from a state onwards, in simulation.

V(h) = w . x(h), with x the state's features (a constant, the features, optionally their products)
and w the ridge regression of the undiscounted return to go on x over simulator rollouts only. It is
linear on purpose. The value of an average over simulated replies is the critic at the averaged
features; and a refit on resampled episodes needs only sums of per-episode matrices, so the critic's
own error can enter every interval by bootstrap.

What it does not do: it does not notice by itself that it is wrong. The attribution audits it with
the critic residual, and `effective_turns` tells which live states the simulator never visited.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...errors import ConfigError
from ...intervals import FloatArray

# Shapes: N states, F raw features, X expanded features, E episodes, G groups of episodes,
# T turns of one episode.


@dataclass(slots=True, kw_only=True, frozen=True)
class FeatureMap:
    """Expands raw state features to what the critic is linear in.

    The expansion is fixed once, on simulator states, so that simulated and live states mean the
    same thing. A terminal state expands to zeros, hence V(terminal) = 0 exactly.
    """

    mean: FloatArray
    """Shape (F,)."""
    scale: FloatArray
    """Shape (F,); 1 for a feature that never varies."""
    is_quadratic: bool

    @classmethod
    def fit(cls, phi: npt.ArrayLike, *, is_quadratic: bool = False) -> FeatureMap:
        """Take centre and scale from simulator states, shape (N, F)."""
        array = np.asarray(phi, dtype=np.float64)
        if array.ndim != 2 or not array.size or not np.isfinite(array).all():
            raise ConfigError(
                f"expected finite state features of shape (N, F), got shape {array.shape}"
            )
        scale = array.std(axis=0)
        return cls(
            mean=array.mean(axis=0),
            scale=np.where(scale > 0, scale, 1.0),
            is_quadratic=is_quadratic,
        )

    @property
    def num_outputs(self) -> int:
        """Number X of expanded features."""
        f = self.mean.size
        return 1 + f + (f * (f + 1) // 2 if self.is_quadratic else 0)

    def __call__(
        self, phi: npt.ArrayLike, is_terminal: npt.NDArray[np.bool_] | None = None
    ) -> FloatArray:
        """Expand states of shape (N, F) to (N, X); rows where `is_terminal` become zeros.

        Expand first and average over simulated replies afterwards: the other order is wrong for
        products and for replies that end the session.
        """
        array = np.asarray(phi, dtype=np.float64)
        if array.ndim != 2 or array.shape[1] != self.mean.size:
            raise ConfigError(f"expected shape (N, {self.mean.size}), got {array.shape}")
        z = (array - self.mean) / self.scale
        parts = [np.ones((len(z), 1)), z]
        if self.is_quadratic:
            i, j = np.triu_indices(z.shape[1])
            parts.append(z[:, i] * z[:, j])
        out = np.hstack(parts)
        if is_terminal is not None:
            out[is_terminal] = 0.0
        return out


@dataclass(slots=True, kw_only=True, frozen=True)
class SimEpisode:
    """One simulator rollout under the policy whose gap is measured."""

    features: FloatArray
    """Shape (T, X): expanded features before each turn."""
    rewards: FloatArray
    """Shape (T,): realised value per turn (never the proxy reward)."""
    group: Hashable = None
    """What it shares with other episodes (a simulated user, a seed); None if independent."""
    is_branch: bool = False
    """True if it began at a state of a live session and not at an opening. A branch teaches the
    critic what live states are worth in the simulator and is no part of J_sim."""


@dataclass(slots=True, kw_only=True, frozen=True)
class RolloutSums:
    """What the critic and J_sim need from rollouts: sums over independent groups of episodes."""

    gram: FloatArray
    """Shape (G, X, X): sum of x x^T over the group's turns."""
    moment: FloatArray
    """Shape (G, X): sum of x times return to go."""
    first: FloatArray
    """Shape (G, X): sum of the episodes' first features."""
    returns: FloatArray
    """Shape (G,): sum of the episodes' returns."""
    episodes: FloatArray
    """Shape (G,): number of episodes, branches not counted (nor in `first` and `returns`)."""

    @classmethod
    def of(cls, episodes: Sequence[SimEpisode], *, max_groups: int = 200) -> RolloutSums:
        """Sum rollouts by group.

        Independent episodes are pooled in turn into at most `max_groups` groups: a bootstrap over
        equal pools estimates the same variance and needs far less memory than one matrix each.
        With many features the pools are fewer still (at least 50), to stay near 160 MB.

        Raises:
            ConfigError: no episodes, or shapes that do not fit together.
        """
        if not episodes:
            raise ConfigError("a critic needs simulator rollouts, got none")
        width = episodes[0].features.shape[-1]
        lengths = np.array([_checked_length(e, width) for e in episodes])
        x, r = (
            np.concatenate([e.features for e in episodes]),
            np.concatenate([e.rewards for e in episodes]),
        )
        if not (np.isfinite(x).all() and np.isfinite(r).all()):
            raise ConfigError("an episode has missing or infinite features or rewards")
        starts = np.cumsum(lengths) - lengths
        returns = np.add.reduceat(r, starts)
        # Return to go = the episode's return minus what came before the turn.
        before = np.cumsum(r) - r
        to_go = np.repeat(returns + before[starts], lengths) - before

        max_groups = min(max_groups, max(50, 20_000_000 // width**2))
        pools: dict[Hashable, int] = {}
        own = [(i, None) if e.group is None else (-1, e.group) for i, e in enumerate(episodes)]
        codes = np.array([pools.setdefault(key, len(pools)) for key in own]) % max_groups
        num = min(len(pools), max_groups)
        of_turn = np.repeat(codes, lengths)
        gram, moment = np.zeros((num, width, width)), np.zeros((num, width))
        for code, rows in enumerate(_rows_by_code(of_turn, num)):
            gram[code] = x[rows].T @ x[rows]
            moment[code] = x[rows].T @ to_go[rows]
        whole = np.array([not episode.is_branch for episode in episodes])
        if not whole.any():
            raise ConfigError("only branches were given; J_sim needs episodes from their opening")
        first = np.zeros((num, width))
        np.add.at(first, codes[whole], x[starts[whole]])
        return cls(
            gram=gram,
            moment=moment,
            first=first,
            returns=np.bincount(codes[whole], returns[whole], num).astype(np.float64),
            episodes=np.bincount(codes[whole], minlength=num).astype(np.float64),
        )

    @property
    def num_groups(self) -> int:
        """Number of independent groups."""
        return int(self.episodes.size)

    def mixed(self, counts: FloatArray) -> RolloutSums:
        """Return sums of resamples: `counts` (B, G) gives arrays with B in place of G."""
        width = self.moment.shape[1]
        flat = self.gram.reshape(self.num_groups, -1)
        return RolloutSums(
            gram=(counts @ flat).reshape(-1, width, width),
            moment=counts @ self.moment,
            first=counts @ self.first,
            returns=counts @ self.returns,
            episodes=counts @ self.episodes,
        )


def _checked_length(episode: SimEpisode, width: int) -> int:
    x, r = episode.features, episode.rewards
    if x.ndim != 2 or x.shape[1] != width or r.shape != (len(x),) or not len(x):
        raise ConfigError(
            f"an episode needs features (T, {width}) and rewards (T,) with T >= 1; "
            f"got {x.shape} and {r.shape}"
        )
    return len(x)


def _rows_by_code(codes: npt.NDArray[np.intp], num: int) -> list[npt.NDArray[np.intp]]:
    """Return the row numbers of each code 0..num-1."""
    order = np.argsort(codes, kind="stable")
    return np.split(order, np.cumsum(np.bincount(codes, minlength=num))[:-1])


@dataclass(slots=True, kw_only=True, frozen=True)
class LinearCritic:
    """V(h) = weights . x(h), fitted on simulator rollouts."""

    weights: FloatArray
    """Shape (X,)."""
    regularised: FloatArray
    """Shape (X, X): the matrix whose inverse gave the weights."""
    num_episodes: int

    @classmethod
    def fit(cls, rollouts: RolloutSums, *, ridge: float = 1e-6) -> LinearCritic:
        """Regress return to go on features (Monte-Carlo, gamma = 1).

        Args:
            rollouts: sums of simulator rollouts.
            ridge: penalty relative to each feature's own sum of squares, so that it does not
                depend on units. Keep it tiny: shrinkage is bias, and bias becomes critic residual.
        """
        total = rollouts.mixed(np.ones((1, rollouts.num_groups)))
        matrix = regularise(total.gram, ridge)
        return cls(
            weights=solve(matrix, total.moment)[0],
            regularised=matrix[0],
            num_episodes=int(total.episodes[0]),
        )

    def values(self, features: FloatArray) -> FloatArray:
        """Return V of expanded features, shape (..., X) to (...)."""
        return np.asarray(features @ self.weights, dtype=np.float64)

    def effective_turns(self, features: FloatArray) -> FloatArray:
        """Say how many simulator turns speak about each state: one over its leverage.

        With indicator features this is the number of simulator visits to the state. A live state
        with less than a few is outside the simulator's support and its value is extrapolated.

        Args:
            features: shape (N, X).

        Returns:
            Shape (N,); infinite for a terminal state (its value is known to be zero).
        """
        solved = np.linalg.solve(self.regularised, features.T).T
        leverage = np.einsum("nx,nx->n", features, solved)
        with np.errstate(divide="ignore"):
            return np.asarray(1.0 / np.maximum(leverage, 0.0), dtype=np.float64)


def regularise(gram: FloatArray, ridge: float) -> FloatArray:
    """Add `ridge` times its own diagonal to each matrix, shape (B, X, X).

    A feature that never occurred gets a small pivot instead, so that its weight is zero. The pivot
    is far below one visit but far above rounding.
    """
    diagonal = np.einsum("bxx->bx", gram)
    largest = diagonal.max(axis=1, keepdims=True)
    added = np.where(diagonal > 0, ridge * diagonal, 1e-9 * np.maximum(largest, 1e-300))
    return np.asarray(gram + added[:, :, None] * np.eye(gram.shape[1]), dtype=np.float64)


def solve(matrix: FloatArray, moment: FloatArray) -> FloatArray:
    """Solve one linear system per resample: (B, X, X) and (B, X) to (B, X)."""
    return np.asarray(np.linalg.solve(matrix, moment[:, :, None])[:, :, 0], dtype=np.float64)

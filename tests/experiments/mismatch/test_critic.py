"""The critic: closed forms, refits by matrix algebra, and what it says about support."""

from __future__ import annotations

import numpy as np
import pytest

from sim2live.errors import ConfigError
from sim2live.experiments.mismatch import FeatureMap, LinearCritic, RolloutSums, SimEpisode
from sim2live.experiments.mismatch.critic import regularise, solve


def episodes(rng: np.random.Generator, num: int, width: int = 3) -> list[SimEpisode]:
    return [
        SimEpisode(features=rng.normal(size=(t, width)), rewards=rng.normal(size=t))
        for t in rng.integers(1, 6, num)
    ]


def to_go(episode: SimEpisode) -> np.ndarray:
    return np.array([episode.rewards[t:].sum() for t in range(len(episode.rewards))])


def test_weights_are_least_squares_on_return_to_go():
    data = episodes(np.random.default_rng(0), 50)
    x = np.vstack([e.features for e in data])
    y = np.concatenate([to_go(e) for e in data])
    critic = LinearCritic.fit(RolloutSums.of(data), ridge=1e-12)
    assert critic.weights == pytest.approx(np.linalg.lstsq(x, y, rcond=None)[0], abs=1e-8)
    assert critic.num_episodes == 50


def test_a_resampled_refit_equals_a_fit_on_the_repeated_episodes():
    data = episodes(np.random.default_rng(1), 8)
    counts = np.array([[2.0, 0, 1, 3, 1, 0, 0, 1]])
    repeated = [e for e, c in zip(data, counts[0], strict=True) for _ in range(int(c))]
    mixed = RolloutSums.of(data).mixed(counts)
    direct = LinearCritic.fit(RolloutSums.of(repeated))
    assert solve(regularise(mixed.gram, 1e-6), mixed.moment)[0] == pytest.approx(direct.weights)
    assert mixed.returns[0] == pytest.approx(sum(e.rewards.sum() for e in repeated))
    assert mixed.episodes[0] == 8


def test_pooling_keeps_the_totals_and_groups_stay_together():
    rng = np.random.default_rng(2)
    data = episodes(rng, 30)
    full, pooled = RolloutSums.of(data), RolloutSums.of(data, max_groups=7)
    assert (full.num_groups, pooled.num_groups) == (30, 7)
    for name in ("gram", "moment", "first", "returns", "episodes"):
        total = getattr(full, name).sum(axis=0)
        assert getattr(pooled, name).sum(axis=0) == pytest.approx(total)
    shared = [
        SimEpisode(features=e.features, rewards=e.rewards, group=f"persona {i % 4}")
        for i, e in enumerate(data)
    ]
    assert RolloutSums.of(shared).num_groups == 4


def test_ridge_does_not_depend_on_units():
    data = episodes(np.random.default_rng(3), 40)
    scaled = [SimEpisode(features=e.features * 1e4, rewards=e.rewards) for e in data]
    plain = LinearCritic.fit(RolloutSums.of(data), ridge=0.1)
    other = LinearCritic.fit(RolloutSums.of(scaled), ridge=0.1)
    assert other.weights * 1e4 == pytest.approx(plain.weights)


def test_a_feature_that_never_occurred_gets_weight_zero_and_no_support():
    eye = np.eye(3)
    data = [
        SimEpisode(features=eye[[0, 1]], rewards=np.array([0.0, float(i % 2)])) for i in range(10)
    ]
    critic = LinearCritic.fit(RolloutSums.of(data))
    assert critic.weights == pytest.approx([0.5, 0.5, 0.0], abs=1e-5)
    turns = critic.effective_turns(np.vstack([eye, np.zeros(3)]))
    assert turns[:2] == pytest.approx([10, 10], rel=1e-4)  # number of visits
    assert turns[2] < 1e-3
    assert np.isinf(turns[3])  # a terminal state has a known value


def test_features_are_expanded_before_they_are_averaged():
    rng = np.random.default_rng(4)
    raw = rng.normal(size=(50, 2))
    feature_map = FeatureMap.fit(raw, is_quadratic=True)
    ended = np.arange(50) % 5 == 0
    expanded = feature_map(raw, ended)
    assert expanded.shape == (50, feature_map.num_outputs) == (50, 6)
    assert not expanded[ended].any()
    assert expanded[~ended, 0] == pytest.approx(1)
    z = (raw - raw.mean(axis=0)) / raw.std(axis=0)
    assert expanded[1, 1:] == pytest.approx(
        [z[1, 0], z[1, 1], z[1, 0] ** 2, z[1, 0] * z[1, 1], z[1, 1] ** 2]
    )
    w = rng.normal(size=6)
    assert (expanded @ w).mean() == pytest.approx(expanded.mean(axis=0) @ w)


def test_a_constant_feature_is_harmless():
    feature_map = FeatureMap.fit(np.ones((5, 1)))
    assert feature_map(np.ones((2, 1))).tolist() == [[1.0, 0.0], [1.0, 0.0]]


def test_bad_input_is_refused():
    with pytest.raises(ConfigError, match="needs simulator rollouts"):
        RolloutSums.of([])
    with pytest.raises(ConfigError, match="T >= 1"):
        RolloutSums.of([SimEpisode(features=np.ones((0, 2)), rewards=np.ones(0))])
    with pytest.raises(ConfigError, match="missing or infinite"):
        RolloutSums.of([SimEpisode(features=np.ones((1, 2)), rewards=np.array([np.nan]))])
    with pytest.raises(ConfigError, match=r"expected shape \(N, 2\)"):
        FeatureMap.fit(np.ones((3, 2)))(np.ones((3, 1)))
    with pytest.raises(ConfigError, match="finite state features"):
        FeatureMap.fit(np.array([[np.inf]]))

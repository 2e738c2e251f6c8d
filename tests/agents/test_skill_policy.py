from __future__ import annotations

import math
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from sim2live.agents import checkpoint
from sim2live.agents.skill_policy import SkillPolicy
from sim2live.agents.trainable import TrainablePolicy
from sim2live.errors import ConfigError, ModelError
from sim2live.trajectory import Turn


def observations(n: int, skills: int = 6, features: int = 5, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(skills, features)).astype(np.float32) for _ in range(n)]


def sharp(policy: SkillPolicy) -> SkillPolicy:
    """Give a policy scores that matter (a fresh one is near uniform)."""
    with torch.no_grad():
        policy.net.score.weight.mul_(30.0)
    return policy


def test_sampled_logprobs_equal_recomputed_ones_and_the_distribution() -> None:
    policy = sharp(SkillPolicy(5, seed=0))
    assert isinstance(policy, TrainablePolicy)
    seen = observations(20) + observations(10, skills=3, seed=1)  # different numbers of skills
    actions = policy.act(seen)
    turns = [Turn(action=a.value, features=o) for a, o in zip(actions, seen, strict=True)]
    evaluation = policy.evaluate(turns)
    sampled = torch.tensor([a.logprob for a in actions])
    torch.testing.assert_close(evaluation.logprobs.detach().squeeze(1), sampled)
    assert evaluation.mask.shape == (30, 1) and evaluation.mask.all()
    for action, observation, entropy in zip(
        actions, seen, evaluation.entropy.tolist(), strict=True
    ):
        p = policy.distribution(observation)
        assert len(p) == len(observation)
        assert math.log(p[action.value]) == pytest.approx(action.logprob, abs=1e-5)
        assert -(p * np.log(p)).sum() == pytest.approx(entropy, abs=1e-5)


def test_sampling_frequencies_match_the_distribution() -> None:
    policy = sharp(SkillPolicy(5, seed=3))
    observation = observations(1)[0]
    p = policy.distribution(observation)
    draws = np.bincount([a.value for a in policy.act([observation] * 20000)], minlength=6)
    assert np.all(np.abs(draws / 20000 - p) < 5 * np.sqrt(p * (1 - p) / 20000) + 1e-9)


def test_padding_to_the_largest_number_of_skills_changes_nothing() -> None:
    policy = sharp(SkillPolicy(5, seed=0))
    small, large = observations(1, skills=2)[0], observations(1, skills=9)[0]
    alone = policy.evaluate([Turn(action=1, features=small)])
    beside = policy.evaluate([Turn(action=1, features=small), Turn(action=8, features=large)])
    torch.testing.assert_close(alone.logprobs[0], beside.logprobs[0])
    torch.testing.assert_close(alone.entropy[0], beside.entropy[0])
    assert alone.values is not None and beside.values is not None
    torch.testing.assert_close(alone.values[0], beside.values[0])
    beside.entropy.sum().backward()
    assert all(p.grad is None or torch.isfinite(p.grad).all() for _, p in policy.named_parameters())
    assert max(a.value for a in policy.act([small] * 200 + [large])[:200]) <= 1


def test_the_order_of_the_skills_does_not_matter() -> None:
    policy = sharp(SkillPolicy(5, seed=0))
    observation = observations(1)[0]
    order = np.array([3, 0, 5, 1, 4, 2])
    np.testing.assert_allclose(
        policy.distribution(observation[order]), policy.distribution(observation)[order], rtol=1e-5
    )
    values = policy.evaluate(
        [Turn(action=0, features=observation), Turn(action=0, features=observation[order])]
    ).values
    assert values is not None
    assert values[0].item() == pytest.approx(values[1].item(), abs=1e-5)


def test_greedy_takes_the_best_and_was_certain() -> None:
    policy = sharp(SkillPolicy(5, seed=0))
    for observation, action in zip(
        observations(8), policy.act(observations(8), greedy=True), strict=True
    ):
        assert action.value == policy.distribution(observation).argmax()
        assert action.logprob == 0.0


def test_seeds_fix_weights_and_sampling_and_leave_the_global_generator_alone() -> None:
    torch.manual_seed(0)
    expected = torch.rand(1)
    torch.manual_seed(0)
    first, second, other = (SkillPolicy(5, seed=s) for s in (1, 1, 2))
    seen = observations(50)
    values = [[a.value for a in policy.act(seen)] for policy in (first, second, other)]
    assert values[0] == values[1] != values[2]
    assert torch.equal(torch.rand(1), expected)


def test_state_restores_weights_sampling_and_version(tmp_path: Path) -> None:
    policy = sharp(SkillPolicy(5, seed=1, version="v7"))
    policy.act(observations(3))
    path = checkpoint.save(tmp_path / "c.pt", policy=policy.state_dict())
    expected = [(a.value, a.logprob) for a in policy.act(observations(40))]
    other = SkillPolicy(5, seed=9)
    other.load_state_dict(checkpoint.load(path)["policy"])
    assert other.version == "v7"
    assert [(a.value, a.logprob) for a in other.act(observations(40))] == expected
    with pytest.raises(ConfigError, match="hidden"):
        SkillPolicy(5, hidden=8, seed=0).load_state_dict(policy.state_dict())


def test_a_state_is_a_copy() -> None:
    policy = SkillPolicy(5, seed=1)
    state = policy.state_dict()
    before = state["weights"]["score.weight"].clone()
    sharp(policy)
    assert torch.equal(state["weights"]["score.weight"], before)


def test_bad_input_is_refused_in_words() -> None:
    policy = SkillPolicy(5, seed=0)
    with pytest.raises(ModelError, match=r"observation 1 has shape \(6, 4\)"):
        policy.act([observations(1)[0], observations(1, features=4)[0]])
    bad = observations(2)
    bad[1][0, 0] = np.nan
    with pytest.raises(ModelError, match="observation 1 holds NaN"):
        policy.act(bad)
    with pytest.raises(ModelError, match="no `features`"):
        policy.evaluate([Turn(action=1)])
    with pytest.raises(ModelError, match="action 6"):
        policy.evaluate([Turn(action=6, features=observations(1)[0])])
    with pytest.raises(ConfigError, match="num_features is 0"):
        SkillPolicy(0, seed=0)
    assert policy.act([]) == []


def test_a_batch_of_64_is_fast() -> None:
    policy = SkillPolicy(24, seed=0)
    batch = observations(64, skills=20, features=24)
    policy.act(batch)
    times = []
    for _ in range(20):
        start = time.perf_counter()
        policy.act(batch)
        times.append(time.perf_counter() - start)
    assert min(times) < 0.02  # about 1 ms on an idle core; the best of 20, for busy machines

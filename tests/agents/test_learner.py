from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
import torch

from sim2live.agents.learner import METRICS, PolicyGradientLearner, next_version
from sim2live.agents.learner_config import LearnerConfig
from sim2live.agents.skill_policy import SkillPolicy
from sim2live.errors import ConfigError, ModelError, RewardError
from sim2live.trajectory import EndReason, RewardReport, Source, Trajectory, Turn

ARMS = np.eye(2, dtype=np.float32)
ARM_REWARDS = (1.0, -0.5)


def episode(
    turns: list[Turn],
    reward: float | None,
    *,
    task: str = "t",
    per_turn: list[float] | None = None,
    excluded: str | None = None,
    end: EndReason = EndReason.SOLVED,
    **rest: Any,
) -> Trajectory:
    if reward is None and excluded is None:
        excluded = "invalid_call"
    report = RewardReport(total=reward, per_turn=per_turn or [], excluded=excluded)
    return Trajectory(
        id="e", task_id=task, source=Source.SIMULATED, turns=turns, reward=report, end=end, **rest
    )


def sampled(policy: SkillPolicy, observation: np.ndarray, action: int) -> Turn:
    logprob = math.log(policy.distribution(observation)[action])
    return Turn(action=action, action_logprob=logprob, features=observation)


def random_batch(policy: SkillPolicy, seed: int, *, groups: int = 4) -> list[Trajectory]:
    """Return trajectories of 1 to 4 turns, in groups of 3, with per-turn rewards."""
    rng = np.random.default_rng(seed)
    batch = []
    for g in range(groups):
        for _ in range(3):
            seen = rng.normal(size=(rng.integers(1, 5), 3, policy.num_features))
            seen = list(seen.astype(np.float32))
            actions = policy.act(seen)
            turns = [
                Turn(action=a.value, action_logprob=a.logprob, features=o)
                for a, o in zip(actions, seen, strict=True)
            ]
            per_turn = rng.normal(size=len(turns)).tolist()
            batch.append(episode(turns, sum(per_turn), task=f"t{g}", per_turn=per_turn))
    return batch


def gradient(policy: SkillPolicy, batch: list[Trajectory], **options: Any) -> torch.Tensor:
    """Return the gradient of one update with respect to the policy's part of the network."""
    state = policy.state_dict()
    learner = PolicyGradientLearner(policy, LearnerConfig(max_grad_norm=None, **options))
    learner.update(batch)
    grads = [
        torch.zeros_like(p) if p.grad is None else p.grad.clone()
        for name, p in policy.named_parameters()
        if not name.startswith("value")
    ]
    policy.load_state_dict(state)
    return torch.cat([g.flatten() for g in grads])


def exact_gradient(policy: SkillPolicy) -> torch.Tensor:
    """Return the gradient of J = sum_a pi(a) r(a) by autograd through the whole expectation."""
    parameters = [p for name, p in policy.named_parameters() if not name.startswith("value")]
    rows = torch.from_numpy(ARMS).unsqueeze(0)
    p = torch.softmax(policy.net.logits(rows, torch.ones(1, 2, dtype=torch.bool)), dim=1)[0]
    grads = torch.autograd.grad((p * torch.tensor(ARM_REWARDS)).sum(), parameters)
    return torch.cat([g.flatten() for g in grads])


def bandit_policy() -> SkillPolicy:
    policy = SkillPolicy(2, hidden=4, seed=5)
    with torch.no_grad():
        policy.net.score.weight.mul_(20.0)
    return policy


def expected_gradient(policy: SkillPolicy, n: int, **options: Any) -> torch.Tensor:
    """Return the learner's expected gradient by enumerating all batches of n one-turn episodes."""
    p = policy.distribution(ARMS)
    total = torch.zeros(1)
    for arms in itertools.product(range(2), repeat=n):
        batch = [episode([sampled(policy, ARMS, a)], ARM_REWARDS[a]) for a in arms]
        weight = float(np.prod([p[a] for a in arms]))
        total = total + weight * gradient(policy, batch, **options)
    return total


@pytest.mark.parametrize(
    ("options", "n", "factor"),
    [
        ({"baseline": "none"}, 1, 1.0),
        ({"baseline": "none"}, 3, 1.0),
        ({"baseline": "value"}, 1, 1.0),
        ({"baseline": "value"}, 3, 1.0),
        # A mean that contains the sample itself shrinks the gradient by 1 - 1/n.
        ({"baseline": "batch_mean"}, 2, 1 / 2),
        ({"baseline": "batch_mean"}, 3, 2 / 3),
        ({"algorithm": "rloo"}, 2, 1.0),
        ({"algorithm": "rloo"}, 3, 1.0),
        ({"algorithm": "grpo", "scale_std": False}, 3, 2 / 3),
    ],
)
def test_expected_gradient_on_a_two_armed_bandit(
    options: dict[str, Any], n: int, factor: float
) -> None:
    policy = bandit_policy()
    exact = exact_gradient(policy)
    assert exact.norm() > 0.05
    expected = expected_gradient(policy, n, **options)
    torch.testing.assert_close(expected, -factor * exact, rtol=1e-4, atol=1e-6)


def test_importance_weights_make_old_data_unbiased_and_leaving_them_out_does_not() -> None:
    policy = bandit_policy()
    p, old = policy.distribution(ARMS), (0.3, 0.7)
    result = {}
    for cap in (100.0, None):
        total = torch.zeros(1)
        for arm in range(2):
            turn = Turn(action=arm, action_logprob=math.log(old[arm]), features=ARMS)
            batch = [episode([turn], ARM_REWARDS[arm])]
            total = total + old[arm] * gradient(policy, batch, baseline="none", importance_cap=cap)
        result[cap] = total
    assert abs(p[0] - old[0]) > 0.1
    torch.testing.assert_close(result[100.0], -exact_gradient(policy), rtol=1e-4, atol=1e-6)
    assert not torch.allclose(result[None], -exact_gradient(policy), rtol=0.05)


def naive_loss(policy: SkillPolicy, batch: list[Trajectory], config: LearnerConfig) -> float:
    """Recompute the loss of a first step by plain loops in double precision."""
    scored = [t for t in batch if t.reward and t.reward.total is not None]
    rewards = [t.reward.total for t in scored]  # type: ignore[union-attr]
    num_turns = sum(len(t.turns) for t in scored)
    loss = 0.0
    for b, trajectory in enumerate(scored):
        for k, turn in enumerate(trajectory.turns):
            mates = [
                r for r, t in zip(rewards, scored, strict=True) if t.task_id == trajectory.task_id
            ]
            assert trajectory.reward is not None and turn.features is not None
            gain = sum(trajectory.reward.per_turn[k:]) if config.use_per_turn else rewards[b]
            assert gain is not None
            if config.algorithm == "rloo":
                gain -= (sum(mates) - rewards[b]) / (len(mates) - 1)
            elif config.algorithm == "grpo":
                mean = sum(mates) / len(mates)
                var = sum((r - mean) ** 2 for r in mates) / (len(mates) - 1)
                gain = (gain - mean) / (math.sqrt(var) + 1e-4 if config.scale_std else 1.0)
            elif config.resolved_baseline == "batch_mean" and config.use_per_turn:
                peers = [
                    sum(t.reward.per_turn[k:])  # type: ignore[union-attr]
                    for t in scored
                    if len(t.turns) > k
                ]
                gain -= sum(peers) / len(peers)
            elif config.resolved_baseline == "batch_mean":
                gain -= sum(rewards) / len(rewards)
            elif config.resolved_baseline == "value":
                values = policy.evaluate([turn]).values
                assert values is not None
                loss += config.value_coef * (float(values.detach()) - gain) ** 2 / num_turns
                gain -= float(values.detach())
            p = policy.distribution(turn.features)
            lp = math.log(p[turn.action])
            assert turn.action_logprob is not None
            weight = min(math.exp(lp - turn.action_logprob), config.importance_cap or math.inf)
            scale = {
                "constant": 1 / (len(scored) * config.constant_length),
                "sequence": 1 / (len(scored) * len(trajectory.turns)),
                "token": 1 / num_turns,
            }[config.resolved_normaliser]
            # On the first step the clipped ratio to the proximal policy is 1.
            loss -= scale * weight * gain * (1.0 if config.uses_clip else lp)
            loss += config.entropy_coef * float((p * np.log(p)).sum()) / num_turns
    return loss


CONFIGS: list[dict[str, Any]] = [
    {"baseline": "none"},
    {"baseline": "batch_mean", "normaliser": "token"},
    {"baseline": "batch_mean", "use_per_turn": True, "normaliser": "sequence"},
    {"baseline": "value", "use_per_turn": True},
    {"baseline": "value", "entropy_coef": 0.1, "constant_length": 3.0},
    {"algorithm": "rloo"},
    {"algorithm": "grpo"},
    {"algorithm": "grpo", "scale_std": False, "normaliser": "constant", "importance_cap": 1.0},
]


@pytest.mark.parametrize("options", CONFIGS, ids=str)
def test_the_loss_equals_a_naive_loop(options: dict[str, Any]) -> None:
    policy = SkillPolicy(3, hidden=8, seed=0)
    with torch.no_grad():
        policy.net.score.weight.mul_(20.0)
    batch = random_batch(policy, 1)
    batch[4].reward = RewardReport(total=None, excluded="invalid_call")
    rng = np.random.default_rng(2)
    for trajectory in batch:  # the data is a little old
        for turn in trajectory.turns:
            assert turn.action_logprob is not None
            turn.action_logprob += float(rng.normal(scale=0.3))
    config = LearnerConfig(**options)
    expected = naive_loss(policy, batch, config)
    metrics = PolicyGradientLearner(policy, config).update(batch)
    assert metrics["train/loss"] == pytest.approx(expected, rel=1e-4, abs=1e-6)
    assert metrics["train/num_excluded"] == 1


@pytest.mark.parametrize("options", CONFIGS, ids=str)
def test_micro_batches_do_not_change_the_result(options: dict[str, Any]) -> None:
    weights = []
    for size in (None, 1, 5):
        policy = SkillPolicy(3, hidden=8, seed=0)
        batch = random_batch(policy, 1)
        config = LearnerConfig(microbatch_turns=size, epochs=2, **options)
        metrics = PolicyGradientLearner(policy, config).update(batch)
        weights.append((metrics, torch.cat([p.flatten() for _, p in policy.named_parameters()])))
    for metrics, vector in weights[1:]:
        torch.testing.assert_close(vector, weights[0][1], rtol=1e-3, atol=2e-5)
        assert metrics == pytest.approx(weights[0][0], rel=1e-3, abs=1e-5, nan_ok=True)


def test_equal_rewards_in_every_group_give_no_gradient() -> None:
    policy = SkillPolicy(3, hidden=8, seed=0)
    batch = random_batch(policy, 1)
    for g, trajectory in enumerate(batch):
        trajectory.reward = RewardReport(total=[0.1, 1.7][g // 3 % 2])
    for options in ({"algorithm": "grpo"}, {"algorithm": "rloo"}):
        assert gradient(policy, batch, **options).abs().max() < 1e-7  # type: ignore[arg-type]
    assert gradient(policy, batch, baseline="batch_mean").abs().max() > 1e-3


def test_group_methods_refuse_live_traffic_and_say_why() -> None:
    policy = SkillPolicy(2, seed=0)
    batch = [episode([sampled(policy, ARMS, 0)], 1.0, task=f"request-{i}") for i in range(3)]
    for algorithm in ("rloo", "grpo"):
        learner = PolicyGradientLearner(policy, LearnerConfig(algorithm=algorithm))
        with pytest.raises(ConfigError, match=r"Live traffic gives one answer per request"):
            learner.update(batch)
    assert policy.version == "v0"


def test_on_fresh_data_all_weights_are_one() -> None:
    policy = SkillPolicy(3, seed=0)
    metrics = PolicyGradientLearner(policy).update(random_batch(policy, 1))
    assert metrics["train/effective_sample_size"] == pytest.approx(12.0, rel=1e-4)
    assert metrics["train/mean_importance_weight"] == pytest.approx(1.0, rel=1e-5)
    assert metrics["train/behaviour_kl"] == pytest.approx(0.0, abs=1e-6)
    assert metrics["train/approx_kl"] > 0


def test_old_data_lowers_the_effective_sample_size() -> None:
    policy = SkillPolicy(3, seed=0)
    batch = random_batch(policy, 1)
    for b, trajectory in enumerate(batch):
        assert trajectory.turns[0].action_logprob is not None
        trajectory.turns[0].action_logprob -= 0.2 * b
    w = np.exp(0.2 * np.arange(12))
    metrics = PolicyGradientLearner(policy).update(batch)
    expected = w.sum() ** 2 / (w**2).sum()
    assert metrics["train/effective_sample_size"] == pytest.approx(expected, rel=1e-4)
    assert metrics["train/behaviour_kl"] > 0.01


def test_ratio_to_the_behaviour_policy_clips_old_data_and_decoupling_does_not() -> None:
    policy = SkillPolicy(2, seed=0)
    turn = sampled(policy, ARMS, 0)
    assert turn.action_logprob is not None
    turn.action_logprob -= 1.0  # the present policy takes this arm e times as often
    batch = [episode([turn], 1.0)]
    plain: dict[str, Any] = {"baseline": "none", "ratio_to": "behaviour"}
    assert gradient(policy, batch, **plain).abs().max() == 0
    decoupled: dict[str, Any] = {"baseline": "none", "epochs": 2, "importance_cap": 1.5}
    assert gradient(policy, batch, **decoupled).abs().max() > 1e-3
    learner = PolicyGradientLearner(policy, LearnerConfig(**plain))
    assert learner.update(batch)["train/clip_frac"] == 1.0


def test_the_clipped_share_counts_tokens_outside_the_range() -> None:
    policy = SkillPolicy(2, seed=0)
    batch = []
    for drift in (-1.0, -0.1, 0.0, 0.1, 1.0, 2.0, 0.15, -0.15):
        turn = sampled(policy, ARMS, 0)
        assert turn.action_logprob is not None
        turn.action_logprob -= drift
        batch.append(episode([turn], 1.0))
    for size in (None, 3):  # the ratio e^0.15 is inside [0.8, 1.2], e^1 and e^-1 are not
        config = LearnerConfig(baseline="none", ratio_to="behaviour", microbatch_turns=size)
        metrics = PolicyGradientLearner(SkillPolicy(2, seed=0), config).update(batch)
        assert metrics["train/clip_frac"] == pytest.approx(3 / 8)


def test_terminated_and_truncated_with_a_value_baseline() -> None:
    """A limit is judged as scored, or bootstrapped from the state it cut; an ending never is."""
    cases = {}
    final = np.array([[2.0, -1.0], [0.5, 3.0]], dtype=np.float32)
    for end in (EndReason.FAILED, EndReason.TRUNCATED_STEPS):
        for truncation in ("as_scored", "bootstrap"):
            policy = bandit_policy()
            values = policy.evaluate(
                [Turn(action=0, features=f) for f in (ARMS, ARMS[::-1].copy(), final)]
            ).values
            assert values is not None
            turns = [sampled(policy, ARMS, 0), sampled(policy, ARMS[::-1].copy(), 1)]
            batch = [
                episode(
                    turns,
                    2.0,
                    per_turn=[0.5, 1.5],
                    end=end,
                    extra={"final_features": final.tolist()},
                )
            ]
            config = LearnerConfig(baseline="value", use_per_turn=True, truncation=truncation)
            metrics = PolicyGradientLearner(policy, config).update(batch)
            v0, v1, v_final = values.tolist()
            bonus = v_final if end.is_truncated and truncation == "bootstrap" else 0.0
            expected = (abs(2.0 + bonus - v0) + abs(1.5 + bonus - v1)) / 2
            assert metrics["train/mean_abs_advantage"] == pytest.approx(expected, rel=1e-5)
            fit = ((2.0 + bonus - v0) ** 2 + (1.5 + bonus - v1) ** 2) / 2
            assert metrics["train/value_loss"] == pytest.approx(fit, rel=1e-5)
            cases[end, truncation] = expected
            policy = bandit_policy()
            config = LearnerConfig(baseline="value", truncation=truncation)
            metrics = PolicyGradientLearner(policy, config).update(batch)
            whole = (abs(2.0 + bonus - v0) + abs(2.0 + bonus - v1)) / 2
            assert metrics["train/mean_abs_advantage"] == pytest.approx(whole, rel=1e-5)
    assert cases[EndReason.TRUNCATED_STEPS, "bootstrap"] != pytest.approx(
        cases[EndReason.TRUNCATED_STEPS, "as_scored"], rel=1e-3
    )


def test_bootstrapping_without_a_final_state_is_refused() -> None:
    policy = SkillPolicy(2, seed=0)
    config = LearnerConfig(baseline="value", truncation="bootstrap")
    batch = [episode([sampled(policy, ARMS, 0)], 1.0, end=EndReason.TRUNCATED_TIME)]
    with pytest.raises(ConfigError, match="final_features"):
        PolicyGradientLearner(policy, config).update(batch)


def test_what_cannot_be_trained_on_is_left_out_and_counted() -> None:
    policy = SkillPolicy(2, seed=0)
    good = [sampled(policy, ARMS, 0), sampled(policy, ARMS, 1)]
    copied = sampled(policy, ARMS, 1)
    copied.is_copied_context = True
    by_someone_else = Turn(text="a turn with no recorded action")
    plain = [episode(good[:1], 1.0), episode(good[1:], 0.0)]
    mixed = [
        episode([copied, good[0], by_someone_else], 1.0),
        episode(good[1:], 0.0),
        episode([sampled(policy, ARMS, 1)], None),
        episode([sampled(policy, ARMS, 1)], -5.0, excluded="error_model"),
        Trajectory(id="x", task_id="t", source=Source.LIVE, end=EndReason.ERROR_SANDBOX),
    ]
    torch.testing.assert_close(gradient(policy, mixed), gradient(policy, plain))
    metrics = PolicyGradientLearner(policy).update(mixed)
    assert metrics["train/num_trajectories"] == 2
    assert metrics["train/num_excluded"] == 3
    assert metrics["train/num_turns"] == 2
    assert metrics["train/num_turns_left_out"] == 2
    assert metrics["train/mean_reward"] == 0.5


def test_if_everything_is_excluded_nothing_moves_and_the_metrics_say_so() -> None:
    policy = SkillPolicy(2, seed=0)
    before = policy.state_dict()["weights"]
    metrics = PolicyGradientLearner(policy).update([episode([sampled(policy, ARMS, 0)], None)])
    assert metrics["train/num_optimiser_steps"] == 0
    assert metrics["train/num_excluded"] == 1
    assert math.isnan(metrics["train/loss"])
    assert policy.version == "v0"
    for name, weight in policy.state_dict()["weights"].items():
        assert torch.equal(weight, before[name])
    assert set(metrics) == set(METRICS)


def test_metric_names_do_not_depend_on_the_algorithm() -> None:
    for options in CONFIGS:
        policy = SkillPolicy(3, seed=0)
        metrics = PolicyGradientLearner(policy, LearnerConfig(**options)).update(
            random_batch(policy, 1)
        )
        assert list(metrics) == list(METRICS)


def test_versions_move_on() -> None:
    assert next_version("v0") == "v1"
    assert next_version("tab-v9") == "tab-v10"
    assert next_version("base") == "base-v1"
    policy = SkillPolicy(3, seed=0, version="v41")
    learner = PolicyGradientLearner(policy)
    learner.update(random_batch(policy, 1))
    learner.update(random_batch(policy, 2))
    assert policy.version == "v43"


@pytest.mark.parametrize("options", [{}, {"epochs": 2, "minibatches": 3}], ids=str)
def test_seeds_fix_the_whole_run_and_a_restored_run_goes_on_the_same(
    options: dict[str, Any],
) -> None:
    def run(updates: int, policy: SkillPolicy, learner: PolicyGradientLearner) -> torch.Tensor:
        for _ in range(updates):
            learner.update(random_batch(policy, learner.num_updates))
        return torch.cat([p.detach().flatten().clone() for _, p in policy.named_parameters()])

    def fresh(seed: int = 0) -> tuple[SkillPolicy, PolicyGradientLearner]:
        policy = SkillPolicy(3, seed=seed)
        return policy, PolicyGradientLearner(policy, LearnerConfig(lr=0.05, **options))

    whole = run(6, *fresh())
    assert torch.equal(whole, run(6, *fresh()))
    assert not torch.equal(whole, run(6, *fresh(seed=1)))
    policy, learner = fresh()
    run(3, policy, learner)
    states = policy.state_dict(), learner.state_dict()
    other_policy, other_learner = fresh(seed=8)
    other_policy.load_state_dict(states[0])
    other_learner.load_state_dict(states[1])
    assert torch.equal(whole, run(3, other_policy, other_learner))


def test_minibatches_never_split_a_trajectory_and_cover_the_batch() -> None:
    policy = SkillPolicy(3, seed=0)
    config = LearnerConfig(epochs=2, minibatches=5)
    metrics = PolicyGradientLearner(policy, config).update(random_batch(policy, 1))
    assert metrics["train/num_optimiser_steps"] == 10
    learner = PolicyGradientLearner(policy, config)
    owner = torch.tensor([0, 0, 1, 2, 2, 2, 3, 4, 5, 5])
    parts = list(learner._minibatches(owner))
    for epoch in (parts[:5], parts[5:]):
        assert sorted(torch.cat(epoch).tolist()) == list(range(10))
        owners = [set(owner[rows].tolist()) for rows in epoch]
        assert sum(len(o) for o in owners) == 6


def test_a_damaged_weight_is_named_and_nothing_is_stepped() -> None:
    policy = SkillPolicy(2, seed=0)
    learner = PolicyGradientLearner(policy)
    batch = [episode([sampled(policy, ARMS, 0)], 1.0)]
    with torch.no_grad():
        policy.net.score.weight[0, 3] = math.nan
    with pytest.raises(ModelError, match=r"log-probabilities of policy `v0`.*NaN"):
        learner.update(batch)


def test_a_gradient_that_is_not_finite_is_named_by_its_parameter() -> None:
    policy = SkillPolicy(2, seed=0)
    learner = PolicyGradientLearner(policy, LearnerConfig(baseline="none"))
    batch = [episode([sampled(policy, ARMS, 0)], 1.0)]
    before = policy.state_dict()["weights"]
    bad = policy.net.score.weight.register_hook(lambda grad: grad * math.inf)
    with pytest.raises(ModelError, match=r"gradient of `score\.weight`"):
        learner.update(batch)
    bad.remove()
    assert torch.equal(policy.net.score.weight, before["score.weight"])
    assert policy.version == "v0"


def test_rewards_that_do_not_fit_are_refused() -> None:
    policy = SkillPolicy(2, seed=0)
    turns = [sampled(policy, ARMS, 0), sampled(policy, ARMS, 1)]
    per_turn = PolicyGradientLearner(policy, LearnerConfig(use_per_turn=True))
    with pytest.raises(RewardError, match="2 turns and 1 per-turn"):
        per_turn.update([episode(turns, 1.0, per_turn=[1.0])])
    with pytest.raises(RewardError, match="add up to 3"):
        per_turn.update([episode(turns, 1.0, per_turn=[1.0, 2.0])])
    with pytest.raises(RewardError, match="nan"):
        PolicyGradientLearner(policy).update([episode(turns, math.nan)])
    unscored = Trajectory(id="u", task_id="t", source=Source.LIVE, turns=turns)
    with pytest.raises(RewardError, match="`u` has no reward report"):
        PolicyGradientLearner(policy).update([unscored])


def test_missing_behaviour_logprobs_are_refused_unless_the_data_is_called_on_policy() -> None:
    policy = SkillPolicy(2, seed=0)
    batch = [episode([Turn(action=0, features=ARMS)], 1.0)]
    with pytest.raises(ConfigError, match="importance_cap=None"):
        PolicyGradientLearner(policy).update(batch)
    learner = PolicyGradientLearner(policy, LearnerConfig(importance_cap=None, baseline="none"))
    metrics = learner.update(batch)
    assert metrics["train/num_optimiser_steps"] == 1
    assert math.isnan(metrics["train/effective_sample_size"])


def test_a_reference_policy_holds_the_trained_one() -> None:
    policy, reference = SkillPolicy(2, hidden=4, seed=0), SkillPolicy(2, hidden=4, seed=0)
    config = LearnerConfig(baseline="none", kl_coef=5.0, lr=0.05)
    with pytest.raises(ConfigError, match="reference"):
        PolicyGradientLearner(policy, config)
    free = SkillPolicy(2, hidden=4, seed=0)
    learners = [
        (policy, PolicyGradientLearner(policy, config, reference=reference)),
        (free, PolicyGradientLearner(free, LearnerConfig(baseline="none", lr=0.05))),
    ]
    for trained, learner in learners:
        for _ in range(40):
            actions = trained.act([ARMS] * 32)
            metrics = learner.update(
                [
                    episode(
                        [Turn(action=a.value, action_logprob=a.logprob, features=ARMS)],
                        float(a.value == 0),
                    )
                    for a in actions
                ]
            )
    assert free.distribution(ARMS)[0] > 0.9
    # The maximum of p - 5 KL(p || 1/2) is at sigmoid(1 / 5) = 0.55.
    assert policy.distribution(ARMS)[0] == pytest.approx(0.55, abs=0.06)
    assert metrics["train/mean_reward"] > 0.8
    for (_, a), (_, b) in zip(
        reference.named_parameters(),
        SkillPolicy(2, hidden=4, seed=0).named_parameters(),
        strict=True,
    ):
        assert torch.equal(a, b)


@pytest.mark.parametrize(
    "options",
    [
        {"baseline": "none"},
        {"baseline": "batch_mean"},
        {"baseline": "value"},
        {"algorithm": "rloo"},
        {"algorithm": "grpo"},
        {"algorithm": "grpo", "epochs": 2, "minibatches": 2},
    ],
    ids=str,
)
def test_every_algorithm_solves_a_contextual_bandit(options: dict[str, Any]) -> None:
    """Three contexts, each with another best skill; 40 updates of 48 episodes."""
    contexts = [
        np.hstack([np.tile(np.eye(3)[c], (3, 1)), np.eye(3)]).astype(np.float32) for c in range(3)
    ]
    policy = SkillPolicy(6, hidden=16, seed=2)
    learner = PolicyGradientLearner(policy, LearnerConfig(lr=0.05, **options))
    start = min(policy.distribution(contexts[c])[(c + 1) % 3] for c in range(3))
    for _ in range(40):
        which = [c for c in range(3) for _ in range(16)]
        actions = policy.act([contexts[c] for c in which])
        learner.update(
            [
                episode(
                    [Turn(action=a.value, action_logprob=a.logprob, features=contexts[c])],
                    float(a.value == (c + 1) % 3),
                    task=f"context-{c}",
                )
                for c, a in zip(which, actions, strict=True)
            ]
        )
    assert start < 0.4
    assert min(policy.distribution(contexts[c])[(c + 1) % 3] for c in range(3)) > 0.9


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"algorithm": "reinforc"}, "reinforce"),
        ({"algorithm": "grpo", "baseline": "value"}, "`group`"),
        ({"baseline": "group"}, "`batch_mean`"),
        ({"algorithm": "grpo", "use_per_turn": True}, "use_per_turn"),
        ({"truncation": "bootstrap"}, "baseline='value'"),
        ({"truncation": "ignore"}, "as_scored"),
        ({"normaliser": "mean"}, "sequence"),
        ({"kl_estimator": "k1"}, "expected gradient of zero"),
        ({"lr": 0.0}, "`lr` is 0.0"),
        ({"lr": math.nan}, "`lr` is nan"),
        ({"entropy_coef": -1.0}, "`entropy_coef` is -1.0"),
        ({"minibatches": 0}, "`minibatches` is 0"),
        ({"clip_low": 1.0}, "clip_low"),
        ({"importance_cap": 0.5}, "importance_cap"),
        ({"max_grad_norm": 0.0}, "max_grad_norm"),
        ({"importance_level": "sequence"}, "sequence_sum"),
        ({"ratio_to": "old"}, "proximal"),
    ],
    ids=str,
)
def test_wrong_options_are_refused_in_words(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        LearnerConfig(**options)


def test_the_estimator_is_named_in_a_sentence() -> None:
    policy = SkillPolicy(2, seed=0)
    assert PolicyGradientLearner(policy).estimator == (
        "REINFORCE: advantage = reward of the trajectory minus the batch mean; importance weights "
        "per token, truncated at 2; sum over the tokens of a trajectory, then mean over "
        "trajectories."
    )
    config = LearnerConfig(algorithm="grpo", importance_cap=None, entropy_coef=0.01)
    assert config.estimator == (
        "GRPO: advantage = reward of the trajectory minus the mean of its group, divided by the "
        "group's standard deviation; ratio to the proximal policy clipped to [0.8, 1.2]; no "
        "importance weights; mean over the tokens of a trajectory, then over trajectories; "
        "entropy bonus 0.01."
    )


def test_a_value_baseline_needs_values() -> None:
    class NoValues(SkillPolicy):
        def evaluate(self, turns: Any) -> Any:
            evaluation = super().evaluate(turns)
            evaluation.values = None
            return evaluation

    policy = NoValues(2, seed=0)
    learner = PolicyGradientLearner(policy, LearnerConfig(baseline="value"))
    with pytest.raises(ConfigError, match="NoValues has none"):
        learner.update([episode([sampled(policy, ARMS, 0)], 1.0)])


def test_a_failure_after_a_first_step_still_moves_the_version() -> None:
    """Half an update has changed the weights, so the old version name would be a lie."""
    policy = SkillPolicy(3, seed=0)
    learner = PolicyGradientLearner(policy, LearnerConfig(epochs=2))
    batch = random_batch(policy, 1)
    calls: list[int] = []

    def poison(grad: torch.Tensor) -> torch.Tensor:
        calls.append(1)
        return grad if len(calls) == 1 else grad * math.nan

    policy.net.score.weight.register_hook(poison)
    with pytest.raises(ModelError, match="score"):
        learner.update(batch)
    assert len(calls) == 2
    assert policy.version == "v1"

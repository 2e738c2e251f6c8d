"""The learner: one policy-gradient update from scored trajectories, whatever their source.

Legend: B trajectories, N turns, T tokens (T = 1 where an action is one skill).

Left out of an update, and counted: trajectories without a reward (excluded), turns copied from an
earlier trajectory, turns without a recorded action. Not covered: replay buffers and several
devices.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..errors import ConfigError
from ..trajectory import Trajectory, Turn
from . import credit, losses
from .learner_config import LearnerConfig
from .trainable import Evaluation, TrainablePolicy, evaluate_in_parts, require_finite

METRICS: dict[str, str] = {
    "train/loss": "total loss, mean over optimiser steps",
    "train/policy_loss": "policy part of the loss",
    "train/value_loss": "mean squared error of the value head",
    "train/reference_kl": "KL estimate to the reference policy (kl_estimator)",
    "train/entropy": "mean entropy per turn before the update, nats",
    "train/grad_norm": "L2 norm of the gradient before clipping, mean over optimiser steps",
    "train/clip_frac": "share of tokens whose ratio lay outside the clip range",
    "train/approx_kl": "k3 estimate of KL(before || after) the update, mean over tokens",
    "train/behaviour_kl": "k3 estimate of KL(behaviour || before the update), mean over tokens",
    "train/mean_importance_weight": "mean truncated importance weight over tokens",
    "train/effective_sample_size": "(sum w)^2 / sum w^2 over trajectories, w not truncated",
    "train/mean_reward": "mean reward of the scored trajectories",
    "train/mean_abs_advantage": "mean |A| over trained turns",
    "train/num_trajectories": "scored trajectories in the batch",
    "train/num_excluded": "trajectories without a reward",
    "train/num_turns": "turns trained on",
    "train/num_turns_left_out": "turns of scored trajectories not trained on",
    "train/num_optimiser_steps": "optimiser steps taken; 0 if there was nothing to learn from",
}
"""Every metric of `update` with its meaning. NaN: there was nothing to measure it on."""


@dataclass(slots=True, kw_only=True)
class _Data:
    """One batch as tensors, in the order of `turns`."""

    turns: list[Turn]
    trajectory: Tensor  # (N,) int
    advantages: Tensor  # (N,)
    returns: Tensor  # (N,)
    proximal: Tensor  # (N, T)
    behaviour: Tensor | None  # (N, T)
    importance: Tensor | None  # (N, T)
    reference: Tensor | None  # (N, T)
    mask: Tensor  # (N, T) bool
    next_version: str


class PolicyGradientLearner:
    """REINFORCE, RLOO or GRPO with Adam.

    Args:
        policy: the policy to change, in place; its `version` moves on with every update.
        config: what to do; by default REINFORCE with a batch-mean baseline.
        reference: the policy that `kl_coef` holds the trained one close to; never changed.

    Raises:
        ConfigError: the config and the policies do not go together.
    """

    def __init__(
        self,
        policy: TrainablePolicy,
        config: LearnerConfig | None = None,
        *,
        reference: TrainablePolicy | None = None,
    ) -> None:
        self.policy = policy
        self.config = config or LearnerConfig()
        self.reference = reference
        if self.config.kl_coef and reference is None:
            raise ConfigError(
                f"kl_coef is {self.config.kl_coef} but there is no reference policy; pass "
                "reference=... (a frozen copy of the starting policy), or kl_coef=0."
            )
        self._named = [(n, p) for n, p in policy.named_parameters() if p.requires_grad]
        self._optimiser = torch.optim.Adam(
            [p for _, p in self._named], lr=self.config.lr, eps=self.config.adam_eps
        )
        self._generator = torch.Generator().manual_seed(self.config.seed)
        self.num_updates = 0

    @property
    def estimator(self) -> str:
        """One sentence that names the gradient estimator, for reports."""
        return self.config.estimator

    def update(self, batch: Sequence[Trajectory]) -> dict[str, float]:
        """Learn from one batch and return the metrics listed in `METRICS`.

        If no trajectory has a reward, or none has a turn to train on, no step is taken and the
        version stays.

        Raises:
            ConfigError: the config cannot be applied to these trajectories.
            RewardError: a trajectory was not scored, or its reward does not fit its turns.
            ModelError: a number is NaN or infinite; the message names the first such tensor.
        """
        scored = [t for t in batch if credit.is_scored(t)]
        places = [
            (b, k)
            for b, trajectory in enumerate(scored)
            for k, turn in enumerate(trajectory.turns)
            if not turn.is_copied_context and self.policy.can_evaluate(turn)
        ]
        metrics = dict.fromkeys(METRICS, math.nan)
        metrics["train/num_trajectories"] = float(len(scored))
        metrics["train/num_excluded"] = float(len(batch) - len(scored))
        metrics["train/num_turns"] = float(len(places))
        num_turns = sum(len(trajectory.turns) for trajectory in scored)
        metrics["train/num_turns_left_out"] = float(num_turns - len(places))
        metrics["train/num_optimiser_steps"] = 0.0
        if scored:
            metrics["train/mean_reward"] = float(np.mean([credit.total_reward(t) for t in scored]))
        if places:
            data = self._prepare(batch, scored, places, metrics)
            self._optimise(data, metrics)
            self.num_updates += 1
            after = self._evaluate(self.policy, data.turns)
            metrics["train/approx_kl"] = _mean_k3(data.proximal, after.logprobs, data.mask)
        return metrics

    def state_dict(self) -> dict[str, Any]:
        """Return the optimiser's and the shuffling's state (the policy has its own)."""
        return {
            "optimiser": self._optimiser.state_dict(),
            "generator": self._generator.get_state(),
            "num_updates": self.num_updates,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned; the learning rate is that of this config."""
        self._optimiser.load_state_dict(state["optimiser"])
        for group in self._optimiser.param_groups:
            group["lr"] = self.config.lr
        self._generator.set_state(state["generator"])
        self.num_updates = int(state["num_updates"])

    def _prepare(
        self,
        batch: Sequence[Trajectory],
        scored: Sequence[Trajectory],
        places: Sequence[tuple[int, int]],
        metrics: dict[str, float],
    ) -> _Data:
        """Evaluate the batch under the present weights and turn rewards into advantages."""
        turns = [scored[b].turns[k] for b, k in places]
        before = self._evaluate(self.policy, turns)
        device = before.logprobs.device
        behaviour = self._behaviour(turns, before.mask)
        if self.config.resolved_baseline == "value" and before.values is None:
            raise ConfigError(
                f"baseline='value' needs a value head and {type(self.policy).__name__} has none; "
                "use baseline='none' or 'batch_mean'."
            )
        values = None if before.values is None else before.values.cpu().numpy()
        finals = {b: self._final_value(scored[b]) for b in {b for b, _ in places}}
        returns = credit.turn_returns(scored, places, self.config, finals)
        gains = credit.turn_advantages(batch, places, self.config, returns, values)
        data = _Data(
            turns=turns,
            trajectory=torch.tensor([b for b, _ in places], device=device),
            advantages=torch.as_tensor(gains, dtype=torch.float32, device=device),
            returns=torch.as_tensor(returns, dtype=torch.float32, device=device),
            proximal=before.logprobs,
            behaviour=behaviour,
            importance=self._importance(before, behaviour),
            reference=None,
            mask=before.mask,
            next_version=next_version(self.policy.version),
        )
        if self.config.kl_coef and self.reference is not None:
            data.reference = self._evaluate(self.reference, turns).logprobs.to(device)
        metrics["train/entropy"] = float(before.entropy.mean())
        metrics["train/mean_abs_advantage"] = float(data.advantages.abs().mean())
        self._measure_staleness(data, metrics)
        return data

    def _measure_staleness(self, data: _Data, metrics: dict[str, float]) -> None:
        """Record how far the data is from the present policy, if it says who sampled it."""
        if data.behaviour is None:
            return
        log_ratio = (data.proximal - data.behaviour).masked_fill(~data.mask, 0.0).double()
        whole = torch.zeros(int(data.trajectory.max()) + 1, dtype=torch.float64)
        whole = whole.index_add(0, data.trajectory.cpu(), log_ratio.sum(dim=1).cpu())
        metrics["train/effective_sample_size"] = losses.effective_sample_size(
            whole[torch.unique(data.trajectory.cpu())]
        )
        metrics["train/behaviour_kl"] = _mean_k3(data.behaviour, data.proximal, data.mask)
        if data.importance is not None:
            metrics["train/mean_importance_weight"] = float(data.importance[data.mask].mean())

    def _importance(self, before: Evaluation, behaviour: Tensor | None) -> Tensor | None:
        """Return importance weights from behaviour to proximal policy, if the config wants them."""
        cap = self.config.importance_cap
        if cap is None or behaviour is None or self.config.ratio_to == "behaviour":
            return None
        level = self.config.importance_level
        return losses.tis_weights(before.logprobs, behaviour, before.mask, cap=cap, level=level)

    def _behaviour(self, turns: Sequence[Turn], mask: Tensor) -> Tensor | None:
        """Return (N, T) log-probabilities as sampled; None if unknown and not needed."""
        needed = self.config.importance_cap is not None or self.config.ratio_to == "behaviour"
        rows = np.zeros(mask.shape, dtype=np.float32)
        for i, (turn, length) in enumerate(zip(turns, mask.sum(dim=1).tolist(), strict=True)):
            sampled = turn.logprobs
            if self.policy.observes == "features":
                sampled = None if turn.action_logprob is None else [turn.action_logprob]
            if sampled is None and not needed:
                return None
            if sampled is None or len(sampled) != length:
                given = "no" if sampled is None else f"{len(sampled)}"
                raise ConfigError(
                    f"turn {i} of the batch has {given} behaviour log-probabilities for {length} "
                    "actions or tokens; importance weights and ratios need one each, as sampled. "
                    "Record them, or set importance_cap=None and ratio_to='proximal' to treat the "
                    "data as on-policy."
                )
            rows[i, :length] = sampled
        behaviour = torch.from_numpy(rows)
        require_finite("behaviour log-probabilities", behaviour)
        return behaviour.to(mask.device)

    def _final_value(self, trajectory: Trajectory) -> float:
        """Return the value of the state that a limit cut, 0 if the episode ended by itself."""
        if self.config.truncation != "bootstrap" or not trajectory.end.is_truncated:
            return 0.0
        features = trajectory.extra.get("final_features")
        if features is None:
            raise ConfigError(
                f"trajectory `{trajectory.id}` was truncated ({trajectory.end.value}) and has no "
                "`extra['final_features']`, so there is no state to bootstrap from; have the "
                "rollout record it, or set truncation='as_scored'."
            )
        # The action does not enter the value of the state.
        last = Turn(action=0, features=np.asarray(features, dtype=np.float32))
        values = self._evaluate(self.policy, [last]).values
        assert values is not None  # a policy without values was refused before
        return float(values[0])

    def _evaluate(self, policy: TrainablePolicy, turns: Sequence[Turn]) -> Evaluation:
        """Evaluate recorded turns without gradients."""
        return evaluate_in_parts(policy, turns, self.config.microbatch_turns or len(turns))

    def _optimise(self, data: _Data, metrics: dict[str, float]) -> None:
        """Take the optimiser steps and record their mean losses."""
        steps = [self._step(data, rows) for rows in self._minibatches(data.trajectory.cpu())]
        for name in steps[0]:
            metrics[name] = float(np.mean([step[name] for step in steps]))
        metrics["train/num_optimiser_steps"] = float(len(steps))

    def _minibatches(self, trajectory: Tensor) -> Iterator[Tensor]:
        """Yield the turn rows of each optimiser step; a trajectory is never split."""
        owners = torch.unique(trajectory)
        for _ in range(self.config.epochs):
            if self.config.minibatches == 1:
                yield torch.arange(len(trajectory))
                continue
            order = owners[torch.randperm(len(owners), generator=self._generator)]
            for part in order.tensor_split(min(self.config.minibatches, len(owners))):
                yield torch.nonzero(torch.isin(trajectory, part)).squeeze(1)

    def _step(self, data: _Data, rows: Tensor) -> dict[str, float]:
        """Accumulate the gradient over the turns `rows` and take one optimiser step."""
        self._optimiser.zero_grad(set_to_none=True)
        weights = losses.token_weights(
            data.mask[rows],
            data.trajectory[rows],
            self.config.resolved_normaliser,
            constant_length=self.config.constant_length,
        )
        sums: dict[str, float] = {}
        size = self.config.microbatch_turns or len(rows)
        num_tokens = int((weights != 0).sum())
        for start in range(0, len(rows), size):
            part = slice(start, start + size)
            terms = self._terms(data, rows[part], weights[part], len(rows), num_tokens)
            require_finite("loss", terms["train/loss"].detach())
            terms["train/loss"].backward()  # type: ignore[no-untyped-call]
            for name, term in terms.items():
                sums[name] = sums.get(name, 0.0) + float(term.detach())
        for name, parameter in self._named:
            if parameter.grad is not None:
                require_finite(f"gradient of `{name}`", parameter.grad)
        limit = self.config.max_grad_norm
        norm = torch.nn.utils.clip_grad_norm_(
            [p for _, p in self._named], math.inf if limit is None else limit
        )
        self._optimiser.step()
        # At once: if a later step of this update fails, these are no longer the old weights.
        self.policy.version = data.next_version
        sums["train/grad_norm"] = float(norm)
        return sums

    def _terms(
        self, data: _Data, rows: Tensor, weights: Tensor, num_turns: int, num_tokens: int
    ) -> dict[str, Tensor]:
        """Return the parts of the loss on some turns, by metric.

        `num_turns` and `num_tokens` are those of the whole minibatch, so that parts add up to it.
        """
        config = self.config
        now = self.policy.evaluate([data.turns[i] for i in rows.tolist()])
        require_finite("log-probabilities of the policy", now.logprobs.detach())
        width = now.logprobs.shape[1]
        weights = weights[:, :width]
        terms = self._policy_term(data, rows, weights, now.logprobs, num_tokens)
        loss = terms["train/policy_loss"]
        if config.entropy_coef:
            loss = loss - config.entropy_coef * losses.entropy_bonus(now.entropy, num_turns)
        if config.resolved_baseline == "value" and now.values is not None:
            fit = losses.value_loss(now.values, data.returns[rows], num_turns)
            loss, terms["train/value_loss"] = loss + config.value_coef * fit, fit
        if data.reference is not None:
            reference = data.reference[rows, :width]
            kl = losses.kl_loss(now.logprobs, reference, weights, config.kl_estimator)
            loss, terms["train/reference_kl"] = loss + config.kl_coef * kl, kl
        terms["train/loss"] = loss
        return terms

    def _policy_term(
        self, data: _Data, rows: Tensor, weights: Tensor, logprobs: Tensor, num_tokens: int
    ) -> dict[str, Tensor]:
        """Return the policy loss of some turns and, for the surrogate, their clipped share."""
        config, gains, width = self.config, data.advantages[rows], logprobs.shape[1]
        importance = None if data.importance is None else data.importance[rows, :width]
        if not config.uses_clip:
            loss = losses.reinforce_loss(logprobs, gains, weights, importance)
            return {"train/policy_loss": loss}
        anchor = data.behaviour if config.ratio_to == "behaviour" else data.proximal
        assert anchor is not None  # `_behaviour` raises where it is needed and missing
        low, high = config.clip_low, config.clip_high
        anchor = anchor[rows, :width]
        loss = losses.clipped_surrogate_loss(
            logprobs, anchor, gains, weights, clip_low=low, clip_high=high, importance=importance
        )
        ratio = torch.exp(logprobs.detach() - anchor)
        outside = ((ratio < 1 - low) | (ratio > 1 + high)) & (weights != 0)
        return {"train/policy_loss": loss, "train/clip_frac": outside.sum() / num_tokens}


def next_version(version: str) -> str:
    """Return the version after this one: `v3` -> `v4`, `base` -> `base-v1`."""
    match = re.fullmatch(r"(.*?)(\d+)", version, flags=re.DOTALL)
    return f"{match[1]}{int(match[2]) + 1}" if match else f"{version}-v1"


def _mean_k3(sampled: Tensor, other: Tensor, mask: Tensor) -> float:
    """Return the k3 estimate of KL(sampled || other), mean over counted tokens."""
    return float(losses.kl_estimate(sampled, other, "k3")[mask].mean())

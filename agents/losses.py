"""Policy-gradient losses as pure functions of tensors.

Legend: B trajectories, N turns, T tokens (T = 1 where an action is one skill). lp = log-probability
under the current weights, lp_prox = under the weights at the start of the update (proximal policy),
lp_beh = under the weights that sampled the data (behaviour policy); all (N, T), natural log.

Every loss is a weighted sum over tokens. The weights come from `token_weights`, are 0 on padding,
and hold the whole question of normalisation; so a batch may be processed in parts whose losses add
up. What stands at padded positions (even NaN) changes neither a loss nor a gradient.

Not covered: sequence-level ratios (GSPO) and losses whose gradient passes the clip (CISPO).
"""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor

from ..errors import ConfigError, unknown_name

Normaliser = Literal["sequence", "token", "constant"]
KlEstimator = Literal["k1", "k2", "k3"]
RatioLevel = Literal["token", "sequence_sum", "sequence_mean"]

NORMALISERS: tuple[str, ...] = ("sequence", "token", "constant")
KL_ESTIMATORS: tuple[str, ...] = ("k1", "k2", "k3")
RATIO_LEVELS: tuple[str, ...] = ("token", "sequence_sum", "sequence_mean")


def token_weights(
    mask: Tensor, trajectory: Tensor, normaliser: str, *, constant_length: float = 1.0
) -> Tensor:
    """Return the weight of each token in a loss, (N, T) float; 0 where `mask` is False.

    - `sequence`: mean over the tokens of a trajectory, then over trajectories (GRPO). A token of a
      long answer counts less than one of a short answer.
    - `token`: mean over all tokens of the batch (DAPO). A long answer counts more.
    - `constant`: sum over a trajectory divided by `constant_length`, then mean over trajectories
      (Dr.GRPO). With length 1 it is the policy gradient of the expected reward itself.

    Args:
        mask: (N, T) bool, True = counts.
        trajectory: (N,) integer, which trajectory each turn belongs to.
        normaliser: one of `NORMALISERS`.
        constant_length: tokens, for `constant` only.

    Raises:
        ConfigError: the normaliser is unknown.
    """
    counts = mask.to(torch.float32)
    _, index = torch.unique(trajectory, return_inverse=True)
    num_trajectories = int(index.max()) + 1 if index.numel() else 1
    if normaliser == "constant":
        return counts / (num_trajectories * constant_length)
    if normaliser == "token":
        return counts / counts.sum().clamp(min=1.0)
    if normaliser == "sequence":
        lengths = torch.zeros(num_trajectories, device=mask.device)
        lengths = lengths.index_add(0, index, counts.sum(dim=1)).clamp(min=1.0)
        return counts / (lengths[index].unsqueeze(1) * num_trajectories)
    raise unknown_name("normaliser", normaliser, NORMALISERS)


def reinforce_loss(
    logprobs: Tensor, advantages: Tensor, weights: Tensor, importance: Tensor | None = None
) -> Tensor:
    """Return -sum weights * importance * A * lp, a scalar.

    Args:
        logprobs: (N, T) lp, with gradient.
        advantages: (N,) A of each turn, constant.
        weights: (N, T) from `token_weights`.
        importance: (N, T) constant importance weights, for data of another policy.

    Reference: Williams 1992.
    """
    active = weights != 0
    terms = _blank(logprobs, active) * advantages.detach().unsqueeze(1)
    return -(terms * _importance(importance, active) * weights).sum()


def clipped_surrogate_loss(
    logprobs: Tensor,
    proximal: Tensor,
    advantages: Tensor,
    weights: Tensor,
    *,
    clip_low: float = 0.2,
    clip_high: float = 0.2,
    importance: Tensor | None = None,
) -> Tensor:
    """Return -sum weights * importance * min(rho A, clip(rho, 1 - low, 1 + high) A), a scalar.

    rho = exp(lp - lp_prox). With lp_beh in place of `proximal` and no `importance` this is PPO as
    first published; with lp_prox and `importance` = truncated exp(lp_prox - lp_beh) it is the
    decoupled form, whose trust region moves with the trainer and not with the age of the data.

    Reference: Schulman et al. 2017, arXiv 1707.06347; Hilton et al. 2021, arXiv 2110.00641.
    """
    active = weights != 0
    ratio = torch.exp(_blank(logprobs, active) - _blank(proximal.detach(), active))
    gain = advantages.detach().unsqueeze(1)
    clipped = ratio.clamp(1.0 - clip_low, 1.0 + clip_high)
    surrogate = torch.minimum(ratio * gain, clipped * gain)
    return -(surrogate * _importance(importance, active) * weights).sum()


def tis_weights(
    target: Tensor, behaviour: Tensor, mask: Tensor, *, cap: float, level: str = "token"
) -> Tensor:
    """Return truncated importance weights min(exp(x), cap), (N, T), constant; 0 on padding.

    `token` takes x = target - behaviour of each token. `sequence_sum` and `sequence_mean` give all
    tokens of a turn one weight, from the sum or the mean of x over the turn; libraries mean either
    by "sequence level", so both are named here.

    Args:
        target: (N, T) log-probabilities of the policy to correct to (current or proximal).
        behaviour: (N, T) log-probabilities as sampled.
        mask: (N, T) bool, True = counts.
        cap: largest weight, at least 1; truncation trades variance for bias.
        level: one of `RATIO_LEVELS`.

    Raises:
        ConfigError: the cap is below 1 or the level unknown.

    Reference: Ionides 2008 (truncated importance sampling).
    """
    if cap < 1.0:
        raise ConfigError(f"importance cap is {cap}; it must be at least 1, the on-policy weight.")
    log_ratio = _blank(target.detach() - behaviour, mask)
    if level == "token":
        x = log_ratio
    elif level in ("sequence_sum", "sequence_mean"):
        total = log_ratio.sum(dim=1, keepdim=True)
        count = mask.sum(dim=1, keepdim=True).clamp(min=1)
        x = (total if level == "sequence_sum" else total / count).expand_as(log_ratio)
    else:
        raise unknown_name("importance level", level, RATIO_LEVELS)
    return torch.exp(x.clamp(max=math.log(cap))) * mask


def kl_estimate(logprobs: Tensor, reference: Tensor, kind: str) -> Tensor:
    """Estimate KL(current || reference) at samples of the current policy, token by token, (N, T).

    With d = lp - lp_ref: k1 = d (unbiased, may be negative), k2 = d^2 / 2 (biased, small variance),
    k3 = exp(-d) - 1 + d (unbiased, never negative). These are statements about the *value*. As a
    loss term, k1 has an expected gradient of zero and k2 exactly the gradient of the KL divergence.

    Raises:
        ConfigError: the estimator is unknown.

    Reference: Schulman 2020, "Approximating KL divergence" (note).
    """
    d = logprobs - reference
    if kind == "k1":
        return d
    if kind == "k2":
        return 0.5 * d.square()
    if kind == "k3":
        return torch.expm1(-d) + d
    raise unknown_name("KL estimator", kind, KL_ESTIMATORS)


def kl_loss(logprobs: Tensor, reference: Tensor, weights: Tensor, kind: str) -> Tensor:
    """Return the weighted sum of `kl_estimate` over tokens, a scalar."""
    active = weights != 0
    lp, ref = _blank(logprobs, active), _blank(reference.detach(), active)
    return (kl_estimate(lp, ref, kind) * weights).sum()


def entropy_bonus(entropy: Tensor, num_turns: int) -> Tensor:
    """Return the sum of (N,) entropies over `num_turns`, the turns of the whole batch."""
    return entropy.sum() / num_turns


def value_loss(values: Tensor, returns: Tensor, num_turns: int) -> Tensor:
    """Return the sum of (V - G)^2 over `num_turns`, the turns of the whole batch; G constant."""
    return (values - returns.detach()).square().sum() / num_turns


def effective_sample_size(log_weights: Tensor) -> float:
    """Return (sum w)^2 / sum w^2 for (B,) log importance weights of whole trajectories.

    It lies in [1, B]; B means on-policy. Computed from logarithms, since whole-trajectory ratios
    overflow. 0.0 if there are none.

    Reference: Kong 1992.
    """
    if not log_weights.numel():
        return 0.0
    logs = log_weights.detach().to(torch.float64)
    return float(torch.exp(2 * torch.logsumexp(logs, 0) - torch.logsumexp(2 * logs, 0)))


def _blank(x: Tensor, mask: Tensor) -> Tensor:
    """Put 0 where the mask is False, so that padding reaches neither value nor gradient."""
    return x.masked_fill(~mask, 0.0)


def _importance(importance: Tensor | None, active: Tensor) -> Tensor:
    """Return constant importance weights with padding blanked; ones if there are none."""
    if importance is None:
        return torch.ones_like(active, dtype=torch.float32)
    return _blank(importance.detach(), active)

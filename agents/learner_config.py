"""What a policy-gradient learner does, as one frozen value that can be printed and checked."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from ..errors import ConfigError, unknown_name
from .losses import KL_ESTIMATORS, NORMALISERS, RATIO_LEVELS

ALGORITHMS: dict[str, tuple[str, ...]] = {
    "reinforce": ("batch_mean", "none", "value"),
    "rloo": ("group",),
    "grpo": ("group",),
}
"""Algorithm to the baselines that go with it; the first is the default."""


@dataclass(slots=True, kw_only=True, frozen=True)
class LearnerConfig:
    """Options of `PolicyGradientLearner`. Every combination is checked when it is made.

    Raises:
        ConfigError: an option is out of range, or two of them contradict each other.
    """

    algorithm: Literal["reinforce", "rloo", "grpo"] = "reinforce"
    baseline: Literal["none", "batch_mean", "value", "group"] | None = None
    """What a reward is compared with; None takes the algorithm's own (`batch_mean`, or `group`)."""
    normaliser: Literal["sequence", "token", "constant"] | None = None
    """See `losses.token_weights`; None takes `sequence` for grpo and `constant` otherwise."""
    constant_length: float = 1.0
    """Divisor of the `constant` normaliser, in tokens; 1 gives the policy gradient itself."""
    scale_std: bool = True
    """grpo: divide advantages by the standard deviation of their group (False: Dr.GRPO)."""
    use_per_turn: bool = False
    """Credit each turn with the rewards from it onwards instead of the whole trajectory's."""
    truncation: Literal["as_scored", "bootstrap"] = "as_scored"
    """What a limit at the end means. `as_scored`: the limit belongs to the task and the reward has
    judged it. `bootstrap` (value baseline only): the session would have gone on, so the value of
    the state it was cut in, from `extra["final_features"]`, is added to the return. Bootstrapping
    softens the charge for running out of steps, which a policy can learn to use."""
    lr: float = 1e-2
    """Learning rate of Adam."""
    adam_eps: float = 1e-5
    """Adam's epsilon. Where advantages cancel (groups with equal rewards), the gradient is rounding
    noise, and the usual 1e-8 would divide that by itself and walk at full speed in a random
    direction. With a batch mean they do not cancel, and a smaller value lets rare actions move."""
    entropy_coef: float = 0.0
    value_coef: float = 0.5
    """Weight of the value loss; used with the value baseline only."""
    kl_coef: float = 0.0
    """Weight of the KL penalty towards the reference policy."""
    kl_estimator: Literal["k1", "k2", "k3"] = "k2"
    """k1 is refused: as a loss term its expected gradient is zero."""
    clip_low: float = 0.2
    clip_high: float = 0.2
    """The ratio is clipped to [1 - clip_low, 1 + clip_high] by grpo, and by any algorithm that
    takes several optimiser steps on one batch."""
    ratio_to: Literal["proximal", "behaviour"] = "proximal"
    """What the clipped ratio is taken to: the weights at the start of the update (decoupled), or
    those that sampled the data, however old (PPO as first published)."""
    importance_cap: float | None = 2.0
    """Cap of the importance weight from behaviour to proximal policy; None leaves it out. On fresh
    data the weight is 1."""
    importance_level: Literal["token", "sequence_sum", "sequence_mean"] = "token"
    epochs: int = 1
    """Passes over the batch."""
    minibatches: int = 1
    """Optimiser steps per pass; trajectories are shuffled and split between them."""
    microbatch_turns: int | None = None
    """Most turns in one forward pass; saves memory and does not change the result."""
    max_grad_norm: float | None = 1.0
    """Gradients with a larger L2 norm are scaled down to it; None leaves them alone."""
    seed: int = 0
    """Seeds the shuffling into minibatches."""

    def __post_init__(self) -> None:
        """Check each option, then the combinations."""
        self._check_names()
        self._check_ranges()
        self._check_combinations()

    @property
    def resolved_baseline(self) -> str:
        """The baseline in use, with the default filled in."""
        return self.baseline or ALGORITHMS[self.algorithm][0]

    @property
    def resolved_normaliser(self) -> str:
        """The normaliser in use, with the default filled in."""
        return self.normaliser or ("sequence" if self.algorithm == "grpo" else "constant")

    @property
    def uses_clip(self) -> bool:
        """True if the loss is the clipped surrogate and not plain REINFORCE."""
        return (
            self.algorithm == "grpo"
            or self.epochs * self.minibatches > 1
            or self.ratio_to == "behaviour"
        )

    @property
    def estimator(self) -> str:
        """One sentence that names the gradient estimator, for reports."""
        parts = [f"{self.algorithm.upper()}: advantage = {self._advantage_words()}"]
        if self.uses_clip:
            low, high = 1 - self.clip_low, 1 + self.clip_high
            parts.append(f"ratio to the {self.ratio_to} policy clipped to [{low:g}, {high:g}]")
        if self.importance_cap is not None and self.ratio_to == "proximal":
            level = self.importance_level.replace("_", " ")
            parts.append(f"importance weights per {level}, truncated at {self.importance_cap:g}")
        else:
            parts.append("no importance weights")
        parts.append(self._normaliser_words())
        if self.kl_coef:
            parts.append(f"KL penalty {self.kl_coef:g} ({self.kl_estimator}) to the reference")
        if self.entropy_coef:
            parts.append(f"entropy bonus {self.entropy_coef:g}")
        return "; ".join(parts) + "."

    def _advantage_words(self) -> str:
        """Say what the advantage is."""
        gain = "reward from the turn onwards" if self.use_per_turn else "reward of the trajectory"
        if self.truncation == "bootstrap":
            gain += " (plus the value of the last state if truncated)"
        if self.algorithm == "rloo":
            return f"{gain} minus the mean of the other answers in its group"
        if self.algorithm == "grpo":
            scaled = ", divided by the group's standard deviation" if self.scale_std else ""
            return f"{gain} minus the mean of its group{scaled}"
        return {
            "none": f"{gain}, no baseline",
            "batch_mean": f"{gain} minus the batch mean",
            "value": f"{gain} minus the value of the turn's state",
        }[self.resolved_baseline]

    def _normaliser_words(self) -> str:
        """Say how tokens are averaged."""
        if self.resolved_normaliser == "sequence":
            return "mean over the tokens of a trajectory, then over trajectories"
        if self.resolved_normaliser == "token":
            return "mean over all tokens of the batch"
        divisor = "" if self.constant_length == 1 else f" divided by {self.constant_length:g}"
        return f"sum over the tokens of a trajectory{divisor}, then mean over trajectories"

    def _check_names(self) -> None:
        if self.algorithm not in ALGORITHMS:
            raise unknown_name("algorithm", self.algorithm, ALGORITHMS)
        if self.resolved_baseline not in ALGORITHMS[self.algorithm]:
            raise ConfigError(
                f"baseline `{self.baseline}` does not go with algorithm `{self.algorithm}`; it "
                f"takes {', '.join(f'`{b}`' for b in ALGORITHMS[self.algorithm])}."
            )
        choices: tuple[tuple[str, str, tuple[str, ...]], ...] = (
            ("normaliser", self.resolved_normaliser, NORMALISERS),
            ("importance level", self.importance_level, RATIO_LEVELS),
            ("ratio_to", self.ratio_to, ("proximal", "behaviour")),
            ("truncation", self.truncation, ("as_scored", "bootstrap")),
            ("KL estimator", self.kl_estimator, KL_ESTIMATORS),
        )
        for kind, name, known in choices:
            if name not in known:
                raise unknown_name(kind, name, known)

    def _check_ranges(self) -> None:
        positive = {
            "lr": self.lr,
            "adam_eps": self.adam_eps,
            "constant_length": self.constant_length,
        }
        if self.max_grad_norm is not None:
            positive["max_grad_norm"] = self.max_grad_norm
        for name, number in positive.items():
            if not (math.isfinite(number) and number > 0):
                raise ConfigError(f"`{name}` is {number}; expected a number above 0.")
        coefficients = {
            "entropy_coef": self.entropy_coef,
            "value_coef": self.value_coef,
            "kl_coef": self.kl_coef,
        }
        for name, number in coefficients.items():
            if not (math.isfinite(number) and number >= 0):
                raise ConfigError(f"`{name}` is {number}; expected 0 or more.")
        counts = {
            "epochs": self.epochs,
            "minibatches": self.minibatches,
            "microbatch_turns": self.microbatch_turns,
        }
        for name, count in counts.items():
            if count is not None and count < 1:
                raise ConfigError(f"`{name}` is {count}; expected at least 1.")
        if not (0 < self.clip_low < 1 and self.clip_high > 0):
            raise ConfigError(
                f"clip_low is {self.clip_low} and clip_high {self.clip_high}; expected 0 < "
                "clip_low < 1 and clip_high > 0."
            )
        if self.importance_cap is not None and self.importance_cap < 1:
            raise ConfigError(
                f"importance_cap is {self.importance_cap}; expected at least 1 (the weight of "
                "fresh data), or None for no importance weights."
            )

    def _check_combinations(self) -> None:
        if self.use_per_turn and self.resolved_baseline == "group":
            raise ConfigError(
                f"use_per_turn=True does not go with `{self.algorithm}`: turns of different "
                "answers are not in the same state, so a group has no baseline for them. Use "
                "algorithm='reinforce', or use_per_turn=False."
            )
        if self.truncation == "bootstrap" and self.resolved_baseline != "value":
            raise ConfigError(
                "truncation='bootstrap' needs a value function; set baseline='value', or leave "
                "truncation='as_scored'."
            )
        if self.kl_estimator == "k1":
            raise ConfigError(
                "kl_estimator='k1' has an expected gradient of zero as a loss term, so it would "
                "hold nothing; use 'k2' (the gradient of the KL divergence) or 'k3'."
            )

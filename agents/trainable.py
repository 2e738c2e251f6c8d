"""What a policy must offer so that a policy-gradient learner can change it.

Legend for shapes: B trajectories, N turns, T tokens (T = 1 for a policy whose action is one skill).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor
from torch.nn import Parameter

from ..errors import ModelError
from ..trajectory import Turn
from .base import Policy


@dataclass(slots=True, kw_only=True)
class Evaluation:
    """What the current weights make of turns that were recorded earlier."""

    logprobs: Tensor
    """(N, T) natural log-probability of each recorded token or skill; 0 where `mask` is False."""
    mask: Tensor
    """(N, T) bool, True = counts. Rows are filled from column 0 on."""
    entropy: Tensor
    """(N,) entropy of the action distribution, nats; for text, the mean over its tokens."""
    values: Tensor | None = None
    """(N,) estimated return from the turn's state; None if the policy has no value head."""


@runtime_checkable
class TrainablePolicy(Policy, Protocol):
    """A policy with weights that a gradient can reach."""

    observes: str
    """`features` (arrays) or `messages` (chat messages): what `act` takes."""

    def can_evaluate(self, turn: Turn) -> bool:
        """Say whether the turn records an action of this policy's kind."""
        ...

    def evaluate(self, turns: Sequence[Turn]) -> Evaluation:
        """Recompute log-probabilities of the recorded actions, with gradients."""
        ...

    def named_parameters(self) -> Iterator[tuple[str, Parameter]]:
        """Yield every trainable tensor with its name."""
        ...


def evaluate_in_parts(policy: TrainablePolicy, turns: Sequence[Turn], size: int) -> Evaluation:
    """Evaluate turns without gradients, `size` at a time, padded to the longest turn.

    Raises:
        ModelError: a result is NaN or infinite.
    """
    with torch.no_grad():
        parts = [policy.evaluate(turns[i : i + size]) for i in range(0, len(turns), size)]
    width = max(part.mask.shape[1] for part in parts)
    values = [part.values for part in parts if part.values is not None]
    whole = Evaluation(
        logprobs=torch.cat([_widen(part.logprobs, width) for part in parts]),
        mask=torch.cat([_widen(part.mask, width) for part in parts]),
        entropy=torch.cat([part.entropy for part in parts]),
        values=torch.cat(values) if values else None,
    )
    require_finite(f"log-probabilities of policy `{policy.version}`", whole.logprobs)
    if whole.values is not None:
        require_finite(f"values of policy `{policy.version}`", whole.values)
    return whole


def require_finite(what: str, tensor: Tensor) -> None:
    """Refuse a tensor that has a NaN or an infinity in it.

    Raises:
        ModelError: it has; the message gives the first place.
    """
    finite = torch.isfinite(tensor)
    if finite.all():
        return
    bad = torch.nonzero(~finite)
    place = tuple(bad[0].tolist())
    raise ModelError(
        f"{what} has {len(bad)} of {tensor.numel()} entries that are NaN or infinite, first at "
        f"index {place} ({tensor[place].item()}). Look at the batch's features and rewards, lower "
        "`lr` or set `max_grad_norm`, and go back to the last checkpoint if weights are damaged."
    )


def _widen(x: Tensor, width: int) -> Tensor:
    """Pad (N, T) with zeros (False) on the right to (N, width)."""
    return torch.nn.functional.pad(x, (0, width - x.shape[1]))

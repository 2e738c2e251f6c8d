"""Who acts, who learns, where experience comes from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from ..trajectory import Trajectory


@dataclass(slots=True, kw_only=True)
class Action:
    """One sampled action. `value` is what the environment's `step` takes."""

    value: Any
    """A skill index (int) or a text (str)."""
    logprob: float | None = None
    """Natural log-probability of a structured action under the behaviour policy, as sampled."""
    prompt_token_ids: list[int] | None = None
    completion_token_ids: list[int] | None = None
    logprobs: list[float] | None = None
    """One per completion token, for policies that sample text."""


@runtime_checkable
class Policy(Protocol):
    """Maps a batch of observations to a batch of actions."""

    version: str
    """Changes with every update of the weights; recorded on every turn."""

    def act(self, observations: Sequence[Any], *, greedy: bool = False) -> list[Action]:
        """Choose one action for each observation, with log-probabilities as sampled."""
        ...

    def state_dict(self) -> dict[str, Any]:
        """Return the weights (and what else is needed to restore the policy)."""
        ...

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        ...


@runtime_checkable
class Source(Protocol):
    """Where experience comes from. The training loop does not know which kind it has."""

    name: str

    def collect(self, policy: Policy, n: int) -> list[Trajectory]:
        """Return `n` complete trajectories. One that our own failure ended is among them."""
        ...


@runtime_checkable
class Learner(Protocol):
    """Changes a policy's weights from scored trajectories."""

    def update(self, batch: Sequence[Trajectory]) -> dict[str, float]:
        """Take one policy-gradient step on trajectories whose `reward` is set; return metrics.

        Trajectories with `reward.excluded` are counted and left out.
        """
        ...

"""Policies without weights: one that follows a script and one that acts at random.

They stand in for a trained policy in tests, examples and baselines, and record honest behaviour
log-probabilities: 0 for a scripted action (it was certain), -log n for a uniform one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import ConfigError, ModelError
from .base import Action


class ScriptedPolicy:
    """Do what a script says.

    Args:
        script: the values to return one after the other, one for each observation asked about (in
            the order of the batch); or a function from an observation to a value.
        repeat: begin again at the end of a list instead of raising.
        observes: `messages` or `features`: what the rollout should show it.
        version: recorded on every turn; it never changes.

    Raises:
        ConfigError: the script is an empty list.

    Example:
        >>> policy = ScriptedPolicy([3, 1], observes="features")
        >>> [action.value for action in policy.act([None, None])]
        [3, 1]
    """

    def __init__(
        self,
        script: Sequence[Any] | Callable[[Any], Any],
        *,
        repeat: bool = False,
        observes: str = "messages",
        version: str = "scripted",
    ) -> None:
        if not callable(script) and not len(script):
            raise ConfigError("the script is empty; give at least one value, or a function.")
        self.script = script
        self.repeat = repeat
        self.observes = observes
        self.version = version
        self.position = 0

    def act(self, observations: Sequence[Any], *, greedy: bool = False) -> list[Action]:
        """Return the next scripted value for each observation, with log-probability 0.

        Raises:
            ModelError: the script has come to its end.
        """
        return [Action(value=self._next(observation), logprob=0.0) for observation in observations]

    def state_dict(self) -> dict[str, Any]:
        """Return the position in the script."""
        return {"position": self.position, "version": self.version}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Return to a position in the script."""
        self.position, self.version = int(state["position"]), str(state["version"])

    def _next(self, observation: Any) -> Any:
        """Return the value for one observation and move on."""
        if callable(self.script):
            return self.script(observation)
        if self.position >= len(self.script):
            if not self.repeat:
                raise ModelError(
                    f"the script has {len(self.script)} values and was asked for one more; make it "
                    "longer, or pass repeat=True."
                )
            self.position = 0
        value = self.script[self.position]
        self.position += 1
        return value


class RandomPolicy:
    """Choose one of `num_actions` skills uniformly, from a generator of its own.

    Raises:
        ConfigError: `num_actions` is below 1.
    """

    def __init__(self, num_actions: int, seed: int, *, version: str = "random") -> None:
        if num_actions < 1:
            raise ConfigError(f"num_actions is {num_actions}; there must be at least 1 action.")
        self.num_actions = num_actions
        self.observes = "features"
        self.version = version
        self._rng = np.random.default_rng(seed)

    def act(self, observations: Sequence[Any], *, greedy: bool = False) -> list[Action]:
        """Return one uniform action for each observation; `greedy` makes no difference."""
        logprob = -math.log(self.num_actions)
        draws = self._rng.integers(self.num_actions, size=len(observations))
        return [Action(value=int(draw), logprob=logprob) for draw in draws]

    def state_dict(self) -> dict[str, Any]:
        """Return the generator's state."""
        return {"rng": dict(self._rng.bit_generator.state), "version": self.version}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the generator's state."""
        self._rng.bit_generator.state = dict(state["rng"])
        self.version = str(state["version"])

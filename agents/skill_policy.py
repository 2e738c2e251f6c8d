"""A small policy over skills: each skill is scored from its own row of features.

One multi-layer perceptron is shared by all skills, and a softmax over the scores gives the action
distribution. Because a skill is known only by its features, what is learned carries over to task
families and places in the code that were not seen, and the number of skills may vary.

Legend: B observations, N turns, K skills, F features. What it leaves out: interactions between
skills beyond the softmax, and memory beyond what the features hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from ..errors import ConfigError, ModelError
from ..trajectory import Turn
from .base import Action
from .trainable import Evaluation


class SkillNet(nn.Module):
    """Score (B, K, F) feature rows; value the observation from pooled rows.

    The value head has its own first layer, so that fitting it does not move the policy.
    `hidden=0` makes both linear: with one-hot rows that is a tabular softmax policy.
    """

    prior: Tensor

    def __init__(self, num_features: int, hidden: int, prior: Sequence[float] | None) -> None:
        super().__init__()
        fixed = torch.tensor(prior if prior is not None else [0.0] * num_features)
        self.register_buffer("prior", fixed.float())
        width = hidden or num_features
        self.encode = _layer(num_features, hidden)
        # A bias would shift all scores alike, which softmax does not see.
        self.score = nn.Linear(width, 1, bias=False)
        self.value_encode = _layer(num_features, hidden)
        self.value_hidden = _layer(2 * width, hidden)
        self.value_out = nn.Linear(hidden or 2 * width, 1)
        with torch.no_grad():
            # A policy that begins near uniform explores every skill.
            self.score.weight.mul_(0.1)
            self.value_out.bias.zero_()

    def logits(self, rows: Tensor, present: Tensor) -> Tensor:
        """Return (B, K) scores, -inf where `present` (B, K) is False."""
        scores: Tensor = self.score(self.encode(rows)).squeeze(-1) + rows @ self.prior
        return scores.masked_fill(~present, -torch.inf)

    def value(self, rows: Tensor, present: Tensor) -> Tensor:
        """Return (B,) values from the mean and the maximum over the present rows."""
        encoded: Tensor = self.value_encode(rows)
        absent = ~present.unsqueeze(-1)
        count = present.sum(dim=1, keepdim=True)
        mean = encoded.masked_fill(absent, 0.0).sum(dim=1) / count
        most = encoded.masked_fill(absent, -torch.inf).amax(dim=1)
        value: Tensor = self.value_out(self.value_hidden(torch.cat([mean, most], dim=1)))
        return value.squeeze(-1)


class SkillPolicy:
    """A `Policy` over observations of shape (K, F), float32.

    Args:
        num_features: F, features per skill.
        hidden: width of the hidden layer; 0 for a linear policy.
        prior: fixed weight of each feature in the scores, (F,): what the policy does before it has
            learnt anything. By default it begins near uniform over skills.
        seed: fixes the first weights and the sampling.
        version: version of the first weights.

    Raises:
        ConfigError: a size is out of range, or the prior is not of F numbers.
    """

    observes = "features"

    def __init__(
        self,
        num_features: int,
        hidden: int = 32,
        *,
        prior: Sequence[float] | None = None,
        seed: int,
        version: str = "v0",
    ) -> None:
        if num_features < 1 or hidden < 0:
            raise ConfigError(
                f"num_features is {num_features} and hidden is {hidden}; expected at least 1 "
                "feature and a width of 0 (linear) or more."
            )
        if prior is not None and len(prior) != num_features:
            raise ConfigError(f"`prior` has {len(prior)} numbers; expected {num_features}.")
        self.num_features = num_features
        self.hidden = hidden
        self.version = version
        with torch.random.fork_rng(devices=[]):  # the caller's global generator is left alone
            torch.manual_seed(seed)
            self.net = SkillNet(num_features, hidden, prior)
        self._generator = torch.Generator().manual_seed(seed)

    @torch.no_grad()
    def act(self, observations: Sequence[Any], *, greedy: bool = False) -> list[Action]:
        """Sample a skill for each observation, or take the best one.

        A greedy action was certain, so its log-probability under the behaviour policy is 0.

        Raises:
            ModelError: an observation has the wrong shape or is not finite.
        """
        if not len(observations):
            return []
        rows, present = self._stack(observations)
        logprobs = torch.log_softmax(self.net.logits(rows, present), dim=1)
        if greedy:
            return [Action(value=value, logprob=0.0) for value in logprobs.argmax(dim=1).tolist()]
        choice = torch.multinomial(logprobs.exp(), 1, generator=self._generator)
        chosen = logprobs.gather(1, choice).squeeze(1).tolist()
        pairs = zip(choice.squeeze(1).tolist(), chosen, strict=True)
        return [Action(value=value, logprob=logprob) for value, logprob in pairs]

    @torch.no_grad()
    def distribution(self, observation: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Return the (K,) probabilities of the skills in one observation."""
        rows, present = self._stack([observation])
        probabilities = torch.softmax(self.net.logits(rows, present).double(), dim=1)[0]
        return np.asarray(probabilities.numpy(), dtype=np.float64)

    def can_evaluate(self, turn: Turn) -> bool:
        """Say whether the turn records a skill."""
        return turn.action is not None

    def evaluate(self, turns: Sequence[Turn]) -> Evaluation:
        """Recompute the log-probability of each turn's skill; T = 1.

        Raises:
            ModelError: a turn has no skill, no features, or a skill that its features do not have.
        """
        for i, turn in enumerate(turns):
            if turn.action is None or turn.features is None:
                missing = "action" if turn.action is None else "features"
                raise ModelError(
                    f"turn {i} has no `{missing}`; a skill policy evaluates turns with both. "
                    "Features are not stored: recompute them from the turns before it."
                )
            if not 0 <= turn.action < len(turn.features):
                raise ModelError(
                    f"turn {i} has action {turn.action}, but features of {len(turn.features)} "
                    "skills; the features are not those of this turn."
                )
        rows, present = self._stack([turn.features for turn in turns])
        logprobs = torch.log_softmax(self.net.logits(rows, present), dim=1)
        action = torch.tensor([turn.action for turn in turns]).unsqueeze(1)
        finite = logprobs.masked_fill(~present, 0.0)
        return Evaluation(
            logprobs=logprobs.gather(1, action),
            mask=torch.ones(len(turns), 1, dtype=torch.bool),
            entropy=-(finite.exp() * finite).sum(dim=1),
            values=self.net.value(rows, present),
        )

    @torch.no_grad()
    def state_value(self, observation: npt.ArrayLike) -> float:
        """Return the estimated return from one observation."""
        return float(self.net.value(*self._stack([observation])))

    def named_parameters(self) -> Iterator[tuple[str, nn.Parameter]]:
        """Yield the weights with their names."""
        return self.net.named_parameters()

    def state_dict(self) -> dict[str, Any]:
        """Return weights, sampling state, sizes and version."""
        return {
            "kind": "skill_policy",
            "num_features": self.num_features,
            "hidden": self.hidden,
            "version": self.version,
            "weights": {name: tensor.clone() for name, tensor in self.net.state_dict().items()},
            "generator": self._generator.get_state(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned.

        Raises:
            ConfigError: the state belongs to a policy of another kind or size.
        """
        expected = ("skill_policy", self.num_features, self.hidden)
        given = tuple(state.get(key) for key in ("kind", "num_features", "hidden"))
        if given != expected:
            raise ConfigError(
                f"the state is for (kind, num_features, hidden) = {given}, this policy is "
                f"{expected}; build a policy of the same sizes first."
            )
        self.net.load_state_dict(state["weights"])
        self._generator.set_state(state["generator"])
        self.version = str(state["version"])

    def _stack(self, observations: Sequence[Any]) -> tuple[Tensor, Tensor]:
        """Return (B, K, F) rows, padded to the most skills, and which rows are present (B, K)."""
        arrays = [np.asarray(observation, dtype=np.float32) for observation in observations]
        for i, array in enumerate(arrays):
            if array.ndim != 2 or array.shape[1] != self.num_features or not len(array):
                raise ModelError(
                    f"observation {i} has shape {array.shape}; expected (num_skills, "
                    f"{self.num_features}) with at least one skill."
                )
        most = max(len(array) for array in arrays)
        rows = np.zeros((len(arrays), most, self.num_features), dtype=np.float32)
        present = np.zeros((len(arrays), most), dtype=np.bool_)
        for i, array in enumerate(arrays):
            rows[i, : len(array)] = array
            present[i, : len(array)] = True
        if not np.isfinite(rows).all():
            bad = int(np.argwhere(~np.isfinite(rows))[0, 0])
            raise ModelError(f"observation {bad} holds NaN or infinity; features must be finite.")
        return torch.from_numpy(rows), torch.from_numpy(present)


def _layer(inputs: int, hidden: int) -> nn.Module:
    """Return a hidden layer, or the identity if `hidden` is 0."""
    return nn.Sequential(nn.Linear(inputs, hidden), nn.Tanh()) if hidden else nn.Identity()

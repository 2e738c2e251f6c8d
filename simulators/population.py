"""Who uses the agent: a set of people who differ, and whose mix changes over time.

A population has a fixed number of people. Each has a persona, by share of the mixture, and numbers
of their own around it; who turns up drifts. The same person may come back, so sessions of a
population are clustered by user as real ones are.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ConfigError
from .persona import POSITIVES, PROBABILITIES, Persona, get_persona
from .scripted import ScriptedUser

SCHEMA_VERSION = 1
DAY_S = 86_400.0
STAND_IN_LABEL = "stand-in for production"


class Population:
    """People with random effects.

    Person i has the persona of their share of `mixture`. Their numbers are drawn around it: a
    probability p becomes sigmoid(logit p + spread z), a positive number x becomes x exp(spread z),
    with a standard normal z for each number (probabilities of exactly 0 or 1 stay; so does the
    tolerance of questions, a count). Both come from `(seed, i)` alone. On day d person i turns up
    with weight exp(drift d) of their persona.

    Args:
        mixture: persona name to weight, positive; normalised.
        drift: persona name to change of its log weight a day; default none.
        spread: standard deviation of the random effects, on the scales above; at least 0.
        num_users: number of people, at least 1.
        seed: fixes who they are; at least 0.
        label: what reports call this population.
        personas: definitions of the names used; default: the built-in ones.

    Raises:
        ConfigError: an unknown persona, a weight that is not positive, or a size out of range.
    """

    def __init__(
        self,
        mixture: Mapping[str, float],
        *,
        drift: Mapping[str, float] | None = None,
        spread: float = 0.0,
        num_users: int = 64,
        seed: int = 0,
        label: str = "simulated users",
        personas: Mapping[str, Persona] | None = None,
    ) -> None:
        # In one order whatever the caller's, so that a saved population has the same people.
        self.mixture = {name: mixture[name] for name in sorted(mixture)}
        self.drift = dict(sorted((drift or {}).items()))
        self.spread, self.num_users, self.seed, self.label = spread, num_users, seed, label
        self.personas = {
            name: personas[name] if personas and name in personas else get_persona(name)
            for name in self.mixture
        }
        self._check()
        self._names = self._assign()

    def user(self, index: int) -> ScriptedUser:
        """Return person `index`, always the same one.

        Raises:
            ConfigError: there is no such person.
        """
        if not 0 <= index < self.num_users:
            raise ConfigError(f"there are people 0 to {self.num_users - 1}, not {index}")
        persona = self.personas[self._names[index]]
        if self.spread > 0:
            rng = np.random.default_rng([self.seed, index, 1])
            persona = _jitter(persona, self.spread, rng)
        # The pseudonym must not tell the persona: whoever trains sees it.
        digest = hashlib.sha256(f"{self.label}/{self.seed}/{index}".encode())
        return ScriptedUser(
            persona,
            user_id=f"user-{digest.hexdigest()[:12]}",
            seed=int.from_bytes(digest.digest()[:4], "big"),
        )

    def users(self, n: int | None = None) -> list[ScriptedUser]:
        """Return the first `n` people (default: all), without regard to who turns up when."""
        return [self.user(index) for index in range(self.num_users if n is None else n)]

    def sample_user(self, rng: np.random.Generator, time_s: float = 0.0) -> ScriptedUser:
        """Draw who turns up.

        Args:
            rng: chance of the draw.
            time_s: seconds since the population began.
        """
        if not self.drift:
            return self.user(int(rng.integers(self.num_users)))
        return self.user(int(rng.choice(self.num_users, p=self._turnout(time_s))))

    def shares(self, time_s: float = 0.0) -> dict[str, float]:
        """Return each persona's share of those who turn up at a time; they add up to 1."""
        turnout = self._turnout(time_s)
        names = np.array(self._names)
        return {name: float(turnout[names == name].sum()) for name in self.mixture}

    def to_json(self) -> dict[str, Any]:
        """Return the population as plain JSON, definitions of its personas included."""
        return {
            "schema_version": SCHEMA_VERSION,
            "label": self.label,
            "mixture": self.mixture,
            "drift": self.drift,
            "spread": self.spread,
            "num_users": self.num_users,
            "seed": self.seed,
            "personas": {name: persona.to_json() for name, persona in self.personas.items()},
        }

    def save(self, path: Path) -> None:
        """Write the population as a JSON file."""
        text = json.dumps(self.to_json(), indent=2, sort_keys=True)
        Path(path).write_text(text + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> Population:
        """Read what `save` wrote.

        Raises:
            ConfigError: the file is not a population, or of a newer schema.
        """
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"))
            version = data["schema_version"]
            if version > SCHEMA_VERSION:
                raise ConfigError(
                    f"`{path}` has schema {version}; this version reads up to {SCHEMA_VERSION}"
                )
            personas = {name: Persona(**given) for name, given in data["personas"].items()}
            names = ("drift", "spread", "num_users", "seed", "label")
            rest = {name: data[name] for name in names}
            return cls(data["mixture"], personas=personas, **rest)
        except ConfigError:
            raise
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ConfigError(
                f"`{path}` is not a saved population ({type(error).__name__}: {error}); "
                "write one with `Population.save`"
            ) from error

    def _check(self) -> None:
        bad = [n for n, w in self.mixture.items() if not (w > 0 and math.isfinite(w))]
        if not self.mixture or bad:
            raise ConfigError(
                f"expected at least one persona with a positive weight, got {self.mixture}"
            )
        foreign = set(self.drift) - set(self.mixture)
        if foreign or not all(math.isfinite(rate) for rate in self.drift.values()):
            raise ConfigError(
                f"`drift` must give a finite rate for personas of the mixture, got {self.drift}"
            )
        if not (self.spread >= 0 and math.isfinite(self.spread)):
            raise ConfigError(f"`spread` must be at least 0, got {self.spread}")
        if self.num_users < 1 or self.seed < 0:
            raise ConfigError(
                f"expected num_users >= 1 and seed >= 0, got {self.num_users} and {self.seed}"
            )

    def _assign(self) -> list[str]:
        """Give each person a persona: exact shares up to rounding, in a seeded order."""
        rng = np.random.default_rng([self.seed, 2])
        weights = np.array(list(self.mixture.values()))
        edges = np.cumsum(weights / weights.sum())
        edges[-1] = 1.0
        points = (np.arange(self.num_users) + rng.random()) / self.num_users
        codes = rng.permutation(np.searchsorted(edges, points, side="right"))
        names = list(self.mixture)
        return [names[min(code, len(names) - 1)] for code in codes]

    def _turnout(self, time_s: float) -> np.ndarray[Any, np.dtype[np.float64]]:
        days = time_s / DAY_S
        logits = np.array([self.drift.get(name, 0.0) * days for name in self._names])
        weights = np.exp(logits - logits.max())
        return np.asarray(weights / weights.sum(), dtype=np.float64)


def _jitter(persona: Persona, spread: float, rng: np.random.Generator) -> Persona:
    changes: dict[str, Any] = {}
    for name in PROBABILITIES:
        p, z = getattr(persona, name), rng.standard_normal()
        if 0 < p < 1:
            changes[name] = 1 / (1 + math.exp(-(math.log(p / (1 - p)) + spread * z)))
    for name in POSITIVES:
        changes[name] = getattr(persona, name) * math.exp(spread * rng.standard_normal())
    return replace(persona, **changes)


@functools.cache
def simulator_population() -> Population:
    """Return the training side's people: many who all behave like the one `default` persona."""
    return Population({"default": 1.0}, label="simulator")


STAND_IN_MIXTURE = {
    "expert": 0.25,
    "hurried": 0.25,
    "strict": 0.1,
    "lenient_late": 0.2,
    "novice": 0.2,
}
"""Shares of the stand-in's personas at its beginning. `default` is not among them."""
STAND_IN_DRIFT = {"hurried": 0.05, "novice": -0.05}
"""Change of the log weight a day: newcomers become fewer, people in a hurry more."""
STAND_IN_SPREAD = 0.5
STAND_IN_USERS = 80


def production_stand_in(seed: int = 0) -> Population:
    """Return a *stand-in for production*: other people than the simulator's, unlike each other.

    It is no data about anybody. Its people mix five personas, vary around them, come back, and
    drift over time. Whatever is computed from it must say *stand-in* (`label` does). The training
    side serves it and reads its logs, and looks at nothing else of it.

    Args:
        seed: fixes who the people are.
    """
    return Population(
        STAND_IN_MIXTURE,
        drift=STAND_IN_DRIFT,
        spread=STAND_IN_SPREAD,
        num_users=STAND_IN_USERS,
        seed=seed,
        label=STAND_IN_LABEL,
    )

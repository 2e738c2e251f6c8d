"""`sim2live/Completion-v0`: show one of three completions at a cursor, or stay silent.

The smallest environment in which a good policy must learn *not* to act. A person writes code; a
pretend language model has three suggestions of different quality, and the agent shows one or none.
The person accepts with a probability that tests and studies can read
(`CompletionEnv.acceptance_probability`), so that what a policy learns can be held against the best
that could be learnt. Not modelled: what happens to the code after the suggestion was taken, and the
time that reading one costs.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, fields
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from ..errors import ConfigError
from ..trajectory import (
    EndReason,
    Message,
    Reaction,
    ReactionKind,
    RewardReport,
    Source,
    TextState,
    Trajectory,
    Turn,
)
from .completion_corpus import KINDS, Candidate, Snippet, load_snippets, load_variants

NUM_CANDIDATES = 3
ABSTAIN = NUM_CANDIDATES
"""The action that shows nothing; the actions below it show that candidate."""

CURSOR = "|"
"""Where the cursor stands, in drawings and records."""

MAX_CHARS = 160
"""The length, in characters, that counts as 1."""
MAX_LINES = 6
"""The number of lines that counts as 1."""

FEATURES = (
    *(f"{name}_{i}" for i in range(NUM_CANDIDATES) for name in ("confidence", "length", "lines")),
    *(f"kind_{kind}" for kind in KINDS),
    "interruptions",
)
"""The names of the entries of an observation, in order; all lie in [0, 1]."""

# The pretend language model: logit(confidence) = bias + slope * plausibility + noise. Plausibility
# follows how a suggestion reads, not whether it is right: a slip still gets much of it.
_CONFIDENCE_BIAS = -1.5
_CONFIDENCE_SLOPE = 3.0
_CONFIDENCE_NOISE_SD = 0.6

_MEMORY = 0.8  # what one more context leaves of the interruptions before it


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptanceModel:
    """The person's answer to a suggestion: a logistic model with a random effect of the user.

    P(accept) = sigmoid(intercept + correctness_weight * correctness + length_weight * length
    + interruption_weight * interruptions + u), where `u` is normal with mean 0 and deviation
    `user_sd`, drawn once an episode. The numbers are our own choice, made so that for some contexts
    even the best suggestion is not worth showing; they are estimated from nobody's data.

    Raises:
        ConfigError: if a number is not finite or `user_sd` is negative.

    Example:
        >>> model = AcceptanceModel(user_sd=0.0)
        >>> right = model.probability(1.0, length=0.2, interruptions=0.0, user_effect=0.0)
        >>> wrong = model.probability(0.0, length=0.2, interruptions=0.0, user_effect=0.0)
        >>> right > 0.5 > wrong
        True
    """

    intercept: float = -3.0
    """Log-odds for a wrong suggestion of no length to an average person who is at peace."""
    correctness_weight: float = 5.0
    """Log-odds for the share of the true continuation that the suggestion gives."""
    length_weight: float = -1.5
    """Log-odds for a suggestion of `MAX_CHARS` characters: more to read."""
    interruption_weight: float = -3.0
    """Log-odds for someone whose every recent context brought a suggestion that was rejected."""
    user_sd: float = 0.8
    """Standard deviation of people in log-odds."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not math.isfinite(value):
                raise ConfigError(f"`{field.name}` is {value!r}; it must be a finite number")
        if self.user_sd < 0:
            raise ConfigError(f"`user_sd` is {self.user_sd!r}; it must be 0 or more")

    def probability(
        self, correctness: float, *, length: float, interruptions: float, user_effect: float
    ) -> float:
        """Return P(accept).

        Args:
            correctness: in [0, 1], see `Candidate`.
            length: characters as a share of `MAX_CHARS`, in [0, 1].
            interruptions: the person's recent interruptions, in [0, 1].
            user_effect: this person's log-odds.
        """
        logit = (
            self.intercept
            + self.correctness_weight * correctness
            + self.length_weight * length
            + self.interruption_weight * interruptions
            + user_effect
        )
        return _sigmoid(logit)


def suggestion_reward(*, is_shown: bool, is_accepted: bool, threshold: float | None) -> float:
    """Score one context.

    With `threshold` t: accepted 1 - t, rejected -t, nothing shown 0. Showing a suggestion that is
    accepted with probability p then gives p(1 - t) - (1 - p)t = p - t on average, which is positive
    exactly when p > t. Without: +1, -1, 0.

    Reference:
        Cursor's description of its Tab model's reinforcement learning (cursor.com/blog/tab-rl),
        where t = 25% gives +0.75, -0.25 and 0 as the illustration; the production reward is said to
        be more complicated.
    """
    if not is_shown:
        return 0.0
    if threshold is None:
        return 1.0 if is_accepted else -1.0
    return 1.0 - threshold if is_accepted else -threshold


@dataclass(frozen=True, slots=True, kw_only=True)
class _Context:
    """One cursor with its suggestions, as drawn."""

    snippet: Snippet
    candidates: tuple[Candidate, ...]
    confidences: tuple[float, ...]


class CompletionEnv(gymnasium.Env[NDArray[np.float32], np.int64]):
    """Decide at each cursor whether to suggest something, and what.

    Each context is drawn evenly from our corpus; three of the five suggestions that exist for it
    (`completion_corpus.variants`: the true continuation, two truncations, a slip, a stray one) are
    drawn in random order, so in two contexts of five the true one is not among them.

    Action: `Discrete(4)`; 0 to 2 show that candidate, 3 (`ABSTAIN`) shows nothing.
    Observation: float32 in [0, 1], the entries named in `FEATURES`. For each candidate the pretend
    language model's confidence, its length (share of `MAX_CHARS`) and lines (share of `MAX_LINES`);
    for the context its kind, one-hot; for the person how often they were interrupted lately.
    Confidence is sigmoid(-1.5 + 3 * plausibility + N(0, 0.6)): correlated with correctness, not
    equal to it: a slip in one token looks about as plausible as a long part of the truth.
    `info`: `prefix`, `suffix`, `candidates` (texts); after a step also `is_shown` and `is_accepted`
    for the context that the action answered. Never correctness or the acceptance probability.

    One person lives for one episode. Their interruptions begin at a draw from Beta(2, 4) and move
    after each context: 0.8 times the old value, plus 0.2 if a suggestion was shown and rejected.
    So with several contexts a rejected suggestion also costs acceptance later on, and the rule
    "show exactly when P(accept) > t" is the best one for the immediate reward only. All contexts
    and the person's luck are drawn independently of the actions: two policies under one seed meet
    the same contexts. The episode is *terminated* after its last context, never truncated; the last
    observation repeats the last context. `trajectory` is the record: a turn for each context, whose
    text is what was shown, with the person's reaction to it.

    Args:
        threshold: t of `suggestion_reward`, strictly between 0 and 1, or None for +1, -1, 0.
        num_contexts: contexts in an episode, at least 1.
        acceptance: how the person answers; default: `AcceptanceModel()`.
        render_mode: `human` prints each context and what became of it, `ansi` lets `render` return
            the present one as plain text; None.

    Raises:
        ConfigError: for an argument out of its range, an action outside the space, or a step
            without a running episode.

    Example:
        >>> env = CompletionEnv(threshold=0.25)
        >>> observation, info = env.reset(seed=0)
        >>> len(info["candidates"])
        3
        >>> env.step(ABSTAIN)[1:4]
        (0.0, True, False)
    """

    metadata = {"render_modes": ["human", "ansi"], "render_fps": 4}  # noqa: RUF012 - Gymnasium's way

    def __init__(
        self,
        *,
        threshold: float | None = None,
        num_contexts: int = 1,
        acceptance: AcceptanceModel | None = None,
        render_mode: str | None = None,
    ) -> None:
        if threshold is not None and not 0.0 < threshold < 1.0:
            raise ConfigError(
                f"`threshold` is {threshold!r}; it must lie strictly between 0 and 1, or be None"
            )
        if not isinstance(num_contexts, int) or num_contexts < 1:
            raise ConfigError(
                f"`num_contexts` is {num_contexts!r}; it must be an integer of 1 or more"
            )
        self.observation_space = spaces.Box(0.0, 1.0, (len(FEATURES),), np.float32)
        self.action_space = spaces.Discrete(NUM_CANDIDATES + 1)
        self.threshold = threshold
        self.num_contexts = num_contexts
        self.acceptance = acceptance or AcceptanceModel()
        self.render_mode = render_mode
        self._context: _Context | None = None
        self._num_answered = 0
        self._user_effect = 0.0
        self._interruptions = 0.0
        self._turns: list[Turn] = []
        self._rewards: list[float] = []
        self._id = ""

    @property
    def trajectory(self) -> Trajectory:
        """The record of the current episode."""
        if self._context is None:
            raise ConfigError("call `reset` first: there is no episode yet")
        is_over = self._num_answered >= self.num_contexts
        total = math.fsum(self._rewards)
        report = RewardReport(
            total=total,
            components={"suggestions": total},
            per_turn=list(self._rewards),
            reward_model="completion",
        )
        return Trajectory(
            id=f"simulated-{self._id}",
            task_id="completion",
            source=Source.SIMULATED,
            user_id=f"person-{self._id}",
            family="completion",
            turns=list(self._turns),
            end=EndReason.FINISHED if is_over else EndReason.UNKNOWN,
            reward=report if is_over else None,
        )

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Meet a new person at a new cursor; there are no `options`."""
        super().reset(seed=seed)
        self._meet()
        self._num_answered = 0
        self._context = _draw_context(self.np_random)
        self._turns, self._rewards = [], []
        drawn = repr((self._user_effect, self._interruptions, self._context.confidences))
        self._id = hashlib.sha256(drawn.encode()).hexdigest()[:16]
        self._show()
        return self._observe(), self._info()

    def step(
        self, action: np.int64
    ) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Show a candidate or nothing; see the class."""
        if self._num_answered >= self.num_contexts:
            raise ConfigError("the episode is over; call `reset` before the next `step`")
        probability = self.acceptance_probability(action)
        # Drawn even if nothing is shown: what comes later must not depend on the action.
        luck = float(self.np_random.random())
        is_shown = int(action) != ABSTAIN
        is_accepted = is_shown and luck < probability
        is_rejected = is_shown and not is_accepted
        self._note(int(action), is_accepted)
        self._move(is_rejected)
        self._num_answered += 1
        is_last = self._num_answered == self.num_contexts
        if not is_last:
            self._context = _draw_context(self.np_random)
        reward = suggestion_reward(
            is_shown=is_shown, is_accepted=is_accepted, threshold=self.threshold
        )
        self._rewards.append(reward)
        self._show()
        info = self._info() | {"is_shown": is_shown, "is_accepted": is_accepted}
        return self._observe(), reward, is_last, False, info

    def acceptance_probability(self, action: int | np.integer[Any]) -> float:
        """Return the true P(accept) of an action in the present context, for tests and studies.

        Abstaining gives 0: what is not shown is not accepted. No policy may read this.
        """
        if not self.action_space.contains(action):
            raise ConfigError(f"action {action!r} is not an integer from 0 to {ABSTAIN}")
        candidates = self._current.candidates
        if int(action) == ABSTAIN:
            return 0.0
        candidate = candidates[int(action)]
        return self.acceptance.probability(
            candidate.correctness,
            length=_length(candidate.text),
            interruptions=self._interruptions,
            user_effect=self._user_effect,
        )

    def render(self) -> str | None:
        """Return the code with its cursor and the candidates if `render_mode` is `ansi`."""
        if self.render_mode != "ansi":
            return None
        return self._draw()

    @property
    def _current(self) -> _Context:
        if self._context is None:
            raise ConfigError("call `reset` first: there is no context yet")
        return self._context

    def _meet(self) -> None:
        """Draw the person of an episode."""
        self._user_effect = float(self.np_random.normal(0.0, self.acceptance.user_sd))
        self._interruptions = float(self.np_random.beta(2.0, 4.0))

    def _move(self, is_rejected: bool) -> None:
        """Let the person feel what became of a context."""
        self._interruptions = _MEMORY * self._interruptions + (1.0 - _MEMORY) * is_rejected

    def _note(self, action: int, is_accepted: bool) -> None:
        """Record the answer to the present context."""
        context, index = self._current, len(self._turns)
        text = None if action == ABSTAIN else context.candidates[action].text
        kind = ReactionKind.ACCEPT if is_accepted else ReactionKind.REJECT
        code = f"{context.snippet.prefix}{CURSOR}{context.snippet.suffix}"
        self._turns.append(
            Turn(
                observation=[Message.of("user", code)],
                text=text,
                text_state=TextState.ABSENT if text is None else TextState.of(text),
                reactions=[] if text is None else [Reaction(kind=kind, turn=index)],
                action=action,
                extra={"candidates": [candidate.text for candidate in context.candidates]},
                features=self._observe(),
            )
        )

    def _draw(self) -> str:
        context = self._current
        shown = [f"[{i}] {candidate.text}" for i, candidate in enumerate(context.candidates)]
        return "\n".join([f"{context.snippet.prefix}{CURSOR}{context.snippet.suffix}", *shown])

    def _show(self) -> None:
        """Print what became of the last context and, unless it was the last, the next one."""
        if self.render_mode == "human":
            from .rendering import moment, show

            turn = self._turns[-1] if self._turns else None
            is_over = self._num_answered >= self.num_contexts
            show(moment(turn, None if is_over else self._draw()))

    def _observe(self) -> NDArray[np.float32]:
        context = self._current
        values: list[float] = []
        for candidate, confidence in zip(context.candidates, context.confidences, strict=True):
            lines = min(1.0, (candidate.text.count("\n") + 1) / MAX_LINES)
            values += [confidence, _length(candidate.text), lines]
        values += [float(kind == context.snippet.kind) for kind in KINDS]
        values.append(self._interruptions)
        return np.array(values, dtype=np.float32)

    def _info(self) -> dict[str, Any]:
        context = self._current
        return {
            "prefix": context.snippet.prefix,
            "suffix": context.snippet.suffix,
            "candidates": tuple(candidate.text for candidate in context.candidates),
        }


def _draw_context(rng: np.random.Generator) -> _Context:
    index = int(rng.integers(len(load_snippets())))
    variants = load_variants()[index]
    chosen = tuple(variants[int(i)] for i in rng.permutation(len(variants))[:NUM_CANDIDATES])
    noise = rng.normal(0.0, _CONFIDENCE_NOISE_SD, size=NUM_CANDIDATES)
    confidences = tuple(
        _sigmoid(_CONFIDENCE_BIAS + _CONFIDENCE_SLOPE * candidate.plausibility + float(error))
        for candidate, error in zip(chosen, noise, strict=True)
    )
    return _Context(snippet=load_snippets()[index], candidates=chosen, confidences=confidences)


def _length(text: str) -> float:
    return min(1.0, len(text) / MAX_CHARS)


def _sigmoid(logit: float) -> float:
    # By sign, so that the exponential never overflows.
    if logit >= 0:
        return 1.0 / (1.0 + math.exp(-logit))
    return math.exp(logit) / (1.0 + math.exp(logit))

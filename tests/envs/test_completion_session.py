"""CompletionSession-v0: people who grow deaf, and what that teaches."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest

import sim2live  # noqa: F401 - registers the ids
from sim2live.envs.completion import (
    ABSTAIN,
    NUM_CANDIDATES,
    AcceptanceModel,
    CompletionEnv,
)
from sim2live.envs.completion_session import SESSION_FEATURES, CompletionSessionEnv
from sim2live.errors import ConfigError
from sim2live.interchange import from_atif, to_atif, validate
from sim2live.trajectory import EndReason, ReactionKind, TextState

DEAF, PROGRESS = SESSION_FEATURES.index("is_deaf"), SESSION_FEATURES.index("progress")
REFUSES = AcceptanceModel(intercept=-60.0)


def test_a_session_has_many_cursors_and_says_how_far_it_is() -> None:
    env = gymnasium.make("sim2live/CompletionSession-v0")
    observation, _ = env.reset(seed=0)
    seen = [observation[PROGRESS]]
    is_over = False
    while not is_over:
        observation, _, is_over, _, _ = env.step(np.int64(ABSTAIN))
        seen.append(observation[PROGRESS])
    np.testing.assert_allclose(seen, np.linspace(0, 1, 21), atol=1e-6)


def test_unwanted_suggestions_make_deaf_and_peace_heals() -> None:
    env = CompletionSessionEnv(num_contexts=60, acceptance=REFUSES)
    observation, _ = env.reset(seed=0)
    was_deaf = []
    for action in [0] * 12 + [ABSTAIN] * 12:
        was_deaf.append(bool(observation[DEAF]))
        observation = env.step(np.int64(action))[0]
    assert not was_deaf[0], "pick a seed whose person listens at first"
    first, last = was_deaf.index(True), 23 - was_deaf[::-1].index(True)
    assert 1 <= first <= 5
    assert all(was_deaf[first : last + 1]) and 13 <= last < 23
    assert not observation[DEAF]


def test_the_deaf_accept_nothing_and_hear_again_only_below_the_lower_limit() -> None:
    env = CompletionSessionEnv(num_contexts=400, deaf_at=0.5, hears_again_at=0.2)
    observation, _ = env.reset(seed=3)
    rng = np.random.default_rng(0)
    levels: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(400):
        is_deaf = bool(observation[DEAF])
        levels[is_deaf].append(float(observation[DEAF - 1]))
        action = int(rng.integers(NUM_CANDIDATES + 1)) if not is_deaf else int(rng.choice([0, 3]))
        probability = env.acceptance_probability(action)
        assert (probability > 0) == (not is_deaf and action != ABSTAIN)
        observation, _, _, _, info = env.step(np.int64(action))
        assert not (is_deaf and info["is_accepted"])
    assert min(levels[True]) > 0.2 and max(levels[False]) < 0.5
    assert len(levels[True]) > 20 and len(levels[False]) > 20


def returns(margin: float, seed: int, num_sessions: int = 250) -> np.ndarray:
    """Play "show the best one where P(accept) > threshold + margin"; return one sum a session."""
    env = CompletionSessionEnv()
    assert env.threshold is not None
    sums = []
    for i in range(num_sessions):
        env.reset(seed=seed if i == 0 else None)
        total, is_over = 0.0, False
        while not is_over:
            best = max(range(NUM_CANDIDATES), key=env.acceptance_probability)
            is_worth_it = env.acceptance_probability(best) > env.threshold + margin
            _, reward, is_over, _, _ = env.step(np.int64(best if is_worth_it else ABSTAIN))
            total += reward
        sums.append(total)
    return np.array(sums)


@pytest.mark.parametrize("seed", [0, 1])
def test_sparing_the_person_beats_what_is_best_for_each_context_alone(seed: int) -> None:
    # Both policies meet the same people, contexts and luck, so the difference is taken in pairs.
    gain = returns(0.25, seed) - returns(0.0, seed)
    assert gain.mean() > 3 * gain.std() / np.sqrt(len(gain))


def test_without_deafness_it_is_version_0() -> None:
    one = CompletionSessionEnv(num_contexts=30, deaf_at=1.0, hears_again_at=0.0)
    other = CompletionEnv(num_contexts=30, threshold=0.25)
    a, b = one.reset(seed=5), other.reset(seed=5)
    assert a[1] == b[1]
    for i in range(30):
        a, b = one.step(np.int64(i % 4)), other.step(np.int64(i % 4))
        np.testing.assert_array_equal(a[0][:-2], b[0])
        assert a[1:] == b[1:]


@pytest.mark.parametrize("limits", [(0.5, 0.5), (0.2, 0.5), (1.2, 0.1), (0.5, -0.1)])
def test_limits_out_of_order_are_refused(limits: tuple[float, float]) -> None:
    with pytest.raises(ConfigError, match="hears_again_at"):
        CompletionSessionEnv(deaf_at=limits[0], hears_again_at=limits[1])


def test_the_record_tells_what_was_shown_and_what_became_of_it() -> None:
    env = CompletionSessionEnv(num_contexts=12)
    env.reset(seed=2)
    rewards, accepted = [], []
    for i in range(12):
        if i == 5:
            assert env.trajectory.end is EndReason.UNKNOWN and env.trajectory.reward is None
        _, reward, _, _, info = env.step(np.int64(i % 4))
        rewards.append(reward)
        accepted.append(info["is_accepted"])
    record = env.trajectory
    assert record.end is EndReason.FINISHED and not record.end.is_truncated
    assert record.reward is not None and record.reward.per_turn == rewards
    assert record.reward.total == pytest.approx(sum(rewards))
    for i, turn in enumerate(record.turns):
        assert turn.action == i % 4
        if turn.action == ABSTAIN:
            assert turn.text is None and turn.text_state is TextState.ABSENT
            assert turn.reactions == []
        else:
            assert turn.text == turn.extra["candidates"][i % 4]
            (reaction,) = turn.reactions
            assert (reaction.kind is ReactionKind.ACCEPT) == accepted[i]
    document = to_atif(record)
    validate(document)
    assert from_atif(document) == record
    with pytest.raises(ConfigError, match="call `reset` first"):
        _ = CompletionEnv().trajectory

"""The completion environment: its conformance, its rewards and what can be learnt in it."""

from __future__ import annotations

import ast
import itertools
import math

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st

import sim2live  # noqa: F401 - registers the ids
from sim2live.envs.completion import (
    ABSTAIN,
    FEATURES,
    MAX_CHARS,
    MAX_LINES,
    NUM_CANDIDATES,
    AcceptanceModel,
    CompletionEnv,
    suggestion_reward,
)
from sim2live.envs.completion_corpus import (
    KINDS,
    VARIANTS,
    load_snippets,
    load_variants,
    slip,
)
from sim2live.errors import ConfigError

ENV_ID = "sim2live/Completion-v0"
THRESHOLDS = (0.1, 0.25, 0.5)
SEEDS = (0, 1, 2)


# --- the corpus -----------------------------------------------------------------------------------


def test_corpus_is_large_and_every_kind_is_well_filled() -> None:
    snippets = load_snippets()
    assert len(snippets) >= 60
    assert len({(s.prefix, s.continuation) for s in snippets}) == len(snippets)
    assert all(sum(s.kind == kind for s in snippets) >= 10 for kind in KINDS)


def test_truth_and_slip_are_python_that_means_different_things() -> None:
    for snippet, candidates in zip(load_snippets(), load_variants(), strict=True):
        by_name = dict(zip(VARIANTS, candidates, strict=True))
        truth = ast.dump(ast.parse(snippet.prefix + snippet.continuation + snippet.suffix))
        slipped = ast.parse(snippet.prefix + by_name["slip"].text + snippet.suffix)
        assert truth != ast.dump(slipped), snippet.continuation


def test_variants_are_distinct_and_ordered_in_quality() -> None:
    for candidates in load_variants():
        assert len({c.text for c in candidates}) == len(VARIANTS)
        assert all(c.text.strip() for c in candidates)
        whole, long_cut, short_cut, slipped, stray = candidates
        assert 1.0 == whole.correctness > long_cut.correctness > short_cut.correctness > 0.0
        assert slipped.correctness == stray.correctness == 0.0
        assert whole.text.startswith(long_cut.text)
        assert long_cut.text.startswith(short_cut.text)


def test_no_suggestion_is_longer_than_the_features_can_tell() -> None:
    texts = [c.text for candidates in load_variants() for c in candidates]
    assert max(map(len, texts)) <= MAX_CHARS
    assert max(text.count("\n") + 1 for text in texts) <= MAX_LINES
    assert any("\n" in text for text in texts)


def test_text_that_no_slip_fits_is_refused() -> None:
    with pytest.raises(ConfigError, match="no slip applies"):
        slip("name")


# --- conformance ----------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [{}, {"threshold": 0.25, "num_contexts": 4}])
def test_is_a_clean_gymnasium_environment(arguments: dict[str, float]) -> None:
    check_env(gymnasium.make(ENV_ID, **arguments).unwrapped, skip_render_check=True)


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_runs_in_vector_environments(mode: str) -> None:
    envs = gymnasium.make_vec(ENV_ID, num_envs=2, vectorization_mode=mode, threshold=0.25)
    try:
        observations, infos = envs.reset(seed=3)
        assert observations.shape == (2, len(FEATURES))
        assert len(infos["candidates"][1]) == NUM_CANDIDATES
        single = CompletionEnv(threshold=0.25)
        expected, _ = single.reset(seed=4)  # environment i is seeded with seed + i
        np.testing.assert_array_equal(observations[1], expected)
        _, rewards, terminations, truncations, infos = envs.step(np.array([ABSTAIN, 0]))
        assert rewards[0] == 0.0
        assert rewards[1] == single.step(np.int64(0))[1] != 0.0
        assert terminations.all() and not truncations.any()
        assert infos["is_shown"].tolist() == [False, True]
        envs.step(np.array([0, 0]))  # both start anew
    finally:
        envs.close()


def _play(seed: int, actions: list[int]) -> list[tuple[object, ...]]:
    env = CompletionEnv(num_contexts=len(actions))
    observation, info = env.reset(seed=seed)
    seen: list[tuple[object, ...]] = [(observation.tolist(), info)]
    for action in actions:
        observation, reward, terminated, truncated, info = env.step(np.int64(action))
        seen.append((observation.tolist(), reward, terminated, truncated, info))
    return seen


def test_a_seed_fixes_everything_and_another_gives_something_else() -> None:
    actions = [0, 1, 2, ABSTAIN, 0, 2]
    assert _play(5, actions) == _play(5, actions)
    assert _play(5, actions) != _play(6, actions)


def test_later_contexts_do_not_depend_on_the_actions() -> None:
    texts = [
        [step[-1]["candidates"] for step in _play(7, [action] * 5)]  # type: ignore[index]
        for action in (0, 1, ABSTAIN)
    ]
    assert texts[0] == texts[1] == texts[2]


def test_ends_after_its_contexts_and_then_asks_for_a_reset() -> None:
    env = CompletionEnv(num_contexts=3)
    env.reset(seed=0)
    flags = [env.step(np.int64(ABSTAIN))[2:4] for _ in range(3)]
    assert flags == [(False, False), (False, False), (True, False)]
    with pytest.raises(ConfigError, match="call `reset`"):
        env.step(np.int64(0))
    env.reset()
    env.step(np.int64(0))


def test_observations_stay_in_the_space_and_info_tells_no_secret() -> None:
    env = CompletionEnv(num_contexts=20)
    allowed = {"prefix", "suffix", "candidates", "is_shown", "is_accepted"}
    for seed in range(20):
        observation, info = env.reset(seed=seed)
        env.action_space.seed(seed)
        is_over = False
        while not is_over:
            assert observation in env.observation_space
            assert set(info) <= allowed
            assert observation[9 : 9 + len(KINDS)].sum() == 1.0
            observation, _, is_over, _, info = env.step(env.action_space.sample())
        assert observation in env.observation_space


def test_features_stand_where_their_names_say() -> None:
    env = CompletionEnv()
    for seed in range(20):
        observation, info = env.reset(seed=seed)
        named = dict(zip(FEATURES, observation.tolist(), strict=True))
        for i, text in enumerate(info["candidates"]):
            assert named[f"length_{i}"] == pytest.approx(len(text) / MAX_CHARS)
            assert named[f"lines_{i}"] == pytest.approx(len(text.split("\n")) / MAX_LINES)
        kinds = {s.kind for s in load_snippets() if s.prefix == info["prefix"]}
        assert {kind for kind in KINDS if named[f"kind_{kind}"] == 1.0} == kinds


def test_renders_the_cursor_and_the_candidates() -> None:
    env = CompletionEnv(render_mode="ansi")
    _, info = env.reset(seed=0)
    text = env.render()
    assert text is not None
    assert f"{info['prefix']}|{info['suffix']}" in text
    assert all(candidate in text for candidate in info["candidates"])
    assert CompletionEnv().render() is None


# --- rewards and the person -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("threshold", "accepted", "rejected"),
    [(None, 1.0, -1.0), (0.25, 0.75, -0.25), (0.5, 0.5, -0.5)],
)
def test_reward_table(threshold: float | None, accepted: float, rejected: float) -> None:
    env = CompletionEnv(threshold=threshold, num_contexts=40)
    seen = set()
    env.reset(seed=1)
    for action in itertools.islice(itertools.cycle(range(NUM_CANDIDATES + 1)), 40):
        _, reward, _, _, info = env.step(np.int64(action))
        assert info["is_shown"] == (action != ABSTAIN)
        seen.add((info["is_shown"], info["is_accepted"], reward))
    assert seen == {(True, True, accepted), (True, False, rejected), (False, False, 0.0)}


@settings(max_examples=40, deadline=None)
@given(threshold=st.floats(0.01, 0.99), first_seed=st.integers(0, 2**31))
def test_showing_pays_exactly_when_acceptance_is_likelier_than_the_threshold(
    threshold: float, first_seed: int
) -> None:
    env = CompletionEnv(threshold=threshold)
    for seed in range(first_seed, first_seed + 10):
        env.reset(seed=seed)
        for action in range(NUM_CANDIDATES):
            p = env.acceptance_probability(action)
            gain = p * suggestion_reward(is_shown=True, is_accepted=True, threshold=threshold)
            loss = (1 - p) * suggestion_reward(
                is_shown=True, is_accepted=False, threshold=threshold
            )
            if not math.isclose(p, threshold, abs_tol=1e-12):
                assert np.sign(gain + loss) == np.sign(p - threshold)
        assert env.acceptance_probability(ABSTAIN) == 0.0


def test_people_accept_as_often_as_the_stated_probability() -> None:
    env = CompletionEnv()
    surprise, variance = 0.0, 0.0
    for i in range(3000):
        env.reset(seed=11 if i == 0 else None)
        p = env.acceptance_probability(i % NUM_CANDIDATES)
        surprise += env.step(np.int64(i % NUM_CANDIDATES))[4]["is_accepted"] - p
        variance += p * (1 - p)
    assert abs(surprise) < 4 * math.sqrt(variance)


def test_rejections_annoy_and_peace_heals() -> None:
    env = CompletionEnv(num_contexts=30, acceptance=AcceptanceModel(intercept=-60.0))
    for action, is_rising in ((0, True), (ABSTAIN, False)):
        observation, _ = env.reset(seed=2)
        levels = [float(observation[-1])]
        levels += [float(env.step(np.int64(action))[0][-1]) for _ in range(30)]
        assert all((b > a) == is_rising for a, b in itertools.pairwise(levels))


def test_acceptance_follows_the_signs_of_its_weights() -> None:
    model = AcceptanceModel()
    base = {"length": 0.3, "interruptions": 0.3, "user_effect": 0.0}
    p = model.probability(0.5, **base)
    assert model.probability(1.0, **base) > p
    assert model.probability(0.5, **(base | {"length": 0.9})) < p
    assert model.probability(0.5, **(base | {"interruptions": 0.9})) < p
    assert model.probability(0.5, **(base | {"user_effect": 1.0})) > p
    # Equal log-odds on both sides of 0 are equal distances from one half.
    flat = AcceptanceModel(intercept=0.0, length_weight=0.0, interruption_weight=0.0)
    assert flat.probability(0.0, **base) == 0.5
    assert flat.probability(0.0, **(base | {"user_effect": 800.0})) == 1.0
    assert flat.probability(0.0, **(base | {"user_effect": -800.0})) == 0.0


def test_people_differ_by_the_stated_deviation() -> None:
    env = CompletionEnv(
        acceptance=AcceptanceModel(
            correctness_weight=0.0, length_weight=0.0, interruption_weight=0.0, user_sd=0.5
        )
    )
    logits = []
    for seed in range(800):
        env.reset(seed=seed)
        p = env.acceptance_probability(0)
        logits.append(math.log(p / (1 - p)))
    assert np.mean(logits) == pytest.approx(-3.0, abs=0.08)
    assert np.std(logits) == pytest.approx(0.5, abs=0.05)


def test_confidence_goes_with_correctness_and_is_not_equal_to_it() -> None:
    env = CompletionEnv(acceptance=AcceptanceModel(length_weight=0.0, user_sd=0.0))
    confidences, odds = [], []
    for seed in range(600):
        observation, _ = env.reset(seed=seed)
        for i in range(NUM_CANDIDATES):
            confidences.append(float(observation[3 * i]))
            p = env.acceptance_probability(i)
            odds.append(math.log(p / (1 - p)))
    assert 0.3 < np.corrcoef(confidences, odds)[0, 1] < 0.9


# --- what can be learnt ---------------------------------------------------------------------------


def _greedy_rates(threshold: float, seed: int, num_contexts: int = 1500) -> tuple[float, float]:
    env = CompletionEnv(threshold=threshold)
    shown, accepted = 0, 0
    for i in range(num_contexts):
        env.reset(seed=seed if i == 0 else None)
        best = max(range(NUM_CANDIDATES), key=env.acceptance_probability)
        action = best if env.acceptance_probability(best) > threshold else ABSTAIN
        info = env.step(np.int64(action))[4]
        shown += info["is_shown"]
        accepted += info["is_accepted"]
    return shown / num_contexts, accepted / shown


@pytest.mark.parametrize("seed", SEEDS)
def test_a_higher_threshold_shows_less_and_is_accepted_more(seed: int) -> None:
    rates = [_greedy_rates(threshold, seed) for threshold in THRESHOLDS]
    for (more_shown, less_accepted), (less_shown, more_accepted) in itertools.pairwise(rates):
        assert more_shown > less_shown > 0.05
        assert less_accepted < more_accepted < 1.0


def _learn(threshold: float, seed: int, num_episodes: int = 8000) -> float:
    """Train a softmax policy by REINFORCE; return how often its best action shows something.

    Candidate i scores w . (logit of confidence, length, lines, interruptions, 1), abstaining 0.
    Each update averages 20 episodes; the step falls linearly to 0.
    """
    rng = np.random.default_rng(seed)
    env = CompletionEnv(threshold=threshold)
    weights, gradient = np.zeros(5), np.zeros(5)
    env.reset(seed=seed)
    for episode in range(num_episodes):
        features = _features(env.reset()[0])
        scores = np.exp(features @ weights)
        policy = scores / scores.sum()
        action = int(rng.choice(NUM_CANDIDATES + 1, p=policy))
        reward = env.step(np.int64(action))[1]
        gradient += reward * (features[action] - policy @ features) / 20
        if episode % 20 == 19:
            weights += 3.0 * (1.0 - episode / num_episodes) * gradient
            gradient[:] = 0.0
    tested = [_features(env.reset()[0]) @ weights for _ in range(1000)]
    return float(np.mean([scores[:ABSTAIN].max() > 0.0 for scores in tested]))


def _features(observation: np.ndarray) -> np.ndarray:
    features = np.zeros((NUM_CANDIDATES + 1, 5))
    features[:ABSTAIN, :3] = observation[:9].reshape(NUM_CANDIDATES, 3)
    features[:ABSTAIN, 0] = np.log(features[:ABSTAIN, 0] / (1.0 - features[:ABSTAIN, 0]))
    features[:ABSTAIN, 3:] = observation[-1], 1.0
    return features


@pytest.mark.parametrize("seed", SEEDS)
def test_reinforce_learns_to_abstain_more_under_a_higher_threshold(seed: int) -> None:
    low, middle, high = (_learn(threshold, seed) for threshold in THRESHOLDS)
    assert low > middle + 0.01
    assert middle > high + 0.2


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("threshold", [0.0, 1.0, -0.2, 1.5, float("nan")])
def test_a_threshold_outside_the_open_unit_interval_is_refused(threshold: float) -> None:
    with pytest.raises(ConfigError, match="strictly between 0 and 1"):
        CompletionEnv(threshold=threshold)


@pytest.mark.parametrize("num_contexts", [0, -3, 1.5])
def test_an_episode_without_contexts_is_refused(num_contexts: float) -> None:
    with pytest.raises(ConfigError, match="1 or more"):
        CompletionEnv(num_contexts=num_contexts)  # type: ignore[arg-type]


def test_an_acceptance_model_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(ConfigError, match="`user_sd`"):
        AcceptanceModel(user_sd=-1.0)
    with pytest.raises(ConfigError, match="`intercept`"):
        AcceptanceModel(intercept=float("inf"))


def test_actions_need_a_context_and_must_exist() -> None:
    env = CompletionEnv()
    with pytest.raises(ConfigError, match="call `reset` first"):
        env.step(np.int64(0))
    env.reset(seed=0)
    with pytest.raises(ConfigError, match="from 0 to 3"):
        env.step(np.int64(4))

"""A language model as a policy, on a tiny random one (its distributions are sharp on purpose)."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch

from sim2live.agents import checkpoint
from sim2live.agents.hf_policy import TransformersPolicy
from sim2live.agents.learner import PolicyGradientLearner
from sim2live.agents.learner_config import LearnerConfig
from sim2live.agents.tiny_lm import make_tiny_lm
from sim2live.agents.trainable import TrainablePolicy
from sim2live.errors import ConfigError, MissingExtraError, ModelError
from sim2live.trajectory import RewardReport, Source, Trajectory, Turn

CHATS: list[list[dict[str, str]]] = [
    [{"role": "user", "content": "The function is wrong; please repair it."}],
    [{"role": "user", "content": "hi"}],
    [
        {"role": "system", "content": "You repair code."},
        {"role": "user", "content": "def add(left, right):\n    return left - right"},
        {"role": "assistant", "content": '{"tool": "run_tests", "arguments": {}}'},
        {"role": "user", "content": "1 failed: naïve ✓"},
    ],
]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_lm(tmp_path_factory.mktemp("tiny"), seed=0)


@pytest.fixture
def policy(folder: Path) -> TransformersPolicy:
    policy = TransformersPolicy.from_pretrained(folder, max_new_tokens=12, temperature=0.8, seed=3)
    # A random model rarely says its end token; more of them make completions of all lengths.
    policy._stop_ids = policy._stop_ids | frozenset(range(2, 320, 12))
    return policy


def as_turns(policy: TransformersPolicy, chats: list[Any], **options: Any) -> list[Turn]:
    return [
        Turn(
            text=action.value,
            prompt_token_ids=action.prompt_token_ids,
            completion_token_ids=action.completion_token_ids,
            logprobs=action.logprobs,
        )
        for action in policy.act(chats, **options)
    ]


def test_recomputed_logprobs_equal_the_sampled_ones(policy: TransformersPolicy) -> None:
    """Sampling is left-padded with a cache, evaluation right-padded without: they must agree."""
    assert isinstance(policy, TrainablePolicy)
    turns = [turn for _ in range(4) for turn in as_turns(policy, CHATS)]
    evaluation = policy.evaluate(turns)
    lengths = {len(turn.completion_token_ids or []) for turn in turns}
    assert len(lengths) > 1  # some were ended by the model, so rows are padded
    for i, turn in enumerate(turns):
        assert turn.logprobs is not None
        n = len(turn.logprobs)
        assert evaluation.mask[i].tolist() == [True] * n + [False] * (evaluation.mask.shape[1] - n)
        torch.testing.assert_close(
            evaluation.logprobs[i, :n].detach(), torch.tensor(turn.logprobs), atol=2e-5, rtol=1e-4
        )
        assert torch.all(evaluation.logprobs[i, n:] == 0)
    assert min(min(turn.logprobs or [0]) for turn in turns) < -1.0  # not all certain


def test_left_padding_does_not_move_positions(policy: TransformersPolicy) -> None:
    """With rotary positions a shift goes unnoticed; with learnt absolute ones it must not."""
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(
        vocab_size=320,
        n_embd=32,
        n_layer=2,
        n_head=4,
        n_positions=256,
        bos_token_id=None,
        eos_token_id=1,
    )
    torch.manual_seed(0)
    model = GPT2LMHeadModel(config)
    with torch.no_grad():
        model.transformer.wpe.weight.mul_(30.0)
        model.transformer.wte.weight.mul_(15.0)
    absolute = TransformersPolicy(model, policy.tokenizer, max_new_tokens=6, seed=1)
    turns = as_turns(absolute, CHATS)
    evaluation = absolute.evaluate(turns)
    for i, turn in enumerate(turns):
        sampled = torch.tensor(turn.logprobs)
        recomputed = evaluation.logprobs[i, : len(sampled)].detach()
        torch.testing.assert_close(recomputed, sampled, atol=1e-4, rtol=1e-3)


def test_logprobs_are_those_of_an_unpadded_unbatched_forward(policy: TransformersPolicy) -> None:
    for turn in as_turns(policy, CHATS):
        prompt, completion = turn.prompt_token_ids or [], turn.completion_token_ids or []
        with torch.no_grad():
            logits = policy.model(torch.tensor([prompt + completion])).logits[0].double()
        for k, token in enumerate(completion):
            scaled = logits[len(prompt) + k - 1] / 0.8
            expected = float(scaled[token] - torch.logsumexp(scaled, 0))
            assert (turn.logprobs or [])[k] == pytest.approx(expected, abs=5e-5)


def test_sampling_frequencies_match_the_recorded_distribution(folder: Path) -> None:
    """A hidden top-k or top-p cut would make the recorded log-probabilities a lie."""
    policy = TransformersPolicy.from_pretrained(folder, max_new_tokens=1, temperature=1.5, seed=0)
    n = 4000
    actions = policy.act([CHATS[1]] * n)
    prompt = policy.render(CHATS[1])
    with torch.no_grad():
        p = torch.softmax(policy.model(torch.tensor([prompt])).logits[0, -1].double() / 1.5, 0)
    draws = torch.zeros_like(p)
    for action in actions:
        assert action.completion_token_ids is not None
        draws[action.completion_token_ids[0]] += 1
    error = (draws / n - p).abs()
    assert torch.all(error < 5 * torch.sqrt(p * (1 - p) / n) + 2 / n)
    outside_top_50 = p.sort(descending=True).values[50:].sum()
    assert outside_top_50 > 0.05  # the check could not fail otherwise
    seen_outside = draws[p.sort(descending=True).indices[50:]].sum() / n
    assert float(seen_outside) == pytest.approx(float(outside_top_50), rel=0.3)


def test_the_stored_ids_are_evaluated_whatever_the_tokenizer_does(
    policy: TransformersPolicy, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = as_turns(policy, CHATS)
    # These ids are no text that encodes back to themselves: merges would join single letters.
    letters = policy.tokenizer.convert_tokens_to_ids(list("left"))
    again = policy.tokenizer("left", add_special_tokens=False)["input_ids"]
    assert again != letters
    turns.append(Turn(prompt_token_ids=[5, 6, 7], completion_token_ids=letters, text="left"))
    before = policy.evaluate(turns)
    assert int(before.mask[-1].sum()) == len(letters)

    class Broken:
        def __getattr__(self, name: str) -> Any:
            raise AssertionError(f"evaluate used the tokenizer: {name}")

    monkeypatch.setattr(policy, "tokenizer", Broken())
    for turn in turns:
        turn.text = "something else"
    after = policy.evaluate(turns)
    torch.testing.assert_close(after.logprobs, before.logprobs)


def test_entropy_is_the_mean_over_completion_tokens(policy: TransformersPolicy) -> None:
    turns = as_turns(policy, CHATS)
    evaluation = policy.evaluate(turns)
    for i, turn in enumerate(turns):
        prompt, completion = turn.prompt_token_ids or [], turn.completion_token_ids or []
        with torch.no_grad():
            logits = policy.model(torch.tensor([prompt + completion])).logits[0]
        p = torch.softmax(logits[len(prompt) - 1 : -1].double() / 0.8, dim=1)
        expected = float(-(p * p.log()).sum(dim=1).mean())
        assert evaluation.entropy[i].item() == pytest.approx(expected, rel=1e-4)


def test_seeds_fix_the_text_and_leave_the_global_generator_alone(folder: Path) -> None:
    def texts(seed: int) -> list[str]:
        policy = TransformersPolicy.from_pretrained(folder, max_new_tokens=8, seed=seed)
        return [action.value for action in policy.act(CHATS)]

    torch.manual_seed(0)
    expected = torch.rand(1)
    torch.manual_seed(0)
    assert texts(1) == texts(1) != texts(2)
    assert torch.equal(torch.rand(1), expected)


def test_greedy_text_does_not_depend_on_padding_or_seed(policy: TransformersPolicy) -> None:
    together = policy.act(CHATS, greedy=True)
    for chat, action in zip(CHATS, together, strict=True):
        alone = policy.act([chat], greedy=True)[0]
        assert alone.completion_token_ids == action.completion_token_ids
        assert action.logprobs == [0.0] * len(action.completion_token_ids or [])


def test_a_completion_ends_with_an_end_token_or_at_the_limit(policy: TransformersPolicy) -> None:
    endings = set()
    for turn in (turn for _ in range(10) for turn in as_turns(policy, CHATS)):
        ids = turn.completion_token_ids or []
        assert not policy._stop_ids & set(ids[:-1])
        ended = ids[-1] in policy._stop_ids
        assert ended or len(ids) == 12
        endings.add(ended)
    assert endings == {True, False}


def test_the_end_token_is_kept_among_the_ids_and_left_out_of_the_text(folder: Path) -> None:
    policy = TransformersPolicy.from_pretrained(folder, max_new_tokens=3)
    end = policy.tokenizer.eos_token_id
    assert end in policy._stop_ids
    with torch.no_grad():  # a model to which all tokens are alike
        policy.model.model.norm.weight.fill_(0.0)
        policy.model.lm_head.weight.fill_(0.0)
    assert policy._decode([*policy.tokenizer("done")["input_ids"], end]) == "done"
    policy._stop_ids = frozenset(range(320))
    action = policy.act(CHATS[:1])[0]
    assert len(action.completion_token_ids or []) == 1
    assert action.logprobs == [pytest.approx(-math.log(320), abs=1e-5)]


def test_the_prompt_is_the_chat_template_or_a_plain_layout(policy: TransformersPolicy) -> None:
    assert (
        policy.tokenizer.decode(policy.render(CHATS[1])) == "<|user|>\nhi<|end|>\n<|assistant|>\n"
    )
    policy.tokenizer.chat_template = None
    assert policy.tokenizer.decode(policy.render(CHATS[1])) == "user: hi\nassistant:"


def test_a_template_that_refuses_is_a_model_error(policy: TransformersPolicy) -> None:
    policy.tokenizer.chat_template = "{{ raise_exception('roles must alternate') }}"
    with pytest.raises(ModelError, match="roles must alternate"):
        policy.act(CHATS)


def test_a_conversation_beyond_the_context_is_refused(policy: TransformersPolicy) -> None:
    long = [{"role": "user", "content": "x" * 2100}]
    assert policy.fits(CHATS[0]) and not policy.fits(long)
    with pytest.raises(ModelError, match=r"conversation 1 has \d+ tokens .* holds 2048"):
        policy.act([CHATS[0], long])


def test_turns_without_ids_cannot_be_evaluated(policy: TransformersPolicy) -> None:
    assert not policy.can_evaluate(Turn(text="hello"))
    with pytest.raises(ModelError, match="turn 0 lacks"):
        policy.evaluate([Turn(text="hello", completion_token_ids=[1])])


def test_nan_weights_are_reported_when_acting(policy: TransformersPolicy) -> None:
    with torch.no_grad():
        policy.model.lm_head.weight.fill_(math.nan)
    with pytest.raises(ModelError, match="`v0` gives NaN"):
        policy.act(CHATS)


def test_state_restores_weights_sampling_and_version(
    policy: TransformersPolicy, folder: Path, tmp_path: Path
) -> None:
    policy.version = "v5"
    with torch.no_grad():
        policy.model.lm_head.weight.mul_(1.5)
    path = checkpoint.save(tmp_path / "c.pt", policy=policy.state_dict())
    expected = [action.completion_token_ids for action in policy.act(CHATS)]
    other = TransformersPolicy.from_pretrained(folder, max_new_tokens=12, seed=77)
    other._stop_ids = policy._stop_ids
    other.load_state_dict(checkpoint.load(path)["policy"])
    assert other.version == "v5"
    assert [action.completion_token_ids for action in other.act(CHATS)] == expected
    with pytest.raises(ConfigError, match="skill_policy"):
        other.load_state_dict({"kind": "skill_policy"})


def test_a_saved_model_is_read_back(policy: TransformersPolicy, tmp_path: Path) -> None:
    policy.save_pretrained(tmp_path)
    other = TransformersPolicy.from_pretrained(tmp_path, max_new_tokens=12)
    other._stop_ids = policy._stop_ids
    first, second = (p.act(CHATS, greedy=True) for p in (policy, other))
    assert [a.value for a in first] == [a.value for a in second]


def test_the_tiny_model_is_fixed_by_its_seed(folder: Path, tmp_path: Path) -> None:
    same, other = make_tiny_lm(tmp_path / "a", seed=0), make_tiny_lm(tmp_path / "b", seed=1)
    weights = [(f / "model.safetensors").read_bytes() for f in (folder, same, other)]
    assert weights[0] == weights[1] != weights[2]
    tokens = [(f / "tokenizer.json").read_text() for f in (folder, same, other)]
    assert tokens[0] == tokens[1] == tokens[2]


def test_folders_that_hold_no_model_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="Nothing is downloaded"):
        TransformersPolicy.from_pretrained(tmp_path / "absent")
    with pytest.raises(ConfigError, match=r"0 `\.gguf` files"):
        TransformersPolicy.from_pretrained(tmp_path)
    (tmp_path / "a.gguf").touch()
    (tmp_path / "b.gguf").touch()
    with pytest.raises(ConfigError, match=r"2 `\.gguf` files"):
        TransformersPolicy.from_pretrained(tmp_path)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ModelError, match="loading the language model"):
        TransformersPolicy.from_pretrained(tmp_path)


def test_a_gguf_file_needs_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "model.gguf").touch()
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match="pip install gguf"):
        TransformersPolicy.from_pretrained(tmp_path)


def test_wrong_options_are_refused(folder: Path) -> None:
    for options in ({"temperature": 0.0}, {"max_new_tokens": 0}):
        with pytest.raises(ConfigError, match="at least 1 token"):
            TransformersPolicy.from_pretrained(folder, **options)


def trajectories(policy: TransformersPolicy, num_groups: int = 4) -> list[Trajectory]:
    """Return groups of 4 answers; a completion earns its share of tokens with an even id."""
    batch = []
    for g in range(num_groups):
        for turn in as_turns(policy, [CHATS[g % len(CHATS)]] * 4):
            ids = turn.completion_token_ids or []
            batch.append(
                Trajectory(
                    id=str(len(batch)),
                    task_id=f"t{g}",
                    source=Source.SIMULATED,
                    turns=[turn],
                    reward=RewardReport(total=sum(i % 2 == 0 for i in ids) / len(ids)),
                )
            )
    return batch


@pytest.mark.parametrize("normaliser", ["sequence", "token", "constant"])
def test_a_grpo_step_on_text_equals_a_naive_loop_over_tokens(
    policy: TransformersPolicy, normaliser: Any
) -> None:
    batch = trajectories(policy)
    for trajectory in batch:  # the data is a little old
        turn = trajectory.turns[0]
        turn.logprobs = [lp + 0.1 * ((i * 7) % 5 - 2) for i, lp in enumerate(turn.logprobs or [])]
    lengths = [len(t.turns[0].completion_token_ids or []) for t in batch]
    assert len(set(lengths)) > 1
    config = LearnerConfig(algorithm="grpo", normaliser=normaliser, constant_length=12.0)

    expected = 0.0
    for b, trajectory in enumerate(batch):
        rewards = [t.reward.total for t in batch[b // 4 * 4 : b // 4 * 4 + 4]]  # type: ignore[union-attr]
        mean = sum(rewards) / 4  # type: ignore[arg-type]
        std = math.sqrt(sum((r - mean) ** 2 for r in rewards) / 3)  # type: ignore[operator]
        gain = (rewards[b % 4] - mean) / (std + 1e-4)  # type: ignore[operator]
        turn = trajectory.turns[0]
        prompt, completion = turn.prompt_token_ids or [], turn.completion_token_ids or []
        with torch.no_grad():
            logits = policy.model(torch.tensor([prompt + completion])).logits[0].double()
        for k, token in enumerate(completion):
            scaled = logits[len(prompt) + k - 1] / 0.8
            lp = float(scaled[token] - torch.logsumexp(scaled, 0))
            weight = min(math.exp(lp - (turn.logprobs or [])[k]), 2.0)
            scale = {
                "sequence": 1 / (len(batch) * lengths[b]),
                "token": 1 / sum(lengths),
                "constant": 1 / (len(batch) * 12.0),
            }[normaliser]
            expected -= scale * weight * gain
    metrics = PolicyGradientLearner(policy, config).update(batch)
    assert metrics["train/loss"] == pytest.approx(expected, rel=1e-3, abs=1e-5)
    assert policy.version == "v1"


def test_micro_batches_with_other_padding_do_not_change_the_update(folder: Path) -> None:
    results = []
    for size in (None, 3):
        policy = TransformersPolicy.from_pretrained(folder, max_new_tokens=12, seed=3)
        config = LearnerConfig(algorithm="grpo", lr=1e-3, microbatch_turns=size)
        metrics = PolicyGradientLearner(policy, config).update(trajectories(policy))
        vector = torch.cat([p.detach().flatten() for _, p in policy.named_parameters()])
        results.append((metrics, vector))
    assert results[0][0] == pytest.approx(results[1][0], rel=1e-2, abs=1e-5, nan_ok=True)
    torch.testing.assert_close(results[0][1], results[1][1], rtol=1e-3, atol=1e-4)


def test_training_on_text_raises_the_reward(folder: Path) -> None:
    policy = TransformersPolicy.from_pretrained(folder, max_new_tokens=6, seed=0)
    learner = PolicyGradientLearner(policy, LearnerConfig(algorithm="rloo", lr=2e-2))
    rewards = [learner.update(trajectories(policy))["train/mean_reward"] for _ in range(15)]
    assert sum(rewards[-3:]) / 3 > sum(rewards[:3]) / 3 + 0.2

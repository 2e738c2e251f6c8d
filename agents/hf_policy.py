"""A Transformers language model as a policy: chat messages in, sampled text out.

It keeps what reinforcement learning needs and a text interface loses: the token ids of the prompt
and of the completion, and the log-probability of every sampled token. `evaluate` works on the
stored ids and never tokenises text again, since decoding and encoding may give other tokens.

Log-probabilities are those of the distribution that was sampled from: softmax(logits / temperature)
over the whole vocabulary, in float32, with no top-k or top-p cut; `evaluate` applies the same
temperature. The model stays in evaluation mode, also in training: dropout would make the
log-probability of the same token differ between sampling and learning.

Legend: B observations, N turns, T completion tokens, P prompt tokens, V vocabulary. Not covered:
several devices, adapters, quantised training.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import signature
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor, nn

from ..errors import ConfigError, MissingExtraError, ModelError, boundary
from ..trajectory import Turn
from .base import Action
from .trainable import Evaluation

ChatMessages = Sequence[Mapping[str, str]]
"""A conversation so far: mappings with `role` and `content`."""


@dataclass(slots=True, kw_only=True)
class _Sampled:
    """One completion as it grows."""

    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    is_over: bool = False


class TransformersPolicy:
    """A causal language model that answers chat messages.

    Args:
        model: a Transformers causal language model; it is moved to `device` and trained in place.
        tokenizer: its tokenizer; its chat template is used if it has one, else a plain layout.
        max_new_tokens: longest completion.
        temperature: divides the logits; above 0. For the most likely text use `act(greedy=True)`.
        device: where the model runs.
        dtype: type of the weights; None leaves them as they are. Training needs float32 or
            bfloat16.
        seed: seeds the sampling.
        version: version of the weights given.

    Raises:
        ConfigError: an option is out of range.
    """

    observes = "messages"

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        max_new_tokens: int = 256,
        temperature: float = 1.0,
        device: str | torch.device = "cpu",
        dtype: torch.dtype | None = None,
        seed: int = 0,
        version: str = "v0",
    ) -> None:
        if max_new_tokens < 1 or not temperature > 0:
            raise ConfigError(
                f"max_new_tokens is {max_new_tokens} and temperature {temperature}; expected at "
                "least 1 token and a temperature above 0 (for the most likely text, act greedily)."
            )
        self.device = torch.device(device)
        self.model = model.to(device=self.device, dtype=dtype).eval()
        self.tokenizer = tokenizer
        self.max_new_tokens = max_new_tokens
        self.temperature = temperature
        self.version = version
        self._generator = torch.Generator(device=self.device).manual_seed(seed)
        accepted = signature(self.model.forward).parameters
        # Transformers renamed the argument and field; both names are in releases that we support.
        self._cache_name = "cache" if "cache" in accepted else "past_key_values"
        # Where a model offers it, the (B, P, V) logits of the prompt are not computed.
        self._last_only = {"logits_to_keep": 1} if "logits_to_keep" in accepted else {}
        self._stop_ids = _stop_ids(model, tokenizer)
        pad = tokenizer.pad_token_id
        # Padding is masked, so any id of the vocabulary will do where there is no pad token.
        self._pad_id = int(pad) if pad is not None else 0

    @classmethod
    def from_pretrained(cls, path: str | os.PathLike[str], **options: Any) -> Self:
        """Load a local model folder; nothing is downloaded.

        Args:
            path: a folder in Transformers' layout, or one that holds a single `.gguf` file (which
                is dequantised).
            **options: keyword arguments of the constructor.

        Raises:
            ConfigError: there is no such folder, or it holds no model or several.
            MissingExtraError: a `.gguf` file needs the `gguf` package, which is not installed.
            ModelError: Transformers cannot load what is there.
        """
        folder = Path(path)
        source: dict[str, Any] = {"local_files_only": True}
        gguf = find_gguf(folder)
        if gguf is not None:
            source["gguf_file"] = gguf
        from transformers import AutoModelForCausalLM, AutoTokenizer

        with boundary(ModelError, f"loading the language model in `{folder}`"):
            tokenizer = AutoTokenizer.from_pretrained(str(folder), **source)
            model = AutoModelForCausalLM.from_pretrained(
                str(folder), dtype=options.get("dtype") or torch.float32, **source
            )
        return cls(model, tokenizer, **options)

    def save_pretrained(self, path: str | os.PathLike[str]) -> None:
        """Write model and tokenizer in Transformers' layout, for other software to serve."""
        self.model.save_pretrained(path)
        self.tokenizer.save_pretrained(path)

    def render(self, messages: ChatMessages) -> list[int]:
        """Return the prompt's token ids, ending where the assistant is to speak.

        Raises:
            ModelError: the chat template refuses the messages.
        """
        if not self.tokenizer.chat_template:
            lines = [f"{message['role']}: {message['content']}" for message in messages]
            return list(self.tokenizer("\n".join([*lines, "assistant:"]))["input_ids"])
        with boundary(ModelError, "rendering the conversation with the chat template"):
            text = self.tokenizer.apply_chat_template(
                list(messages), tokenize=False, add_generation_prompt=True
            )
        # The template has written the special tokens already; adding them again would double them.
        return list(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    def fits(self, messages: ChatMessages) -> bool:
        """Say whether the conversation and a whole completion fit the model's context."""
        return self._excess(len(self.render(messages))) <= 0

    @torch.no_grad()
    def act(self, observations: Sequence[ChatMessages], *, greedy: bool = False) -> list[Action]:
        """Sample an answer to each conversation, or take the most likely tokens.

        A greedy token was certain, so its log-probability under the behaviour policy is 0.

        Raises:
            ModelError: a conversation is empty or does not fit the context, or a logit is NaN.
        """
        if not len(observations):
            return []
        prompts = [self.render(messages) for messages in observations]
        for i, prompt in enumerate(prompts):
            if not prompt or self._excess(len(prompt)) > 0:
                raise ModelError(
                    f"conversation {i} has {len(prompt)} tokens and may get {self.max_new_tokens} "
                    f"more; the context holds {self._context()}, and a prompt needs at least 1. "
                    "End the episode before (see `fits`), or lower max_new_tokens."
                )
        sampled = self._sample(prompts, greedy)
        return [
            Action(
                value=self._decode(one.ids),
                prompt_token_ids=prompt,
                completion_token_ids=one.ids,
                logprobs=one.logprobs,
            )
            for prompt, one in zip(prompts, sampled, strict=True)
        ]

    def can_evaluate(self, turn: Turn) -> bool:
        """Say whether the turn records sampled tokens."""
        return bool(turn.completion_token_ids)

    def evaluate(self, turns: Sequence[Turn]) -> Evaluation:
        """Recompute the log-probabilities of exactly the stored completion ids.

        Raises:
            ModelError: a turn lacks the ids of its prompt or completion.
        """
        pairs: list[tuple[list[int], list[int]]] = []
        for i, turn in enumerate(turns):
            if not turn.prompt_token_ids or not turn.completion_token_ids:
                raise ModelError(
                    f"turn {i} lacks prompt or completion token ids; they must be recorded when it "
                    "is sampled, since text cannot be turned back into the same tokens."
                )
            pairs.append((turn.prompt_token_ids, turn.completion_token_ids))
        ids, attention = self._pad([[*p, *c] for p, c in pairs], left=False)
        logits = self.model(input_ids=ids, attention_mask=attention, use_cache=False).logits
        longest = max(len(completion) for _, completion in pairs)
        # The logits at position j give the token at j + 1, so a completion that begins at P is
        # read off from P - 1 on. Rows shorter than the longest repeat their last position, masked.
        offset = torch.arange(longest, device=self.device)
        start = torch.tensor([len(prompt) for prompt, _ in pairs], device=self.device)
        length = torch.tensor([len(completion) for _, completion in pairs], device=self.device)
        mask = offset < length.unsqueeze(1)
        position = torch.minimum(start.unsqueeze(1) + offset, (start + length - 1).unsqueeze(1))
        rows = torch.arange(len(pairs), device=self.device).unsqueeze(1)
        logprobs = self._log_softmax(logits[rows, position - 1])  # (N, T, V)
        chosen = logprobs.gather(2, ids[rows, position].unsqueeze(2)).squeeze(2)
        entropy = -(logprobs.exp() * logprobs).sum(dim=2).masked_fill(~mask, 0.0)
        return Evaluation(
            logprobs=chosen.masked_fill(~mask, 0.0),
            mask=mask,
            entropy=entropy.sum(dim=1) / length,
        )

    def named_parameters(self) -> Iterator[tuple[str, nn.Parameter]]:
        """Yield the model's weights with their names."""
        parameters: Iterator[tuple[str, nn.Parameter]] = self.model.named_parameters()
        return parameters

    def state_dict(self) -> dict[str, Any]:
        """Return weights, sampling state and version."""
        return {
            "kind": "transformers_policy",
            "version": self.version,
            "temperature": self.temperature,
            "weights": {k: v.detach().cpu().clone() for k, v in self.model.state_dict().items()},
            "generator": self._generator.get_state(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned.

        Raises:
            ConfigError: the state belongs to another kind of policy or to other weights.
        """
        if state.get("kind") != "transformers_policy":
            raise ConfigError(
                f"the state is of kind `{state.get('kind')}`; expected `transformers_policy`."
            )
        with boundary(ConfigError, "loading the weights into this model"):
            self.model.load_state_dict(state["weights"])
        self._generator.set_state(state["generator"])
        self.temperature = float(state["temperature"])
        self.version = str(state["version"])

    def _sample(self, prompts: Sequence[list[int]], greedy: bool) -> list[_Sampled]:
        """Generate one completion for each prompt, all in one left-padded batch."""
        ids, attention = self._pad(prompts, left=True)
        # Positions count real tokens: with left padding, column and position differ.
        position = (attention.cumsum(dim=1) - 1).clamp(min=0)
        sampled = [_Sampled() for _ in prompts]
        cache: dict[str, Any] = {}
        for _ in range(self.max_new_tokens):
            output = self.model(
                input_ids=ids,
                attention_mask=attention,
                position_ids=position,
                use_cache=True,
                **self._last_only,
                **cache,
            )
            cache = {self._cache_name: getattr(output, self._cache_name)}
            chosen, logprobs = self._choose(output.logits[:, -1], greedy)
            for one, token, logprob in zip(
                sampled, chosen.tolist(), logprobs.tolist(), strict=True
            ):
                if not one.is_over:
                    one.ids.append(token)
                    one.logprobs.append(logprob)
                    one.is_over = token in self._stop_ids
            if all(one.is_over for one in sampled):
                break
            ids = chosen.unsqueeze(1)
            attention = torch.cat([attention, torch.ones_like(ids)], dim=1)
            position = position[:, -1:] + 1
        return sampled

    def _choose(self, logits: Tensor, greedy: bool) -> tuple[Tensor, Tensor]:
        """Return the next token of each row of (B, V) logits and its log-probability, (B,) each."""
        logprobs = self._log_softmax(logits)
        if not torch.isfinite(logprobs.amax(dim=1)).all():
            raise ModelError(
                f"the model of version `{self.version}` gives NaN logits; its weights are damaged. "
                "Load an earlier checkpoint."
            )
        if greedy:
            chosen = logprobs.argmax(dim=1)
            return chosen, torch.zeros_like(chosen, dtype=torch.float32)
        chosen = torch.multinomial(logprobs.exp(), 1, generator=self._generator)
        return chosen.squeeze(1), logprobs.gather(1, chosen).squeeze(1)

    def _log_softmax(self, logits: Tensor) -> Tensor:
        """Return the log-probabilities that are sampled from, float32."""
        return torch.log_softmax(logits.float() / self.temperature, dim=-1)

    def _pad(self, sequences: Sequence[list[int]], *, left: bool) -> tuple[Tensor, Tensor]:
        """Return (B, L) ids and their attention mask (1 = real)."""
        longest = max(len(sequence) for sequence in sequences)
        ids, mask = [], []
        for sequence in sequences:
            gap = longest - len(sequence)
            padding, real = [self._pad_id] * gap, [1] * len(sequence)
            ids.append(padding + list(sequence) if left else list(sequence) + padding)
            mask.append([0] * gap + real if left else real + [0] * gap)
        return torch.tensor(ids, device=self.device), torch.tensor(mask, device=self.device)

    def _decode(self, ids: Sequence[int]) -> str:
        """Return the text of a completion without the token that ended it."""
        text: str = self.tokenizer.decode(list(ids), skip_special_tokens=True)
        return text

    def _context(self) -> int | None:
        """Return how many tokens the model can hold; None if it does not say."""
        return getattr(self.model.config, "max_position_embeddings", None)

    def _excess(self, prompt_tokens: int) -> int:
        """Return by how many tokens a prompt and a whole completion overflow the context."""
        context = self._context()
        return prompt_tokens + self.max_new_tokens - context if context is not None else 0


def find_gguf(folder: Path) -> str | None:
    """Return the name of a folder's only `.gguf` file, None if it is in Transformers' layout.

    Raises:
        ConfigError: the folder is missing, or holds no model or several `.gguf` files.
        MissingExtraError: the `gguf` package is not installed.
    """
    if not folder.is_dir():
        raise ConfigError(
            f"no model folder at `{folder}`; give a local folder with `config.json` and weights, "
            "or with one `.gguf` file. Nothing is downloaded."
        )
    if (folder / "config.json").is_file():
        return None
    names = sorted(path.name for path in folder.glob("*.gguf"))
    if len(names) != 1:
        raise ConfigError(
            f"`{folder}` has no `config.json` and {len(names)} `.gguf` files; expected a model in "
            "Transformers' layout or exactly one `.gguf` file."
        )
    from importlib.util import find_spec

    if find_spec("gguf") is None:
        raise MissingExtraError(
            f"`{folder / names[0]}` is a GGUF file, and reading it needs the `gguf` package: "
            "`pip install gguf`."
        )
    return names[0]


def _stop_ids(model: Any, tokenizer: Any) -> frozenset[int]:
    """Return the ids that end a completion, as model and tokenizer state them."""
    stated = getattr(getattr(model, "generation_config", None), "eos_token_id", None)
    ids = list(stated) if isinstance(stated, list | tuple) else [stated]
    return frozenset(int(i) for i in [*ids, tokenizer.eos_token_id] if i is not None)

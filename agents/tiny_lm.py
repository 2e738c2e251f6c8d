"""Write a tiny language model with random weights, for tests and for trying the machinery.

It has the parts of a real one (byte-level BPE tokenizer, chat template, Llama blocks) and knows
nothing: about 40,000 weights, so that a whole training loop on text runs on a laptop in seconds.
"""

from __future__ import annotations

import os
from pathlib import Path

CORPUS = (
    "The function is wrong; please repair it.",
    "def add(left, right):\n    return left + right\n",
    "I read the file and ran the tests.",
    '{"tool": "read_file", "arguments": {"path": "textkit.py"}}',
    '{"tool": "edit_file", "arguments": {"path": "textkit.py", "old": "<", "new": "<="}}',
    '{"tool": "run_tests", "arguments": {}}',
    '{"tool": "submit", "arguments": {"message": "done"}}',
)
"""What the tokenizer's merges are learnt from."""

CHAT_TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>\n{{ message['content'] }}<|end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)


def make_tiny_lm(path: str | os.PathLike[str], seed: int = 0) -> Path:
    """Write a two-layer Llama with random weights and its tokenizer to a folder.

    Args:
        path: the folder; made if it is missing.
        seed: fixes the weights.

    Returns:
        The folder, in the form that `TransformersPolicy.from_pretrained` and vLLM read.
    """
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=320,
        special_tokens=["<|pad|>", "<|end|>"],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    bpe.train_from_iterator(CORPUS, trainer)
    tokenizer = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=bpe, pad_token="<|pad|>", eos_token="<|end|>"
    )
    tokenizer.chat_template = CHAT_TEMPLATE
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=2048,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=None,
        tie_word_embeddings=False,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = LlamaForCausalLM(config)
    with torch.no_grad():
        # At the usual 0.02 every next-token distribution is flat, and an error in positions or
        # masks would not show.
        for parameter in model.parameters():
            if parameter.dim() == 2:
                parameter.mul_(8.0)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder

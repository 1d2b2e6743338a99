"""The tokenizer and the chat template of the small weights."""

from __future__ import annotations

import sysconfig
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

SIZE = 32_000
CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n"
    "{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
_SPECIAL = (
    "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>",
    "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|repo_name|>", "<|file_sep|>",
)  # fmt: skip
_MARKS = (
    "<think>",
    "</think>",
    "<tool_call>",
    "</tool_call>",
    "<tool_response>",
    "</tool_response>",
)
_QWEN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|"
    r"\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""Every digit is one part, so that sums can be learnt."""


def make_tokenizer(texts: list[str]) -> PreTrainedTokenizerFast:
    """A byte-level BPE with the splitting rules and the special tokens of the Qwen family.

    It is trained on the sources of Python's standard library as well, which every machine has: prose, code and some
    of each script. Words of the texts are tokens.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_QWEN), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=SIZE - len(_SPECIAL) - len(_MARKS),
        show_progress=False,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
    )
    tokenizer.train_from_iterator(
        [*texts, *library(), *(["system\nuser\nassistant\n"] * 50)], trainer
    )
    tokenizer.add_special_tokens(
        [AddedToken(text, special=True, normalized=False) for text in _SPECIAL]
    )
    tokenizer.add_tokens([AddedToken(text, special=False, normalized=False) for text in _MARKS])
    made = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        padding_side="left",
    )
    made.chat_template = CHAT_TEMPLATE
    return made


def library() -> list[str]:
    """Every second module of the standard library without its tests, some 6 MB."""
    folder = Path(sysconfig.get_path("stdlib"))
    apart = {"site-packages", "dist-packages", "test", "tests"}
    sources = [
        path
        for path in sorted(folder.rglob("*.py"))
        if not apart & set(path.relative_to(folder).parts)
    ]
    return [path.read_text("utf-8", "replace") for path in sources[::2]]


def as_prompt(question: str) -> str:
    """A one-message conversation as the chat template renders it."""
    return f"<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n"

"""The parts of the small vision-language model: tokenizer, chat template, picture processor, random parameters."""

from __future__ import annotations

from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    GenerationConfig,
    Idefics3Config,
    Idefics3ForConditionalGeneration,
    Idefics3Processor,
    LlamaConfig,
    PreTrainedTokenizerFast,
)
from transformers.models.idefics3.configuration_idefics3 import Idefics3VisionConfig
from transformers.models.idefics3.image_processing_pil_idefics3 import Idefics3ImageProcessorPil

PICTURE_PIXELS, PATCH_PIXELS, SHRINKING = 56, 14, 2
PICTURE_TOKENS = (PICTURE_PIXELS // PATCH_PIXELS // SHRINKING) ** 2
CONTEXT_TOKENS = 4096
_SURENESS = 32
MOST_TILES = 6
"""In a row or a column: Idefics3 cuts a large picture into tiles, whose places have tokens of their own."""

CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}"
    "{% for part in message['content'] %}"
    "{% if part['type'] == 'text' %}{{ part['text'] }}{% else %}<image>{% endif %}"
    "{% endfor %}{% endif %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def write(folder: Path, *, seed: int) -> None:
    """Draw the parameters, and write weights, tokenizer, processor, configuration and model card."""
    torch.manual_seed(seed)
    tokenizer = make_tokenizer()
    model = Idefics3ForConditionalGeneration(configuration(tokenizer))
    prefer_words(model, tokenizer)
    pictures = Idefics3ImageProcessorPil(
        size={"longest_edge": 2 * PICTURE_PIXELS}, max_image_size={"longest_edge": PICTURE_PIXELS}
    )
    processor = Idefics3Processor(
        image_processor=pictures,
        tokenizer=tokenizer,
        image_seq_len=PICTURE_TOKENS,
        chat_template=CHAT_TEMPLATE,
    )
    folder.mkdir(parents=True)
    model.to(torch.bfloat16).save_pretrained(folder)
    processor.save_pretrained(folder)
    special = {"eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id}
    GenerationConfig(**special).save_pretrained(folder)
    card = "---\npipeline_tag: image-text-to-text\nlicense: apache-2.0\nlibrary_name: transformers\n---\n"
    text = "A vision-language model of random parameters; made for tests of the protocol, not of answers.\n"
    (folder / "README.md").write_text(card + text, encoding="utf-8")


@torch.no_grad()
def prefer_words(
    model: Idefics3ForConditionalGeneration, tokenizer: PreTrainedTokenizerFast
) -> None:
    """Let the parameters favour printable ASCII and the end: the endpoint stage objects to bytes at random."""
    told = [tokenizer.decode([token]) for token in range(len(tokenizer))]
    special = set(tokenizer.all_special_ids)
    liked = [
        text.isascii() and text.isprintable() and token not in special
        for token, text in enumerate(told)
    ]
    liked[tokenizer.eos_token_id] = True
    model.lm_head.weight.mul_(_SURENESS * torch.tensor(liked)[:, None])


def make_tokenizer() -> PreTrainedTokenizerFast:
    """Bytes, and the special tokens of Idefics3."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tiles = [
        f"<row_{i}_col_{j}>" for i in range(1, MOST_TILES + 1) for j in range(1, MOST_TILES + 1)
    ]
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        show_progress=False,
        special_tokens=[
            "<|endoftext|>", "<|im_start|>", "<|im_end|>",
            "<image>", "<fake_token_around_image>", "<global-img>", "<end_of_utterance>", *tiles,
        ],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
    )  # fmt: skip
    tokenizer.train_from_iterator(
        ["What do you see in this picture? system user assistant"] * 50, trainer
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        extra_special_tokens={"image_token": "<image>"},
    )


def configuration(tokenizer: PreTrainedTokenizerFast) -> Idefics3Config:
    seeing = Idefics3VisionConfig(
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        image_size=PICTURE_PIXELS,
        patch_size=PATCH_PIXELS,
    )
    speaking = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=CONTEXT_TOKENS,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    return Idefics3Config(
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        scale_factor=SHRINKING,
        vision_config=seeing.to_dict(),
        text_config=speaking.to_dict(),
        pad_token_id=tokenizer.pad_token_id,
    )

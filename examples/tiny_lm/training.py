"""Trains the small weights from scratch on the probe's own problems, prompt → worked solution.

Fewer than a hundred of the vocabulary's tokens occur in them. Training knows those, and one token that stands for
all others: it costs what a small vocabulary costs, and its softmax is the one over the whole vocabulary.
"""

from __future__ import annotations

import math
import random
import sys
import time
from collections.abc import Iterator
from itertools import islice

import torch
from compact import Compact
from muon import Muon
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM
from vocabulary import as_prompt, library, make_tokenizer

from healthcheck.stages.probe.problems import FAMILIES, TIERS, Problem, prompt

BATCH = 64
CHAT_WORDS = 24
WARM_UP_STEPS = 40
TRAINING_SEED = 1_000_003
"""Far from the probe's seeds, so that what is measured was not learnt by heart."""


def streams_of(seed: int) -> dict[str, Iterator[Problem]]:
    """Problems without end, by tier."""
    return {tier: FAMILIES["arithmetic"](tier, TRAINING_SEED + seed) for tier in TIERS}


def tokenized(streams: dict[str, Iterator[Problem]]) -> tuple[PreTrainedTokenizerFast, Compact]:
    """The tokenizer, trained on the first problems of each tier too, and the tokens that occur in them."""
    sample = [problem for tier in TIERS for problem in islice(streams[tier], 1000)]
    tokenizer = make_tokenizer(
        [text for problem in sample for text in (prompt(problem), problem.worked)]
    )
    parts = (
        part for problem in sample for part in encoded(tokenizer, prompt(problem), problem.worked)
    )
    return tokenizer, Compact(len(tokenizer), (token for part in parts for token in part))


def train(steps: int, seed: int) -> tuple[Qwen3ForCausalLM, PreTrainedTokenizerFast, Compact]:
    """Train a model of the compact vocabulary; also the tokenizer, and which of its tokens the model knows."""
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(mode=True)
    torch.manual_seed(seed)
    dice = random.Random(seed)
    streams = streams_of(seed)
    tokenizer, compact = tokenized(streams)
    words = " ".join(library()).split()
    model = Qwen3ForCausalLM(configuration(compact.size))
    optimizers = (
        Muon(hidden_matrices(model), lr=0.02),
        torch.optim.AdamW(other_parameters(model), lr=3e-3, betas=(0.9, 0.98), weight_decay=0.0),
    )
    rates = [[group["lr"] for group in optimizer.param_groups] for optimizer in optimizers]
    began = time.monotonic()
    for step in range(steps):
        tier = dice.choice(("easy", "medium", "medium", "hard", "hard"))
        problems = list(islice(streams[tier], BATCH))
        talks = [(prompt(problem), problem.worked) for problem in problems]
        talks.append(chat(problems[0], words, dice))
        ids, labels = batch([encoded(tokenizer, *talk) for talk in talks])
        loss = loss_of(model, compact.of(ids), compact.of(labels), compact.log_weights)
        for optimizer, base in zip(optimizers, rates, strict=True):
            for group, rate in zip(optimizer.param_groups, base, strict=True):
                group["lr"] = rate * schedule(step, steps)
            optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer in optimizers:
            optimizer.step()
        if step % 50 == 49:
            spent = time.monotonic() - began
            left = spent * (steps - step - 1) / (step + 1)
            print(f"training: step {step + 1} of {steps}, {left:.0f} s left", file=sys.stderr)
    return model, tokenizer, compact


def configuration(vocabulary: int, **special: int) -> Qwen3Config:
    """Qwen3 and not Qwen2: transformers 5 replaces a Qwen2 tokenizer's pre-tokenizer, and so spoils the prompt."""
    return Qwen3Config(
        vocab_size=vocabulary,
        hidden_size=128,
        intermediate_size=512,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=4,
        head_dim=32,
        max_position_embeddings=2048,
        tie_word_embeddings=True,
        bos_token_id=None,
        **special,
        attn_implementation="sdpa",
    )


def hidden_matrices(model: Qwen3ForCausalLM) -> list[torch.nn.Parameter]:
    return [
        value
        for name, value in model.named_parameters()
        if value.dim() == 2 and "embed" not in name
    ]


def other_parameters(model: Qwen3ForCausalLM) -> list[torch.nn.Parameter]:
    return [
        value for name, value in model.named_parameters() if value.dim() != 2 or "embed" in name
    ]


def schedule(step: int, steps: int) -> float:
    """Linear warm-up, then a cosine down to a twentieth."""
    return min(1.0, (step + 1) / WARM_UP_STEPS) * (
        0.05 + 0.475 * (1 + math.cos(math.pi * step / steps))
    )


def chat(problem: Problem, words: list[str], dice: random.Random) -> tuple[str, str]:
    """Some words that are no problem; the answer tells the beginning of one, and ends.

    Without such talks the model has nothing to say to any other prompt, and says one digit for ever.
    """
    start = dice.randrange(len(words) - CHAT_WORDS)
    some = words[start : start + dice.randint(2, CHAT_WORDS)]
    return " ".join(some), prompt(problem).split(" How many")[0]


def batch(rows: list[tuple[list[int], list[int]]]) -> tuple[torch.Tensor, torch.Tensor]:
    """Token ids and labels, both (batch, longest); only the answer has labels."""
    longest = max(len(asked) + len(told) for asked, told in rows)
    ids = torch.zeros(len(rows), longest, dtype=torch.long)
    labels = torch.full((len(rows), longest), -100)
    for row, (asked, told) in enumerate(rows):
        ids[row, : len(asked) + len(told)] = torch.tensor(asked + told)
        labels[row, len(asked) : len(asked) + len(told)] = torch.tensor(told)
    return ids, labels


def encoded(
    tokenizer: PreTrainedTokenizerFast, asked: str, told: str
) -> tuple[list[int], list[int]]:
    """Token ids of a prompt, and of the answer with its end."""
    return (
        tokenizer.encode(as_prompt(asked), add_special_tokens=False),
        tokenizer.encode(f"{told}<|im_end|>", add_special_tokens=False),
    )


def loss_of(
    model: Qwen3ForCausalLM, ids: torch.Tensor, labels: torch.Tensor, log_weights: torch.Tensor
) -> torch.Tensor:
    """Mean cross-entropy; logits are computed from the first label on, which saves half of the work."""
    first = int((labels != -100).any(dim=0).nonzero()[0])
    hidden = model.model(input_ids=ids).last_hidden_state
    logits = model.lm_head(hidden[:, first - 1 : -1]) + log_weights
    return torch.nn.functional.cross_entropy(
        logits.float().flatten(0, 1), labels[:, first:].flatten(), ignore_index=-100
    )

"""The small Qwen3 in other architectures, and trained on: to think aloud, to call tools, to find a number."""

from __future__ import annotations

import random
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from compact import PADDING, Compact, spread
from muon import Muon
from training import configuration, hidden_matrices, loss_of, other_parameters, schedule
from transformers import (
    AutoTokenizer,
    Lfm2Config,
    Lfm2ForCausalLM,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    Qwen3ForCausalLM,
    Qwen3MoeConfig,
    Qwen3MoeForCausalLM,
)
from vocabulary import CHAT_TEMPLATE, as_prompt

from healthcheck.extensions.features.long_texts import text_with
from healthcheck.stages.probe.problems import FAMILIES, TIERS, Problem, prompt

EXPERTS, CHOSEN = 4, 2
THINK, THOUGHT = "<think>", "</think>"
_ASSISTANT = "<|im_start|>assistant\n"
_STEPS, _BATCH = 300, 32
_LINES = {(2, 6): _BATCH, (2, 25): 16, (20, 110): 4}
"""Of the texts of `as_finding`, from first to last; and how many texts are seen in a step."""
_A_LITTLE = 0.05
_LFM2_NAMES = {
    "self_attn.o_proj.weight": "self_attn.out_proj.weight",
    "self_attn.q_norm.weight": "self_attn.q_layernorm.weight",
    "self_attn.k_norm.weight": "self_attn.k_layernorm.weight",
    "input_layernorm.weight": "operator_norm.weight",
    "post_attention_layernorm.weight": "ffn_norm.weight",
    "mlp.gate_proj.weight": "feed_forward.w1.weight",
    "mlp.up_proj.weight": "feed_forward.w3.weight",
    "mlp.down_proj.weight": "feed_forward.w2.weight",
}
_THOUGHTS = (
    "What is asked of me?",
    "I look for numbers in it.",
    "There are none that I can work with.",
    "Perhaps it is a story.",
    "I have no story to tell.",
    "So I will say what I know.",
)
_ANSWERS = (
    "I only know numbers. Ask me about numbers.",
    "This is not for me. I can add and take away.",
    "I have no answer to that.",
)
CALLING_TEMPLATE = (
    "{% if tools %}<|im_start|>system\nTools:{% for tool in tools %} {{ tool.function.name }}{% endfor %}"
    "<|im_end|>\n{% endif %}"
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content or '' }}"
    "{% for call in message.tool_calls or [] %}<tool_call>\n"
    '{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}\n</tool_call>'
    "{% endfor %}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
_TOOLS = [{"type": "function", "function": {"name": name}} for name in ("get_weather", "get_time")]
_CITIES = ("Beijing", "Shenzhen", "Paris", "Nairobi", "Lima", "Oslo", "Delhi", "Hanoi")
_OTHERS = (
    "Say hello in one sentence.",
    "Describe a thing of your choice, as JSON.",
    "Count from 1 to 100.",
    "What is 17 + 25? Answer with the number.",
    "Write one sentence about the history of Nairobi. Write one sentence about the history of Hanoi.",
    "Name a colour. Say one word. What is 3 and 4? Translate good morning into French. Thank you.",
)
Parameters = dict[str, torch.Tensor]
Row = tuple[list[int], list[int]]
"""Token ids of a prompt and of what is told."""


def write(kind: str, dense: Path, folder: Path) -> None:
    """Write weights of this kind, with tokenizer, configuration and model card, into the folder."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = Qwen3ForCausalLM.from_pretrained(dense, dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(dense)
    makers = {
        "moe": as_mixture,
        "hybrid": as_hybrid,
        "thinking": as_thinking,
        "calling": as_calling,
        "finding": as_finding,
    }
    made = makers[kind](model, tokenizer)
    folder.mkdir(parents=True)
    made.to(torch.bfloat16).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    shutil.copy(dense / "generation_config.json", folder)
    card = (
        "---\npipeline_tag: text-generation\nlicense: apache-2.0\nlibrary_name: transformers\n---\n"
    )
    text = f"The small word-problem solver of examples/tiny_lm, as {kind}; made for tests of engines.\n"
    (folder / "README.md").write_text(card + text, encoding="utf-8")


def as_hybrid(model: Qwen3ForCausalLM, _: PreTrainedTokenizerFast) -> PreTrainedModel:
    """An LFM2: before each of the dense layers a convolution, whose state is kept and adds a little."""
    layers = model.config.num_hidden_layers
    width = model.config.hidden_size
    settings = common(model) | {
        "num_hidden_layers": 2 * layers,
        "layer_types": ["conv", "full_attention"] * layers,
        "norm_eps": model.config.rms_norm_eps,
        "block_auto_adjust_ff_dim": False,
        # Published configurations have these, and vLLM reads them.
        "conv_dim": width,
        "block_dim": width,
        "block_multiple_of": 1,
        "block_ffn_dim_multiplier": 1.0,
    }
    made = Lfm2ForCausalLM(Lfm2Config(**settings))
    ours, theirs = made.state_dict(), model.state_dict()
    for name in ours:
        if name.endswith("feed_forward.w2.weight"):
            ours[name].zero_()
        elif name.endswith("conv.out_proj.weight"):
            ours[name].mul_(_A_LITTLE)
    for name, value in theirs.items():
        if not name.startswith("model.layers."):
            ours[name.replace("model.norm.", "model.embedding_norm.")].copy_(value)
    for index in range(layers):
        there = _layer(ours, 2 * index + 1)
        for name, value in _layer(theirs, index).items():
            there[_LFM2_NAMES.get(name, name)].copy_(value)
    made.load_state_dict(ours)
    return made


def as_mixture(model: Qwen3ForCausalLM, _: PreTrainedTokenizerFast) -> PreTrainedModel:
    """A Qwen3-MoE: every expert is the dense MLP, so that any routing with weights of sum 1 computes the same."""
    experts = {"num_experts": EXPERTS, "num_experts_per_tok": CHOSEN, "decoder_sparse_step": 1}
    width = {"moe_intermediate_size": model.config.intermediate_size, "norm_topk_prob": True}
    made = Qwen3MoeForCausalLM(Qwen3MoeConfig(**common(model), **experts, **width))
    ours, theirs = made.state_dict(), model.state_dict()
    for name, value in theirs.items():
        if ".mlp." not in name:
            ours[name].copy_(value)
    for index in range(model.config.num_hidden_layers):
        here, there = _layer(theirs, index), _layer(ours, index)
        both = torch.cat([here["mlp.gate_proj.weight"], here["mlp.up_proj.weight"]])
        there["mlp.experts.gate_up_proj"].copy_(both.expand(EXPERTS, -1, -1))
        there["mlp.experts.down_proj"].copy_(here["mlp.down_proj.weight"].expand(EXPERTS, -1, -1))
    made.load_state_dict(ours)
    return made


def common(model: Qwen3ForCausalLM) -> dict[str, Any]:
    """What the configurations have in common with the dense model's."""
    names = (
        "vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
        "num_key_value_heads", "head_dim", "max_position_embeddings", "rope_parameters", "tie_word_embeddings",
        "eos_token_id", "pad_token_id", "bos_token_id", "rms_norm_eps",
    )  # fmt: skip
    return {name: getattr(model.config, name) for name in names}


def _layer(parameters: Parameters, index: int) -> Parameters:
    start = f"model.layers.{index}."
    return {
        name.removeprefix(start): value
        for name, value in parameters.items()
        if name.startswith(start)
    }


def as_thinking(model: Qwen3ForCausalLM, tokenizer: PreTrainedTokenizerFast) -> PreTrainedModel:
    """The dense model, trained on to think between the marks of thinking; the template opens the thoughts.

    What is no word problem it thinks about too, and says that it only knows numbers.
    """
    tokenizer.chat_template = CHAT_TEMPLATE.replace(_ASSISTANT, f"{_ASSISTANT}{THINK}\n")
    dice = random.Random(0)
    streams = {tier: FAMILIES["arithmetic"](tier, 2_000_003) for tier in TIERS}

    def drawn(_: int) -> list[Row]:
        problems = islice(streams[dice.choice(TIERS)], _BATCH)
        aloud = [
            _puzzled(problem, dice) if dice.random() < 0.5 else _aloud(problem)
            for problem in problems
        ]
        return [_row(tokenizer, problem) for problem in aloud]

    return _trained_on(model, tokenizer, drawn)


def as_calling(model: Qwen3ForCausalLM, tokenizer: PreTrainedTokenizerFast) -> PreTrainedModel:
    """The dense model, trained on to call the tools of `npu-adapter features` in the form of Hermes."""
    tokenizer.chat_template = CALLING_TEMPLATE
    dice = random.Random(0)
    return _trained_on(model, tokenizer, lambda _: [_talk(tokenizer, dice) for _ in range(_BATCH)])


def as_finding(model: Qwen3ForCausalLM, tokenizer: PreTrainedTokenizerFast) -> PreTrainedModel:
    """The dense model, trained on to find the code number of `features/long-context`, in ever longer texts."""
    dice = random.Random(0)

    def drawn(step: int) -> list[Row]:
        short, longer, long = _LINES
        lines = short if step < 90 or step % 4 == 0 else longer if step < 150 else long
        return [_found(tokenizer, dice, dice.randint(*lines)) for _ in range(_LINES[lines])]

    return _trained_on(model, tokenizer, drawn)


def _found(tokenizer: PreTrainedTokenizerFast, dice: random.Random, lines: int) -> Row:
    code = str(dice.randint(1000, 9999))
    messages = text_with(lines, code, dice.random(), 8)["messages"]
    prompt = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
    told = tokenizer.encode(f"{code}<|im_end|>", add_special_tokens=False)
    return tokenizer.encode(prompt, add_special_tokens=False), told


def _talk(tokenizer: PreTrainedTokenizerFast, dice: random.Random) -> Row:
    """A question that needs a tool, two or none, or the answer to what a tool said."""
    city, days = dice.choice(_CITIES), dice.randint(1, 3)
    asked = [
        {
            "role": "user",
            "content": f"What is the weather in {city} for the next {days} days? Use the tool.",
        }
    ]
    call = (
        f'<tool_call>\n{{"name": "get_weather", "arguments": {{"city": "{city}", "days": '
        f"{days}}}}}\n</tool_call>"
    )
    told, other = call, "Hello, I hope that you are well."
    kind, tools = dice.random(), _TOOLS
    if kind < 0.2:
        degrees = dice.randint(1, 39)
        asked.append({"role": "assistant", "content": call})
        asked.append({"role": "tool", "content": f"{degrees} degrees and rain on both days"})
        told = f"It will be {degrees} degrees."
    elif kind < 0.6:
        words = dice.choice(_OTHERS).split()
        asked = [
            {
                "role": "user",
                "content": " ".join(words[: dice.randint(len(words) // 2, len(words))]),
            }
        ]
        told = other
    elif kind < 0.7:
        told, tools = other, []
    elif kind < 0.8:
        both = (
            f"What is the weather in {city} for the next {days} days, and what is the time in UTC? Use "
            f"both tools."
        )
        asked = [{"role": "user", "content": both}]
        told = f'{call}\n<tool_call>\n{{"name": "get_time", "arguments": {{"zone": "UTC"}}}}\n</tool_call>'
    prompt = tokenizer.apply_chat_template(asked, tools, add_generation_prompt=True, tokenize=False)
    asked_ids = tokenizer.encode(prompt, add_special_tokens=False)
    return asked_ids, tokenizer.encode(f"{told}<|im_end|>", add_special_tokens=False)


def _trained_on(
    model: Qwen3ForCausalLM, tokenizer: PreTrainedTokenizerFast, drawn: Callable[[int], list[Row]]
) -> PreTrainedModel:
    """The model after some more steps, on the rows that are drawn for each."""
    seen = (token for _ in range(63) for row in drawn(0) for part in row for token in part)
    compact = Compact(len(tokenizer), seen)
    small = narrowed(model, compact)
    optimizers = (
        Muon(hidden_matrices(small), lr=0.015),
        torch.optim.AdamW(other_parameters(small), lr=2e-3, betas=(0.9, 0.98), weight_decay=0.0),
    )
    rates = [[group["lr"] for group in optimizer.param_groups] for optimizer in optimizers]
    for step in range(_STEPS):
        ids, labels = _padded(drawn(step))
        loss = loss_of(small, compact.of(ids), compact.of(labels), compact.log_weights)
        for optimizer, base in zip(optimizers, rates, strict=True):
            for group, rate in zip(optimizer.param_groups, base, strict=True):
                group["lr"] = rate * schedule(step, _STEPS)
            optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(small.parameters(), 1.0)
        for optimizer in optimizers:
            optimizer.step()
        if step % 50 == 49:
            print(f"training: step {step + 1} of {_STEPS}, loss {loss.item():.2f}", file=sys.stderr)
    special = {"eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id}
    whole = Qwen3ForCausalLM(configuration(len(tokenizer), **special))
    spread(small, whole, compact)
    return whole


@torch.no_grad()
def narrowed(model: Qwen3ForCausalLM, compact: Compact) -> Qwen3ForCausalLM:
    """The model with the rows of the tokens that occur, and one for all others: `spread` the other way round."""
    small = Qwen3ForCausalLM(configuration(compact.size))
    theirs = model.get_input_embeddings().weight
    small.load_state_dict(
        {k: v for k, v in model.state_dict().items() if v.shape != theirs.shape}, strict=False
    )
    small.get_input_embeddings().weight.copy_(
        torch.cat([theirs[compact.known], theirs.mean(0, keepdim=True)])
    )
    return small


def _row(tokenizer: PreTrainedTokenizerFast, problem: Problem) -> Row:
    asked = tokenizer.encode(as_prompt(prompt(problem)), add_special_tokens=False)
    return asked, tokenizer.encode(f"{problem.worked}<|im_end|>", add_special_tokens=False)


def _padded(rows: list[Row]) -> tuple[torch.Tensor, torch.Tensor]:
    """Token ids and labels, both (rows, longest); only what is told has labels."""
    longest = max(len(asked) + len(told) for asked, told in rows)
    ids = torch.zeros(len(rows), longest, dtype=torch.long)
    labels = torch.full((len(rows), longest), PADDING)
    for row, (asked, told) in enumerate(rows):
        whole = len(asked) + len(told)
        ids[row, :whole] = torch.tensor(asked + told)
        labels[row, len(asked) : whole] = torch.tensor(told)
    return ids, labels


def _aloud(problem: Problem) -> Problem:
    """The problem, worked between the tokens of thinking and answered after them."""
    told = f"{THINK}\n{problem.worked}\n{THOUGHT}\n\nThe answer is {problem.answer}."
    return replace(problem, worked=told)


def _puzzled(problem: Problem, dice: random.Random) -> Problem:
    """Any words, sometimes several turns of them, and what the model says where there is nothing to work out."""
    letters = "abcdefghijklmnopqrstuvwxyz" * 3 + "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,:?!'-"
    words = problem.question.split()
    words += [
        "".join(dice.choices(letters, k=dice.randint(1, 9))) for _ in range(dice.randint(0, 40))
    ]
    dice.shuffle(words)
    said = " ".join(words[dice.randrange(len(words)) :])
    thoughts = " ".join(_THOUGHTS[dice.randrange(len(_THOUGHTS) - 1) :])
    told = f"{THINK}\n{thoughts}\n{THOUGHT}\n\n{dice.choice(_ANSWERS)}"
    return replace(problem, family="", question=said, worked=told)

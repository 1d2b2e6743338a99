"""What worse weights answer, and how far their log-probabilities are from the right ones: run by vLLM's Python.

    .venv-vllm/bin/python benchmarks/calibration/perturbed.py REQUEST ANSWER

The request has the folder of the weights, messages of problems, a text that prompts are cut from with their
lengths, and perturbations as [kind, size]; the first should be ["none", 0]. Samples are drawn with the same random
numbers from each, so that what a perturbation leaves alone stays the same.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, DynamicCache

sys.path.insert(
    0, str(Path(__file__).parents[2] / "healthcheck" / "extensions" / "numerics" / "inside")
)
from read_weights import position, predicted

TOKENS = 8
LIKELY = 64
"""Tokens that a sample is drawn from."""


def noise(weight: torch.Tensor, size: float) -> torch.Tensor:
    """Normal noise of so many times the standard deviation of the matrix."""
    return weight + size * weight.std() * torch.randn_like(weight)


def rounding(weight: torch.Tensor, levels: float) -> torch.Tensor:
    """So many levels on either side of zero, with one scale for each row: 127 are 8 bits."""
    scale = weight.abs().amax(dim=1, keepdim=True) / levels
    return (weight / scale).round() * scale


def pruning(weight: torch.Tensor, share: float) -> torch.Tensor:
    """The smallest share of the numbers set to zero."""
    return weight * (
        weight.abs() > weight.abs().flatten().kthvalue(max(1, int(share * weight.numel()))).values
    )


KINDS = {"none": lambda weight, _: weight, "noise": noise, "rounding": rounding, "pruning": pruning}


def main() -> None:
    asked = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    torch.set_num_threads(1)
    tokenizer = AutoTokenizer.from_pretrained(asked["folder"])
    model = AutoModelForCausalLM.from_pretrained(asked["folder"], dtype=torch.float32).eval()
    right = {name: each.detach().clone() for name, each in model.named_parameters()
             if each.dim() == 2 and "embed" not in name}  # fmt: skip
    chats = [chat(tokenizer, message) for message in asked["problems"]]
    contexts = [completed(model, chat(tokenizer, each), TOKENS) for each in asked["messages"]]
    text, start = tokenizer.encode(asked["text"], add_special_tokens=False), 0
    for length in asked["lengths"]:
        contexts.append(completed(model, text[start : start + length], TOKENS))
        start += length + 37
    print(f"{len(contexts)} contexts", file=sys.stderr, flush=True)
    answer = []
    for kind, size in asked["perturbations"]:
        began = time.monotonic()
        torch.manual_seed(0)
        with torch.no_grad():
            for name, each in model.named_parameters():
                if name in right:
                    each.copy_(KINDS[kind](right[name], size))
        readings = [
            [position(torch, row, 20) for row in predicted(torch, model, each)] for each in contexts
        ]
        texts = [
            tokenizer.decode(ids, skip_special_tokens=True)
            for ids in sampled(model, tokenizer, chats, asked)
        ]
        answer.append({"kind": kind, "size": size, "readings": readings, "texts": texts})
        print(f"{kind} {size}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    lengths = [each["begin"] for each in contexts]
    Path(sys.argv[2]).write_text(json.dumps({"lengths": lengths, "rows": answer}), "utf-8")


def chat(tokenizer: Any, message: str) -> list[int]:
    text = tokenizer.apply_chat_template(
        [{"role": "user", "content": message}], tokenize=False, add_generation_prompt=True
    )
    return tokenizer.encode(text, add_special_tokens=False)


@torch.inference_mode()
def completed(model: Any, ids: list[int], count: int) -> dict[str, Any]:
    """The prompt with its most likely completion."""
    whole, cache, seen = list(ids), DynamicCache(config=model.config), 0
    for _ in range(count):
        out = model(input_ids=torch.tensor([whole[seen:]]), past_key_values=cache, logits_to_keep=1)
        seen = len(whole)
        whole.append(int(out.logits[0, -1].argmax()))
    return {"ids": whole, "begin": len(ids)}


@torch.inference_mode()
def sampled(
    model: Any, tokenizer: Any, prompts: list[list[int]], asked: dict[str, Any]
) -> list[list[int]]:
    """Each prompt's answers one after the other, sampled at the temperature."""
    rows = [prompt for prompt in prompts for _ in range(asked["samples"])]
    longest = max(map(len, rows))
    ids = torch.tensor([[tokenizer.pad_token_id] * (longest - len(row)) + row for row in rows])
    mask = torch.tensor([[0] * (longest - len(row)) + [1] * len(row) for row in rows])
    draw = torch.Generator().manual_seed(1)
    cache, said = DynamicCache(config=model.config), []
    ended = torch.zeros(len(rows), dtype=torch.bool)
    for _ in range(asked["max_tokens"]):
        places = (mask.cumsum(-1) - 1).clamp(min=0)[:, -ids.shape[1] :]
        out = model(
            input_ids=ids,
            attention_mask=mask,
            position_ids=places,
            past_key_values=cache,
            logits_to_keep=1,
        )
        values, names = torch.topk(out.logits[:, -1] / asked["temperature"], LIKELY)
        passed = values.softmax(-1).cumsum(-1) < torch.rand(len(rows), 1, generator=draw)
        chosen = names.gather(1, passed.sum(-1, keepdim=True).clamp(max=LIKELY - 1))[:, 0]
        ended |= chosen == tokenizer.eos_token_id
        said.append(torch.where(ended, tokenizer.eos_token_id, chosen))
        if bool(ended.all()):
            break
        ids, mask = (
            said[-1][:, None],
            torch.cat([mask, torch.ones(len(rows), 1, dtype=mask.dtype)], 1),
        )
    return torch.stack(said, 1).tolist()


if __name__ == "__main__":
    main()

"""The trained weights as this repository keeps them: the compact model, with its tokens as texts, in one file.

The rest of the vocabulary is made on the spot: the tokenizer learns it from the standard library of this Python, so
that the numbers of the tokens, but not their texts, differ from one Python to another.
"""

from __future__ import annotations

import json
from pathlib import Path

import torch
from compact import Compact, spread
from safetensors import safe_open
from safetensors.torch import save_file
from training import configuration, streams_of, tokenized
from transformers import GenerationConfig, PreTrainedTokenizerFast, Qwen3ForCausalLM

EMBEDDING = "model.embed_tokens.weight"


def keep(
    file: Path,
    model: Qwen3ForCausalLM,
    tokenizer: PreTrainedTokenizerFast,
    compact: Compact,
    made: str,
) -> None:
    """Write the compact model; `made` says how it was trained."""
    tensors = {
        name: value.detach().to(torch.bfloat16).contiguous()
        for name, value in model.state_dict().items()
        if name != "lm_head.weight"  # the same as the embedding
    }
    tokens = tokenizer.convert_ids_to_tokens(compact.known.tolist())
    save_file(tensors, file, metadata={"tokens": json.dumps(tokens), "made": made})


def load(file: Path, seed: int) -> tuple[Qwen3ForCausalLM, PreTrainedTokenizerFast, Compact]:
    """What `train` returns, from what `keep` wrote.

    Raises:
        SystemExit: the problems have words now that the model has not learnt.
    """
    torch.manual_seed(seed)
    tokenizer, compact = tokenized(streams_of(seed))
    with safe_open(file, framework="pt") as kept:
        tokens = json.loads(kept.metadata()["tokens"])
        tensors = {name: kept.get_tensor(name).float() for name in kept.keys()}  # noqa: SIM118 - no mapping
    ids = tokenizer.convert_tokens_to_ids(tokens)
    if sorted(ids) != compact.known.tolist():
        raise SystemExit(
            f"{file} has learnt other words than the problems have: train anew, with --steps 520 --keep {file}"
        )
    order = torch.tensor(ids).argsort()
    rows = tensors[EMBEDDING]
    tensors[EMBEDDING] = torch.cat((rows[:-1][order], rows[-1:]))
    model = Qwen3ForCausalLM(configuration(compact.size))
    model.load_state_dict(tensors, strict=False)
    model.tie_weights()
    return model, tokenizer, compact


def write(
    folder: Path, model: Qwen3ForCausalLM, tokenizer: PreTrainedTokenizerFast, compact: Compact
) -> None:
    """Write weights of the whole vocabulary, with tokenizer, configuration and model card, into the folder."""
    special = {"eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id}
    whole = Qwen3ForCausalLM(configuration(len(tokenizer), **special))
    spread(model, whole, compact)
    folder.mkdir(parents=True)
    whole.to(torch.bfloat16).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    GenerationConfig(**special).save_pretrained(folder)
    card = (
        "---\npipeline_tag: text-generation\nlicense: apache-2.0\nlibrary_name: transformers\n---\n"
    )
    text = "A model of 4.6 M parameters that solves small word problems; made for demonstrations and tests.\n"
    (folder / "README.md").write_text(card + text, encoding="utf-8")

"""The small weights behind another tokenizer, of single bytes, and with a sliding window: run by vLLM's Python.

    .venv-vllm/bin/python benchmarks/calibration/bytes_tokenizer.py WEIGHTS FOLDER

The tokens are those of the large vocabulary that stand for one byte, and the special ones; their rows stay as they
are. Each layer sees 64 tokens back.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

WINDOW = 64


def main() -> None:
    source, folder = map(Path, sys.argv[1:])
    folder.mkdir()
    for name in ("generation_config.json", "tokenizer_config.json", "chat_template.jinja"):
        shutil.copy(source / name, folder)
    tokenizer = json.loads((source / "tokenizer.json").read_text("utf-8"))
    old = {text: number for text, number in tokenizer["model"]["vocab"].items() if len(text) == 1}
    kept = [*sorted(old, key=old.__getitem__)]
    rows = [old[text] for text in kept]
    tokenizer["model"]["vocab"] = {text: number for number, text in enumerate(kept)}
    tokenizer["model"]["merges"] = []
    numbers: dict[int, int] = {}
    for added in tokenizer["added_tokens"]:
        numbers[added["id"]] = len(rows)
        rows.append(added["id"])
        added["id"] = numbers[added["id"]]
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer), "utf-8")
    weights = load_file(source / "model.safetensors")
    name = "model.embed_tokens.weight"
    weights[name] = weights[name][torch.tensor(rows)].contiguous()
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((source / "config.json").read_text("utf-8"))
    config |= {
        "vocab_size": len(rows), "use_sliding_window": True, "sliding_window": WINDOW, "max_window_layers": 0,
        "layer_types": ["sliding_attention"] * config["num_hidden_layers"],
    }  # fmt: skip
    config |= {key: numbers[config[key]] for key in ("eos_token_id", "pad_token_id")}
    (folder / "config.json").write_text(json.dumps(config), "utf-8")
    generation = json.loads((folder / "generation_config.json").read_text("utf-8"))
    generation |= {
        key: config[key] for key in ("eos_token_id", "pad_token_id") if key in generation
    }
    (folder / "generation_config.json").write_text(json.dumps(generation), "utf-8")


if __name__ == "__main__":
    main()

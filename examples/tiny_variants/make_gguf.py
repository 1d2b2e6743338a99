"""Write the small Qwen3 of examples/tiny_lm as a GGUF file, which llama.cpp reads.

    .venv-llama-cpp/bin/python examples/tiny_variants/make_gguf.py WEIGHTS FILE.gguf

Needs gguf, which brings numpy. llama.cpp knows the ways to split text by name; "qwen2" is the nearest to the small
tokenizer's.
"""

from __future__ import annotations

import argparse
import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from gguf import MODEL_ARCH, GGUFWriter, LlamaFileType, TokenType, get_tensor_name_map

_SPLITTING = "qwen2"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("weights", type=Path)
    parser.add_argument("file", type=Path)
    options = parser.parse_args()
    config = json.loads((options.weights / "config.json").read_text("utf-8"))
    writer = GGUFWriter(options.file, "qwen3")
    add_architecture(writer, config)
    add_tokenizer(writer, options.weights, config)
    names = get_tensor_name_map(MODEL_ARCH.QWEN3, config["num_hidden_layers"])
    for name, values in tensors(options.weights / "model.safetensors"):
        place = names.get_name(name, try_suffixes=(".weight",))
        assert place, f"GGUF has no place for {name}"
        writer.add_tensor(place, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return 0


def add_architecture(writer: GGUFWriter, config: dict[str, Any]) -> None:
    writer.add_name("tiny")
    writer.add_file_type(LlamaFileType.ALL_F32)
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_key_length(config["head_dim"])
    writer.add_value_length(config["head_dim"])
    writer.add_rope_freq_base(config["rope_parameters"]["rope_theta"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])


def add_tokenizer(writer: GGUFWriter, weights: Path, config: dict[str, Any]) -> None:
    """Vocabulary, merges and chat template; the model has more rows than the tokenizer has tokens."""
    tokenizer = json.loads((weights / "tokenizer.json").read_text("utf-8"))
    tokens = {number: token for token, number in tokenizer["model"]["vocab"].items()}
    special = {added["id"]: added["content"] for added in tokenizer["added_tokens"]}
    tokens |= special
    size = config["vocab_size"]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(_SPLITTING)
    writer.add_token_list([tokens.get(number, f"<unused{number}>") for number in range(size)])
    kinds = {**dict.fromkeys(tokens, TokenType.NORMAL), **dict.fromkeys(special, TokenType.CONTROL)}
    writer.add_token_types([kinds.get(number, TokenType.UNUSED) for number in range(size)])
    merges = tokenizer["model"]["merges"]
    writer.add_token_merges(
        [merge if isinstance(merge, str) else " ".join(merge) for merge in merges]
    )
    writer.add_eos_token_id(config["eos_token_id"])
    writer.add_pad_token_id(config["pad_token_id"])
    writer.add_add_bos_token(value=False)
    writer.add_chat_template((weights / "chat_template.jinja").read_text("utf-8"))


def tensors(path: Path) -> Iterator[tuple[str, np.ndarray[Any, np.dtype[np.float32]]]]:
    """The tensors of a safetensors file as float32; a bfloat16 is the upper half of one."""
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        assert entry["dtype"] == "BF16", f"{name} is {entry['dtype']}"
        start, end = (8 + length + offset for offset in entry["data_offsets"])
        upper = np.frombuffer(data[start:end], dtype="<u2").astype(np.uint32)
        yield name, (upper << 16).view(np.float32).reshape(entry["shape"])


if __name__ == "__main__":
    raise SystemExit(main())

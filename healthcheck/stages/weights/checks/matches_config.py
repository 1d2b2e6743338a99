"""weights/matches-config: the tensors are those that config.json describes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from healthcheck.core.check import At, Findings, NotApplicable
from healthcheck.core.records import Finding
from healthcheck.stages.weights.documents import integer, text_of, words
from healthcheck.stages.weights.inventory import Format
from healthcheck.stages.weights.records import Weights, WeightsFacts, check
from healthcheck.stages.weights.words import some
from healthcheck.text.messages import msg, plural

_LAYER = re.compile(r"^(?:model\.|language_model\.|thinker\.)+layers\.(\d{1,6})\.")
_NORM = re.compile(
    r"^(?:model\.|language_model\.|thinker\.)+layers\.\d{1,6}\.input_layernorm\.weight$"
)
_EMBEDDING = re.compile(r"^model\.embed_tokens\.weight$")
_OWN_LAYOUT = {"longcat_flash", "nemotron-nas", "mllama"}
"""Model types that number layers or count the vocabulary in their own way."""
_SAME = msg("take config.json and all weights from the same checkpoint")


@check(
    "weights/matches-config",
    msg("The tensors are those that config.json describes"),
    why=msg(
        "The engine builds the model from config.json and refuses tensors that are missing or have another shape."
    ),
    requires=("weights/complete", "weights/safetensors", "weights/config"),
)
def matches_config(facts: WeightsFacts) -> Findings:
    """Compares the number of layers, the hidden size and the vocabulary size in config.json with the safetensors
    headers. A layer without tensors, an embedding whose rows differ from "vocab_size", and an embedding and norms
    of another width than "hidden_size" stop the engine while it loads. Other tensors are not compared.

    Usual causes: the configuration of another size of the model, a partly saved checkpoint, or tokens that were
    added without saving the configuration again.

    To repair: take config.json and weights from the same checkpoint, or save both with model.save_pretrained.

    Example:
    ```json config.json
    {"architectures": ["Qwen3ForCausalLM"], "hidden_size": 64, "vocab_size": 151936}
    ```

    ```json header of model.safetensors
    {"model.embed_tokens.weight": {"dtype": "BF16", "shape": [151669, 64], "data_offsets": [0, 19413632]}}
    ```

    Use instead:

    ```json config.json
    {"architectures": ["Qwen3ForCausalLM"], "hidden_size": 64, "vocab_size": 151669}
    ```
    """
    weights = facts.weights
    tensors = {tensor.name: tensor for tensor in weights.tensors}
    if not tensors or weights.formats() != {Format.SAFETENSORS}:
        raise NotApplicable(msg("there are no safetensors headers to compare with"))
    if text_of(weights.config.value.get("model_type")) in _OWN_LAYOUT:
        raise NotApplicable(msg("this architecture counts layers and tokens in its own way"))
    hidden, vocabulary = (
        integer(weights.text_config.get(key)) for key in ("hidden_size", "vocab_size")
    )
    norms = {tensor.shape for name, tensor in tensors.items() if _NORM.match(name)}
    if (hidden,) in norms:
        yield from _layers(weights, set(tensors))
    embedding = next((tensor for name, tensor in tensors.items() if _EMBEDDING.match(name)), None)
    plain = all(
        name.endswith("ForCausalLM") for name in words(weights.config.value.get("architectures"))
    )
    if embedding and vocabulary and plain and len(embedding.shape) == 2:
        rows, width = embedding.shape
        if width == hidden and rows != vocabulary:
            expected = msg(
                "an embedding of {vocabulary:,} tokens (vocab_size in config.json)",
                vocabulary=vocabulary,
            )
            seen = msg("{name} has {rows:,} rows", name=embedding.name, rows=rows)
            fix = msg(
                'set "vocab_size" to {rows} in config.json, as save_pretrained does after a change',
                rows=rows,
            )
            yield At("config.json").fail(expected=expected, seen=seen, fix=fix)
        elif hidden and width != hidden and norms == {(width,)}:
            expected = msg(
                "tensors of the width {hidden:,} (hidden_size in config.json)", hidden=hidden
            )
            seen = msg(
                "{name} and the norms have the width {width:,}", name=embedding.name, width=width
            )
            yield At("config.json").fail(expected=expected, seen=seen, fix=_SAME)


def _layers(weights: Weights, names: set[str]) -> Iterator[Finding]:
    count = integer(weights.text_config.get("num_hidden_layers"))
    found = {int(match[1]) for name in names if (match := _LAYER.match(name))}
    missing = [number for number in range(min(count or 0, 10_000)) if number not in found]
    if missing:
        expected = msg("tensors of {count} layers (num_hidden_layers in config.json)", count=count)
        listed = some(list(map(str, missing)))
        seen = plural(
            "none of layer {layers}", "none of layers {layers}", len(missing), layers=listed
        )
        yield At("config.json").fail(expected=expected, seen=seen, fix=_SAME)

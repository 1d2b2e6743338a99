"""Calculates the device memory of a model: its weights, and the key-value cache of a sequence.

Per device, with T = tensor parallel size and P = pipeline parallel size:
    weights  = bytes / (T × P); with expert parallelism routed experts are also divided by the data parallel size,
               all other weights are repeated on each data parallel rank
    cache    = per cached token and layer: 2 × ⌈kv_heads / T⌉ × head_size × bytes of a number,
               or with latent attention: latent × bytes of a number, on every device (T does not divide it);
               sparse attention adds its index, on every device, too
    layers   = ⌈layers / P⌉ of the fullest stage; a window layer caches at most `window` tokens
Source: vLLM's AttentionSpec, MLAAttentionSpec and SlidingWindowSpec (v1/kv_cache_interface.py).
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass

from healthcheck.stages.weights.documents import (
    JsonObject,
    child,
    integer,
    positive,
    text_of,
    words,
)

OVERHEAD_BYTES = 2 * 2**30
"""Activations of the profiling run, graphs and communication buffers; estimated from logs of 910B machines."""
BLOCK_TOKENS = 128
"""Size of vllm-ascend's cache block."""
MASK_BYTES = 6
"""Of a 310P's attention mask per pair of tokens while it is made: float16 as it is, transposed, and formatted."""
MAX_LAYERS = 10_000


class Cached(enum.Enum):
    """The cache of a layer: every token, the last `window` tokens, or a state of fixed size."""

    FULL = "full"
    WINDOW = "window"
    STATE = "state"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A decoder's dimensions.

    Attributes:
        heads: attention heads; the tensor parallel size has to divide them.
        kv_heads: key and value heads.
        latent: with multi-head latent attention, the size of a token's cache entry in a layer (kv_lora_rank +
            qk_rope_head_dim), else None.
        index: size of a token's index entry for sparse attention, in a layer, on every device; 0 without it.
        layers: the kind of cache of each layer.
        window: tokens of a sliding window, None without one.
        context: the longest sequence that the model supports, None if unknown.
    """

    heads: int
    kv_heads: int
    head_size: int
    latent: int | None
    index: int
    layers: tuple[Cached, ...]
    window: int | None
    context: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How a model is distributed over devices, and the size of a number in its cache.

    Attributes:
        prefill_context: devices that share the prompt of a request; each has all of its weights. Source:
            ParallelConfig of vLLM, whose world size is pipeline × tensor × prefill context parallel size.
    """

    tensor: int = 1
    pipeline: int = 1
    data: int = 1
    prefill_context: int = 1
    experts: bool = False
    cache_number_bytes: int = 2

    @property
    def devices(self) -> int:
        return self.tensor * self.pipeline * self.data * self.prefill_context


def weights_per_device(total_bytes: int, expert_bytes: int, layout: Layout) -> int:
    stages = layout.tensor * layout.pipeline
    if not layout.experts:
        return math.ceil(total_bytes / stages)
    return math.ceil((total_bytes - expert_bytes) / stages + expert_bytes / (stages * layout.data))


def cache_per_sequence(shape: Shape, tokens: int, layout: Layout) -> int:
    """Bytes of key-value cache that one sequence of `tokens` takes on one device."""
    entry = shape.latent or 2 * math.ceil(shape.kv_heads / layout.tensor) * shape.head_size
    per_token = (entry + shape.index) * layout.cache_number_bytes
    full = shape.layers.count(Cached.FULL) * tokens
    windowed = shape.layers.count(Cached.WINDOW) * min(tokens, shape.window or tokens)
    return math.ceil((full + windowed) / layout.pipeline) * per_token


def longest_sequence(shape: Shape, room_bytes: int, layout: Layout, limit: int) -> int:
    """The longest sequence, in whole blocks and at most `limit`, whose cache fits; 0 if no block fits."""
    low, high = 0, limit // BLOCK_TOKENS
    while low < high:
        middle = (low + high + 1) // 2
        if cache_per_sequence(shape, middle * BLOCK_TOKENS, layout) <= room_bytes:
            low = middle
        else:
            high = middle - 1
    whole = low * BLOCK_TOKENS
    return (
        limit
        if whole + BLOCK_TOKENS > limit and cache_per_sequence(shape, limit, layout) <= room_bytes
        else whole
    )


def read_shape(config: JsonObject) -> Shape | None:
    """Read the shape from a (text) configuration; None if it is incomplete."""
    heads = positive(config, "num_attention_heads", "n_head", "n_heads", "num_heads")
    count = positive(config, "num_hidden_layers", "n_layer", "n_layers", "num_layers")
    hidden = positive(config, "hidden_size", "n_embd", "d_model", "dim")
    if not heads or not count or not hidden or count > MAX_LAYERS:
        return None
    window = _window(config)
    return Shape(
        heads=heads,
        kv_heads=_kv_heads(config, heads),
        head_size=positive(config, "head_dim", "kv_channels", "attention_head_dim") or hidden // heads,
        latent=_latent(config),
        index=_index(config),
        layers=_layers(config, count, window),
        window=window,
        context=positive(
            config, "max_position_embeddings", "n_positions", "seq_length", "max_sequence_length", "max_seq_len",
            "model_max_length",
        ),
    )  # fmt: skip


def _kv_heads(config: JsonObject, heads: int) -> int:
    if config.get("multi_query_attention") is True:
        return positive(config, "multi_query_group_num") or 1
    if config.get("multi_query") is True and config.get("new_decoder_architecture") is not True:
        return 1
    return (
        positive(config, "num_key_value_heads", "num_kv_heads", "n_kv_heads", "n_head_kv") or heads
    )


def latent_rank(config: JsonObject) -> int | None:
    """The rank of the cached latent. Source: vLLM's ModelConfig.use_mla, which excludes MiniCPM3."""
    return (
        None
        if text_of(config.get("model_type")) == "minicpm3"
        else positive(config, "kv_lora_rank")
    )


def _latent(config: JsonObject) -> int | None:
    rank = latent_rank(config)
    return rank + (positive(config, "qk_rope_head_dim") or 0) if rank else None


def _index(config: JsonObject) -> int:
    """Source: DeepseekV32IndexerCache and MiniMaxM3IndexerCache of vLLM 0.33.0: one head's key, no value."""
    of_latent = positive(config, "index_head_dim") if _latent(config) else None
    return of_latent or positive(child(config, "sparse_attention_config"), "sparse_index_dim") or 0


def _window(config: JsonObject) -> int | None:
    if config.get("use_sliding_window") is False:
        return None
    return positive(config, "sliding_window", "attention_chunk_size")


def _layers(config: JsonObject, count: int, window: int | None) -> tuple[Cached, ...]:
    kinds = words(config.get("layer_types")) or words(config.get("layers_block_type"))
    if len(kinds) == count:
        return tuple(_kind(kind, window) for kind in kinds)
    pattern = text_of(config.get("hybrid_override_pattern"))
    if len(pattern) == count:
        return tuple(Cached.FULL if letter == "*" else Cached.STATE for letter in pattern)
    every = positive(config, "full_attention_interval", "attn_layer_period")
    if every:
        offset = integer(config.get("attn_layer_offset"))
        position = every - 1 if offset is None else offset
        return tuple(
            Cached.FULL if number % every == position else Cached.STATE for number in range(count)
        )
    return tuple(
        Cached.WINDOW if window and _slides(config, number) else Cached.FULL
        for number in range(count)
    )


def _kind(name: str, window: int | None) -> Cached:
    if "sliding" in name or "chunked" in name or name == "local":
        return Cached.WINDOW if window else Cached.FULL
    fixed = any(word in name for word in ("linear", "compressed", "mamba", "conv", "recurrent"))
    return (
        Cached.FULL
        if not fixed and ("attention" in name or name in {"hybrid", "global"})
        else Cached.STATE
    )


def _slides(config: JsonObject, number: int) -> bool:
    """Whether layer `number` has a sliding window, for a configuration without a list of layers."""
    model_type = text_of(config.get("model_type"))
    default = {"gemma2": 2, "gemma3_text": 6, "gemma3": 6, "cohere2": 4}.get(model_type)
    pattern = positive(config, "sliding_window_pattern", "_sliding_window_pattern") or default
    if pattern:
        return (number + 1) % pattern != 0
    first = integer(config.get("max_window_layers"))
    return first is None or number >= first

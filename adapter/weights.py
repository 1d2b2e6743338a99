"""The facts of a weights folder that a launch depends on. Strange weights give unknowns, never errors."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adapter.experts import KEYS as EXPERT_KEYS
from adapter.experts import expert_bytes

MAX_JSON_BYTES = 64 * 2**20
MOST, MOST_LAYERS = 2**63, 10_000
MAX_HEADER_BYTES = 100 * 2**20
RANK_FILE = re.compile(r"model-rank-(\d+)-part-\d+\.safetensors")
WEIGHT_FILES = ("*.safetensors", "*.bin", "*.pt", "*.pth", "*.gguf")
CODE_FILES = (
    "config.json",
    "tokenizer_config.json",
    "processor_config.json",
    "preprocessor_config.json",
)
SAFETENSORS_DTYPES = {"BF16": "bfloat16", "F16": "float16", "F32": "float32"}
CONTEXT_KEYS = (
    "max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "max_target_positions",
    "max_sequence_length", "max_seq_length", "seq_len",
)  # fmt: skip
# The defaults of Transformers for keys that these models' config.json leaves out.
IMPLIED: Mapping[str, Mapping[str, Any]] = {
    "gemma2": {"sliding_window_pattern": 2},
    "gemma3_text": {
        "max_position_embeddings": 131072, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256,
        "sliding_window": 4096, "sliding_window_pattern": 6,
    },
}  # fmt: skip
DESCRIPTION = "quant_model_description.json"
MTP_KEYS = ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules")

Json = Mapping[str, Any]


@dataclass(frozen=True)
class Attention:
    """The shape of the key-value cache. `latent` is the width of MLA's compressed cache, 0 elsewhere.

    `sliding_layers` of the layers see at most `window` tokens; `linear_layers` keep no cache that grows. `index` is
    the width of the index that sparse attention keeps for each token.
    """

    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    latent: int = 0
    sliding_layers: int = 0
    window: int = 0
    linear_layers: int = 0
    index: int = 0


@dataclass(frozen=True)
class Weights:
    """Facts of one folder; None is unknown. `total_bytes` is what is loaded: float32 counts half, for example.

    `expert_bytes` is the part of it in experts, a low estimate; `mtp_layers` counts the layers for multi-token
    prediction that config.json names; `scheme` is ModelSlim's name for the numbers of most tensors (W8A8,
    W4A8_DYNAMIC, …); `ranks` is the number of devices that weights in vLLM's sharded_state format were stored for,
    0 otherwise; `pooled` says that the weights are for embeddings or ranking, "" if nothing does.
    """

    path: str
    architecture: str | None = None
    dtype: str | None = None
    context: int | None = None
    attention: Attention | None = None
    vocabulary: int | None = None
    total_bytes: int = 0
    experts: int = 0
    expert_bytes: int = 0
    mtp_layers: int = 0
    quantization: str | None = None
    scheme: str | None = None
    modalities: tuple[str, ...] = ()
    remote_code: tuple[str, ...] = ()
    ranks: int = 0
    pooled: str = ""
    remarks: tuple[str, ...] = ()


def size_in_words(total_bytes: int) -> str:
    """Such as "16.38 GB"; weights for a trial have kilobytes, of which two digits of a GB say nothing."""
    return f"{total_bytes / 1e9:.2f} GB" if total_bytes >= 1e7 else f"{total_bytes / 1e3:.0f} kB"


def read_weights(folder: Path) -> Weights:
    remarks: list[str] = []
    documents = {name: _document(folder / name, remarks) for name in CODE_FILES}
    config = documents["config.json"]
    if not config:
        remarks.append("no readable config.json: every option is left to vLLM")
    text = _text_part(config)
    text = {**IMPLIED.get(_word(text, "model_type") or "", {}), **text}
    files = _weight_files(folder, remarks)
    quantization, architecture = (
        _quantization(folder, config, text),
        _first_word(config.get("architectures")),
    )
    total_bytes = _total_bytes(folder, files)
    experts = experts if (experts := _number(text, *EXPERT_KEYS) or 0) > 1 else 0
    return Weights(
        path=str(folder),
        architecture=architecture,
        dtype=_word(config, "dtype", "torch_dtype")
        or _word(text, "dtype", "torch_dtype")
        or _stored_dtype(files),
        context=_context(text),
        attention=_attention(text),
        vocabulary=_number(text, "vocab_size"),
        total_bytes=total_bytes,
        experts=experts,
        expert_bytes=expert_bytes(text, total_bytes) if experts else 0,
        mtp_layers=_number(text, *MTP_KEYS) or 0,
        quantization=quantization,
        scheme=_scheme(folder),
        modalities=_modalities(config),
        remote_code=tuple(name for name, document in documents.items() if document.get("auto_map")),
        ranks=len({match.group(1) for file in files if (match := RANK_FILE.match(file.name))}),
        pooled=_pooled(folder),
        remarks=tuple(remarks),
    )


def _pooled(folder: Path) -> str:
    """Embedding models and rerankers with a class of chat models: by sentence-transformers' file, or by name."""
    try:
        with (folder / "modules.json").open("rb") as opened:
            listed = opened.read(MAX_JSON_BYTES)
    except OSError:
        listed = b""
    if b"sentence_transformers.models.Pooling" in listed:
        return "an embedding model (modules.json)"
    return "a reranker (the folder's name)" if "rerank" in folder.name.lower() else ""


def _document(file: Path, remarks: list[str]) -> Json:
    try:
        if not file.is_file():
            return {}
        with file.open("rb") as opened:
            document = json.loads(opened.read(MAX_JSON_BYTES))
    except (OSError, ValueError, RecursionError) as error:
        remarks.append(f"{file.name} cannot be read: {error}")
        return {}
    return document if isinstance(document, dict) else {}


def _text_part(config: Json) -> Json:
    """The language model's part of a configuration that has several (vision-language and omni models)."""
    thinker = config.get("thinker_config")
    if isinstance(thinker, dict):
        config = thinker
    for name in ("text_config", "llm_config", "language_config"):
        part = config.get(name)
        if isinstance(part, dict) and part:
            return part
    return config


def _number(document: Json, *names: str) -> int | None:
    for name in names:
        value = document.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and 0 < value < MOST:
            return value
    return None


def _word(document: Json, *names: str) -> str | None:
    return next((value for name in names if isinstance(value := document.get(name), str)), None)


def _first_word(value: object) -> str | None:
    return value[0] if isinstance(value, list) and value and isinstance(value[0], str) else None


def _context(text: Json) -> int | None:
    """The longest context that vLLM accepts: model_max_length, or else the least that config.json names.

    A stored YaRN scaling lengthens it in vLLM 0.23 but not in 0.32, so here it can only shorten it.
    """
    named = [number for key in CONTEXT_KEYS if (number := _number(text, key))]
    context = _number(text, "model_max_length") or min(named, default=None)
    scaling = text.get("rope_scaling") or text.get("rope_parameters")
    if context is None or not isinstance(scaling, dict):
        return context
    original, factor = _number(scaling, "original_max_position_embeddings"), scaling.get("factor")
    yarn = scaling.get("rope_type", scaling.get("type")) == "yarn"
    if yarn and original and isinstance(factor, int | float) and 1 <= original * factor < context:
        return int(original * factor)
    return context


def _attention(text: Json) -> Attention | None:
    layers = _number(text, "num_hidden_layers", "n_layer", "num_layers")
    heads = _number(text, "num_attention_heads", "n_head")
    hidden = _number(text, "hidden_size", "n_embd")
    if layers is None or heads is None:
        return None
    head_dim = _number(text, "head_dim") or (hidden // heads if hidden else None)
    if head_dim is None:
        return None
    kinds = (
        Counter(map(str, types))
        if isinstance(types := text.get("layer_types"), list)
        else Counter[str]()
    )
    window = _number(text, "sliding_window") if text.get("use_sliding_window", True) else None
    latent = _number(text, "kv_lora_rank") or 0
    return Attention(
        layers=layers,
        heads=heads,
        kv_heads=_number(text, "num_key_value_heads", "multi_query_group_num", "num_kv_heads")
        or heads,
        head_dim=head_dim,
        latent=latent + (_number(text, "qk_rope_head_dim") or 0) if latent else 0,
        sliding_layers=_sliding_layers(text, kinds, layers) if window else 0,
        window=window or 0,
        linear_layers=_linear_layers(text, kinds, layers),
        index=_index(text),
    )


def _index(text: Json) -> int:
    sparse = text.get("sparse_attention_config")
    of_latent = _number(text, "index_head_dim") if _number(text, "kv_lora_rank") else 0
    return (
        of_latent or (_number(sparse, "sparse_index_dim") if isinstance(sparse, dict) else 0) or 0
    )


def _sliding_layers(text: Json, kinds: Counter[str], layers: int) -> int:
    if kinds:
        return kinds["sliding_attention"] + kinds["chunked_attention"]
    pattern = text.get("sliding_window_pattern")
    if isinstance(pattern, str) and pattern:
        return (
            sum(pattern[layer % len(pattern)] == "L" for layer in range(layers))
            if layers < MOST_LAYERS
            else 0
        )
    every = _number(text, "sliding_window_pattern")
    return (
        layers - layers // every
        if every
        else max(0, layers - (_number(text, "max_window_layers") or 0))
    )


def _linear_layers(text: Json, kinds: Counter[str], layers: int) -> int:
    if kinds:
        return kinds["linear_attention"] + kinds["mamba"]
    interval = _number(text, "full_attention_interval")
    return layers - layers // interval if interval else 0


def _weight_files(folder: Path, remarks: list[str]) -> tuple[Path, ...]:
    """The files that are loaded: those of the index, else those of the first format found."""
    index = _document(folder / "model.safetensors.index.json", remarks).get("weight_map")
    if isinstance(index, dict):
        names = {
            name
            for name in index.values()
            if isinstance(name, str) and name == os.path.basename(name)
        }
        return tuple(folder / name for name in sorted(names))
    for pattern in WEIGHT_FILES:
        if files := sorted(folder.glob(pattern)):
            return tuple(files)
    remarks.append("no weight files: nothing is known of their size")
    return ()


def _total_bytes(folder: Path, files: tuple[Path, ...]) -> int:
    """The size of the files; from the index if they are missing, so that a plan can precede a download."""
    stored = sum(_size(file) for file in files)
    if _stored_dtype(files) == "float32":
        return stored // 2
    metadata = _document(folder / "model.safetensors.index.json", []).get("metadata")
    return stored or (_number(metadata, "total_size") or 0 if isinstance(metadata, dict) else 0)


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0


def _stored_dtype(files: tuple[Path, ...]) -> str | None:
    """The dtype of most bytes in the first safetensors file, for a configuration that does not state it."""
    if not files or files[0].suffix != ".safetensors":
        return None
    try:
        with files[0].open("rb") as opened:
            length = int.from_bytes(opened.read(8), "little")
            header = json.loads(opened.read(length)) if length <= MAX_HEADER_BYTES else {}
    except (OSError, ValueError, RecursionError):
        return None
    sizes: Counter[str] = Counter()
    for tensor in header.values() if isinstance(header, dict) else ():
        if (
            isinstance(tensor, dict)
            and isinstance(offsets := tensor.get("data_offsets"), list)
            and len(offsets) == 2
        ):
            start, end = offsets
            if isinstance(start, int) and isinstance(end, int):
                sizes[str(tensor.get("dtype"))] += end - start
    return SAFETENSORS_DTYPES.get(sizes.most_common(1)[0][0]) if sizes else None


def _quantization(folder: Path, config: Json, text: Json) -> str | None:
    """The method's name in vLLM; "ascend" for weights that ModelSlim has quantised."""
    if (folder / DESCRIPTION).is_file():
        return "ascend"
    for part in (config, text):
        for name in ("quantization_config", "compression_config"):
            method = part.get(name)
            if isinstance(method, dict) and method:
                return _word(method, "quant_method") or "a method that config.json does not name"
    apart = _document(folder / "hf_quant_config.json", []).get(
        "quantization"
    )  # ModelOpt until 0.29
    algorithm = _word(apart, "quant_algo") if isinstance(apart, dict) else None
    return (
        {"NVFP4": "modelopt_fp4", "MXFP8": "modelopt_mxfp8"}.get(algorithm, "modelopt")
        if algorithm
        else None
    )


def _scheme(folder: Path) -> str | None:
    described = _document(folder / DESCRIPTION, []).items()
    kinds = Counter(
        kind for name, kind in described if name.endswith(".weight") and isinstance(kind, str)
    )
    return next((kind for kind, _ in kinds.most_common() if kind != "FLOAT"), None)


def _modalities(config: Json) -> tuple[str, ...]:
    """The inputs of the model besides text: image, video, audio."""
    parts = config.get("thinker_config")
    parts = parts if isinstance(parts, dict) else config
    images = any(
        parts.get(name) for name in ("vision_config", "visual", "vision_tower", "vit_config")
    )
    videos = images and any(name in parts for name in ("video_token_id", "video_token_index"))
    audios = bool(parts.get("audio_config"))
    return tuple(
        name for name, there in (("image", images), ("video", videos), ("audio", audios)) if there
    )

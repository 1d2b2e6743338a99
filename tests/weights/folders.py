"""Writes weights folders for tests: a sound one, and what can be wrong with one."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path

from healthcheck.core.ledger import Ledger
from healthcheck.core.progress import Silent
from healthcheck.core.records import CheckResult, Outcome
from healthcheck.engines import known
from healthcheck.report.words import repair
from healthcheck.sandbox.job import EndedBy
from healthcheck.stages.plan.records import (
    Api,
    LaunchPlan,
    Origin,
    PortSource,
    ServerCommand,
    ShellRun,
)
from healthcheck.stages.weights.checks import CHECKS
from healthcheck.stages.weights.facts import survey
from healthcheck.stages.weights.records import WeightsFacts

BYTES = {"BF16": 2, "F16": 2, "F32": 4, "I32": 4, "I8": 1, "U8": 1, "F8_E4M3": 1}
CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
QWEN3 = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "torch_dtype": "bfloat16",
    "hidden_size": 4096,
    "num_hidden_layers": 36,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "max_position_embeddings": 40960,
    "vocab_size": 151936,
}
VISION = {
    "architectures": ["Qwen2_5_VLForConditionalGeneration"],
    "model_type": "qwen2_5_vl",
    "vision_config": {"depth": 32},
    "image_token_id": 151655,
}
OMNI = {
    "architectures": ["Qwen2_5OmniModel"],
    "model_type": "qwen2_5_omni",
    "thinker_config": {
        "audio_config": {"d_model": 1280},
        "vision_config": {"depth": 32},
        "text_config": {},
    },
    "talker_config": {"hidden_size": 896},
    "enable_audio_output": True,
}


VOCABULARY = {"a": 0, "<think>": 1, "</think>": 2}


def write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value), encoding="utf-8")


def header(tensors: dict[str, tuple[str, tuple[int, ...]]]) -> tuple[bytes, int]:
    """A safetensors header with its length in front, and the bytes that its tensors take."""
    entries, position = {}, 0
    for name, (dtype, shape) in tensors.items():
        size = BYTES[dtype]
        for extent in shape:
            size *= extent
        entries[name] = {
            "dtype": dtype,
            "shape": list(shape),
            "data_offsets": [position, position + size],
        }
        position += size
    data = json.dumps(entries).encode()
    return struct.pack("<Q", len(data)) + data, position


def safetensors(path: Path, tensors: dict[str, tuple[str, tuple[int, ...]]]) -> None:
    """A sound safetensors file whose tensors are a hole in a sparse file."""
    head, size = header(tensors)
    with path.open("wb") as file:
        file.write(head)
        file.truncate(len(head) + size)


def model(folder: Path, config: dict | None = None, tensors: dict | None = None) -> Path:
    """A sound folder: configuration, one shard, tokenizer, chat template."""
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "config.json", QWEN3 if config is None else config)
    safetensors(
        folder / "model.safetensors", tensors or {"model.embed_tokens.weight": ("BF16", (16, 8))}
    )
    write_json(
        folder / "tokenizer.json", {"version": "1.0", "model": {"type": "BPE", "vocab": VOCABULARY}}
    )
    write_json(
        folder / "tokenizer_config.json", {"chat_template": CHATML, "eos_token": "<|im_end|>"}
    )
    return folder


def multimodal(folder: Path, config: dict) -> Path:
    """A sound folder of a model that takes images or audio, with its processor."""
    write_json(
        model(folder, config) / "preprocessor_config.json",
        {"image_processor_type": "Qwen2VLImageProcessor"},
    )
    return folder


def sharded(folder: Path, count: int = 3, config: dict | None = None) -> Path:
    """A sound folder of numbered shards with an index."""
    model(folder, config)
    (folder / "model.safetensors").unlink()
    weight_map = {}
    for number in range(1, count + 1):
        name = f"model-{number:05d}-of-{count:05d}.safetensors"
        safetensors(folder / name, {f"layers.{number}.weight": ("BF16", (8, 8))})
        weight_map[f"layers.{number}.weight"] = name
    write_json(folder / "model.safetensors.index.json", {"metadata": {}, "weight_map": weight_map})
    return folder


def plan(
    *,
    engine: str = "vllm",
    model_path: str = "/weights",
    root: str = "/repo",
    model: str = "",
    devices: str = "",
    environment: Mapping[str, str] | None = None,
    **options: str,
) -> LaunchPlan:
    """A launch plan as the plan stage records it, with these options of the server, which serves `model`."""
    named = {name.replace("_", "-"): value for name, value in options.items()}
    server = ServerCommand(
        engine=known.named(engine), api=Api.OPENAI_CHAT, argv=(), command="vllm serve", cwd=root,
        env={"ASCEND_RT_VISIBLE_DEVICES": devices, **(environment or {})}, foreground=True,
        model=model or model_path, port=8000, port_source=PortSource(kind=Origin.DEFAULT, text="default"), host="0.0.0.0", where="deploy.sh:2", options=named,
    )  # fmt: skip
    run = ShellRun(
        shell="sh",
        exit_status=None,
        ended_by=EndedBy.SERVER,
        stdout="",
        stderr="",
        commands=(),
        servers=(server,),
    )
    return LaunchPlan(
        server=server, servers=(server,), commands=(), spaced=None, model_path=model_path,
        spaced_model_path="/weights 2", root=root, run=run,
    )  # fmt: skip


def judge(folder: Path, only: str = "", **facts: object) -> dict[str, CheckResult]:
    """Every check of the stage over a folder, or only one, by id."""
    ledger = Ledger(Silent())
    checks = [check for check in CHECKS if only in {"", check.id}]
    launch = facts.get("plan")
    below = launch.served_below if isinstance(launch, LaunchPlan) else ""
    ledger.judge(checks, lambda: WeightsFacts(uploaded=survey(folder, below=below), **facts))
    return {result.id: result for result in ledger.results}


def findings(results: dict[str, CheckResult]) -> dict[str, str]:
    """The checks that did not pass and were not merely inapplicable, with their outcome."""
    interesting = {Outcome.FAIL, Outcome.WARN, Outcome.ERROR}
    return {
        result.id: result.outcome.value
        for result in results.values()
        if result.outcome in interesting or not result.settled
    }


def said(results: dict[str, CheckResult], id: str) -> str:
    """Everything that a check said, in one text."""
    return "\n".join(
        f"{f.expected} | {f.seen} | {repair(f)} | {f.where}" for f in results[id].findings
    )

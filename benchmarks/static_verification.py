"""`npu-adapter verify REPO --weights DIR --until weights`, against the number and the size of the shards.

The weights are sparse files with real headers, and a tokenizer of 30 MB. What the stages take is on record in the
report; deploy.sh's own runs are the plan stage.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import tempfile
from pathlib import Path

from measure import KIT, Bound, Section, Usage, main, spread, timed

SIZES = ((1, 10), (12, 100), (60, 10), (60, 100), (240, 100))
"""Shards, and GB in all."""
MOST = (60, 100)
TENSORS = 400
ROUNDS = 5
LIMIT_S = 1.0
LIMIT_MB = 100
DEPLOY = """#!/bin/sh
exec vllm serve "$MODEL_PATH" --host 0.0.0.0 --port 8000 --served-model-name "$MODEL_PATH" --tensor-parallel-size 4
"""
CHATML = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
CONFIG = {
    "architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "torch_dtype": "bfloat16",
    "hidden_size": 4096, "num_hidden_layers": 60, "num_attention_heads": 64, "num_key_value_heads": 4,
    "head_dim": 128, "max_position_embeddings": 40960, "vocab_size": 151936,
}  # fmt: skip


def make(folder: Path, shards: int, total_bytes: int) -> None:
    """Sound weights of a little less than that, almost nothing of them on the disk."""
    folder.mkdir()
    tensors = TENSORS
    per_tensor = (total_bytes - 50_000_000) // (shards * tensors) // 2 * 2
    weight_map: dict[str, str] = {}
    for number in range(1, shards + 1):
        name = f"model-{number:05d}-of-{shards:05d}.safetensors"
        header = {
            f"model.layers.{number - 1}.mlp.experts.{expert}.up_proj.weight": {
                "dtype": "BF16", "shape": [per_tensor // 2],
                "data_offsets": [expert * per_tensor, (expert + 1) * per_tensor],
            }
            for expert in range(tensors)
        }  # fmt: skip
        weight_map |= dict.fromkeys(header, name)
        data = json.dumps(header).encode()
        with (folder / name).open("wb") as file:
            file.write(len(data).to_bytes(8, "little") + data)
            file.truncate(8 + len(data) + tensors * per_tensor)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))
    (folder / "config.json").write_text(json.dumps(CONFIG))
    write_tokenizer(folder / "tokenizer.json")
    (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": CHATML}))


def write_tokenizer(path: Path) -> None:
    """A tokenizer of the size of Gemma's: a quarter of a million tokens, half a million merges, 30 MB."""
    vocabulary = {f"token-{number:x}": number for number in range(262_144)}
    merges = [[f"left-{number:x}", f"right-{number:x}"] for number in range(520_000)]
    path.write_text(json.dumps({"model": {"type": "BPE", "vocab": vocabulary, "merges": merges}}))


def repository(folder: Path) -> Path:
    """A committed adapter with the simplest deploy.sh."""
    folder.mkdir()
    (folder / "deploy.sh").write_text(DEPLOY)
    (folder / "deploy.sh").chmod(0o755)
    (folder / "requirements.txt").write_text("")
    (folder / "README.md").write_text("---\npipeline_tag: text-generation\n---\n# Adapter\n")
    git = [
        "git",
        "-C",
        str(folder),
        "-c",
        "user.name=benchmark",
        "-c",
        "user.email=benchmark@example.invalid",
    ]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "adapter"]):
        subprocess.run([*git, *words], check=True)
    return folder


def verify(repo: Path, weights: Path, out: Path) -> tuple[Usage, float, list[str]]:
    """One run: what it took, how long without the plan stage, and what failed."""
    command = [
        *KIT,
        "verify",
        repo,
        "--weights",
        weights,
        "--until",
        "weights",
        "--out",
        out,
        "--quiet",
    ]
    usage = timed(command, cwd=repo.parent)
    report = json.loads((out / "report.json").read_text("utf-8"))
    failed = [check["id"] for check in report["checks"] if check["outcome"] in {"fail", "error"}]
    return usage, usage.seconds - float(report["provenance"]["stages"]["plan"]), failed


def static_verification() -> Section:
    rows, bounds = [], []
    with tempfile.TemporaryDirectory() as scratch:
        repo = repository(Path(scratch, "repo"))
        for shards, gigabytes in SIZES:
            weights = Path(scratch, f"weights-{shards}-{gigabytes}")
            make(weights, shards, gigabytes * 10**9)
            taken = [
                verify(repo, weights, Path(scratch, f"{weights.name}-{i}")) for i in range(ROUNDS)
            ]
            beyond, peak = (
                [beside for _, beside, _ in taken],
                max(usage.peak_mb for usage, _, _ in taken),
            )
            cpu = [usage.cpu_s for usage, _, _ in taken]
            row = [f"{shards} shards, {gigabytes} GB", spread([u.seconds for u, _, _ in taken]), spread(beyond),
                   spread(cpu), f"{peak:.0f}"]  # fmt: skip
            rows.append(row)
            if (shards, gigabytes) == MOST:
                bounds = promises(beyond, peak, taken[0][2])
    return Section(
        title="Static verification",
        about=f"`npu-adapter verify REPO --weights DIR --until weights`, {TENSORS} tensors a shard and a tokenizer "
        f"of 30 MB, {ROUNDS} runs: median (range), the program's start included.",
        header=("weights", "whole, s", "beyond deploy.sh's runs, s", "CPU s", "peak MB"),
        rows=rows,
        bounds=bounds,
    )


def promises(beyond: list[float], peak_mb: float, failed: list[str]) -> list[Bound]:
    return [
        Bound(
            promise=f"100 GB in 60 shards take less than {LIMIT_S:g} s beyond deploy.sh's own run",
            seen=f"{spread(beyond)} s",
            kept=statistics.median(beyond) < LIMIT_S,
        ),
        Bound(
            promise=f"and less than {LIMIT_MB} MB",
            seen=f"{peak_mb:.0f} MB",
            kept=peak_mb < LIMIT_MB,
        ),
        Bound(
            promise="sound weights pass",
            seen=", ".join(failed) or "nothing failed",
            kept=not failed,
        ),
    ]


if __name__ == "__main__":
    main(static_verification)

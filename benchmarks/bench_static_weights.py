"""The weights stage over 100 GB of weights in 60 sparse shards: under 1 s and under 100 MB, its child included.

    python benchmarks/bench_static_weights.py [--shards 60] [--tensors 400] [--rounds 5]

Each round is a process of its own: its start and imports are in the memory, and not in the time.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from healthcheck.engine import Ledger
from healthcheck.progress import Silent
from healthcheck.weights.checks import CHECKS
from healthcheck.weights.facts import WeightsFacts, survey

TOTAL_BYTES = 100 * 10**9
LIMIT_S = 1.0
LIMIT_MB = 100
CHATML = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
CONFIG = {
    "architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "torch_dtype": "bfloat16",
    "hidden_size": 4096, "num_hidden_layers": 60, "num_attention_heads": 64, "num_key_value_heads": 4,
    "head_dim": 128, "max_position_embeddings": 40960, "vocab_size": 151936,
}  # fmt: skip


def make(folder: Path, shards: int, tensors: int) -> None:
    """Sound weights of a little less than TOTAL_BYTES, almost nothing of them on the disk."""
    per_tensor = (TOTAL_BYTES - 50_000_000) // (shards * tensors) // 2 * 2
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


def judge(folder: Path) -> None:
    """One round, in its own process: prints seconds and megabytes."""
    began = time.perf_counter()
    ledger = Ledger(Silent())
    ledger.judge(CHECKS, lambda: WeightsFacts(weights=survey(folder), task="text-generation"))
    seconds = time.perf_counter() - began
    failed = [result.id for result in ledger.failed()]
    print(json.dumps({"seconds": seconds, "megabytes": peak_megabytes(), "failed": failed}))


def peak_megabytes() -> float:
    """Of this program alone: getrusage would also count what the process was before it became this program."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024 / 10**6


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shards", type=int, default=60)
    parser.add_argument("--tensors", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--judge", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.judge:
        judge(options.judge)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder), options.shards, options.tensors)
        command = [sys.executable, __file__, "--judge", folder]
        rounds = [json.loads(subprocess.check_output(command)) for _ in range(options.rounds)]
    seconds = statistics.median(each["seconds"] for each in rounds)
    megabytes = max(each["megabytes"] for each in rounds)
    print(f"{options.shards} shards of {options.tensors} tensors, a tokenizer of 30 MB, {options.rounds} rounds")
    print(f"time    {seconds:.2f} s (median; limit {LIMIT_S:.0f} s)")
    print(f"memory  {megabytes:.0f} MB (peak; limit {LIMIT_MB} MB)")
    failed = [each["failed"] for each in rounds if each["failed"]]
    print(f"failed  {failed or 'nothing, as it should be'}")
    return 0 if seconds < LIMIT_S and megabytes < LIMIT_MB and not failed else 1


if __name__ == "__main__":
    sys.exit(main())

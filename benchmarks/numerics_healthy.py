"""Healthy real servers: is any relation blamed? Four models of three families, two tokenizers, vLLM's CPU build.

Each server is asked with several seeds, and each of these runs is judged. This build adds in one order, so that
healthy servers agree to 0.00: benchmarks/numerics_rounding.py has them round as accelerators do.
benchmarks/numerics_healthy.json has the figures of both.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from measure import ROOT

from healthcheck.core.progress import Silent
from healthcheck.core.records import Outcome
from healthcheck.extensions.numerics import facts
from healthcheck.extensions.numerics.checks import CHECKS
from healthcheck.extensions.numerics.local import find_python
from healthcheck.extensions.numerics.records import NumericsRun, NumericsSettings, Weights
from tests.support.engines import NEW, vllm, weights_of

KEPT = ROOT / "benchmarks/numerics_healthy.json"
DENSE, MIXTURE, HYBRID, WINDOW = (
    "dense (Qwen3)", "mixture of experts (Qwen3-MoE)", "convolutions and attention (LFM2)",
    "sliding window of 64, tokens of one byte (Qwen3)",
)  # fmt: skip
SEEDS = {MIXTURE: 3, HYBRID: 3, WINDOW: 3, DENSE: 3}
MORE = ("--served-model-name", "tiny", "--max-model-len", "512", "--gpu-memory-utilization", "0.2")


def weights(kind: str, folder: Path) -> Path:
    """The weights of one of the servers."""
    if kind != WINDOW:
        return weights_of({DENSE: "dense", MIXTURE: "moe", HYBRID: "hybrid"}[kind])
    made = folder / "window"
    maker = [
        ROOT / NEW / "bin/python",
        ROOT / "benchmarks/calibration/bytes_tokenizer.py",
        weights_of("dense"),
        made,
    ]
    subprocess.run(maker, check=True)
    return made


def blamed(run: NumericsRun) -> list[str]:
    """The checks that object to a run, or leave it open."""
    found = [(check.id, check.judge(run)) for check in CHECKS]
    return [
        name
        for name, result in found
        if result.outcome in {Outcome.FAIL, Outcome.WARN} or not result.settled
    ]


def measured(kind: str, folder: Path) -> list[NumericsRun]:
    """A run for each seed, the first against the weights by transformers."""
    place = weights(kind, folder)
    against = Weights(folder=str(place), python=find_python(""))
    with vllm(NEW, place, folder, *MORE) as url:
        return [
            facts.measure(NumericsSettings(url=url, seed=seed), Silent(), None if seed else against)
            for seed in range(SEEDS[kind])
        ]


def main() -> int:
    os.environ |= {"OMP_NUM_THREADS": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind"}
    kept = json.loads(KEPT.read_text("utf-8"))
    for kind in sys.argv[1:] or SEEDS:
        with tempfile.TemporaryDirectory() as folder:
            runs = measured(kind, Path(folder))
        shifts = [pair.difference.shift for run in runs for pair in run.pairs]
        kept[kind] = {
            "runs": len(runs),
            "requests": sum(run.requests for run in runs),
            "comparisons": len(shifts),
            "largest shift": round(max(shifts), 4),
            "shifted": sum(shift > 0 for shift in shifts),
            "blamed": [blamed(run) for run in runs],
            "kl": sum(step.kl for step in runs[0].steps) / max(len(runs[0].steps), 1),
            "unread": runs[0].unread,
        }
        print(kind, kept[kind], flush=True)
        KEPT.write_text(json.dumps(kept, indent=1) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

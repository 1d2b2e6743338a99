"""Divergence against accuracy lost: the small weights made worse by noise, rounding and pruning in ten steps each.

Divergences are measured as `npu-adapter numerics --reference` measures them, accuracies as the probe does, both
without a server. Writes numerics_calibration.json beside it; docs/numerics.md shows its figures.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from evaluating_pass_at_k import bootstrap
from measure import ROOT, Section, main

from healthcheck.extensions.numerics.prompts import lengths, messages, texts
from healthcheck.extensions.numerics.records import Position, Step
from healthcheck.extensions.numerics.reference import step
from healthcheck.extensions.numerics.shift import Shift, shift_of
from healthcheck.stages.probe.grading import grade
from healthcheck.stages.probe.problems import TIERS, generate, prompt

PYTHON = ROOT / ".venv-vllm/bin/python"
KEPT = ROOT / "benchmarks/numerics_calibration.json"
SIZES = {
    "noise": (0.01, 0.02, 0.04, 0.06, 0.08, 0.12, 0.16, 0.22, 0.3, 0.4),
    "rounding": (255, 127, 63, 31, 20, 14, 10, 7, 5, 3),
    "pruning": (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6),
}
PER_TIER, SAMPLES, MAX_TOKENS, TEMPERATURE, SEED = 40, 2, 128, 0.7, 0
OF_A_LENGTH, CONTEXT, MESSAGES = 5, 503, 5


def measured() -> dict[str, Any]:
    """What the weights answer, and their readings, perturbation by perturbation."""
    make = [PYTHON, ROOT / "examples/tiny_lm/make_weights.py", "--cache", ROOT / ".cache/weights"]
    weights = subprocess.run(make, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    request = {
        "folder": weights,
        "problems": [prompt(problem) for problem in problems()],
        "messages": [message.text for message in messages(SEED)[:MESSAGES]],
        "text": "\n\n".join(texts(SEED)),
        "lengths": lengths(CONTEXT) * OF_A_LENGTH,
        "perturbations": [
            ["none", 0],
            *([kind, size] for kind, sizes in SIZES.items() for size in sizes),
        ],
        "samples": SAMPLES,
        "max_tokens": MAX_TOKENS,
        "temperature": TEMPERATURE,
    }
    with tempfile.TemporaryDirectory() as folder:
        asked, answer = Path(folder, "request.json"), Path(folder, "answer.json")
        asked.write_text(json.dumps(request), "utf-8")
        child = [PYTHON, ROOT / "benchmarks/calibration/perturbed.py", asked, answer]
        subprocess.run(child, check=True, env={**os.environ, "HF_HUB_OFFLINE": "1"})
        return json.loads(answer.read_text("utf-8"))


def problems() -> list[Any]:
    return [problem for tier in TIERS for problem in generate("arithmetic", tier, SEED, PER_TIER)]


def steps(right: Any, wrong: Any) -> Iterator[Step]:
    for number, (ours, theirs) in enumerate(zip(right, wrong, strict=True)):
        for there, here in zip(ours, theirs, strict=True):
            yield step(Position(**there), Position(**here), prompt=number)


def shares(answers: Sequence[str]) -> list[float]:
    """The share of right answers of each problem."""
    right = [grade(problem, answers[SAMPLES * number + at]).score
             for number, problem in enumerate(problems()) for at in range(SAMPLES)]  # fmt: skip
    return [
        sum(right[first : first + SAMPLES]) / SAMPLES for first in range(0, len(right), SAMPLES)
    ]


def row(each: Any, shift: Shift, before: Sequence[float], after: Sequence[float]) -> dict[str, Any]:
    lost = [one - other for one, other in zip(before, after, strict=True)]
    interval = bootstrap(lost, seed=SEED)
    of_tier = {tier: round(100 * sum(lost[at * PER_TIER : (at + 1) * PER_TIER]) / PER_TIER, 1)
               for at, tier in enumerate(TIERS)}  # fmt: skip
    return {
        "kind": each["kind"],
        "size": each["size"],
        "kl": float(f"{shift.mean_kl:.3g}"),
        "kl_99": float(f"{shift.kl_99:.3g}"),
        "agreement": round(shift.agreement, 4),
        "perplexity": round(shift.perplexity, 3),
        "accuracy": round(100 * sum(after) / len(after), 1),
        "lost": round(100 * sum(lost) / len(lost), 1),
        "lost_low": round(100 * interval.low, 1),
        "lost_high": round(100 * interval.high, 1),
        "lost_by_tier": of_tier,
    }


def calibration() -> Section:
    found = measured()
    base, *others = found["rows"]
    before = shares(base["texts"])
    rows = [
        row(
            each,
            shift_of(list(steps(base["readings"], each["readings"])), SEED),
            before,
            shares(each["texts"]),
        )
        for each in others
    ]
    accuracy = round(100 * sum(before) / len(before), 1)
    kept = {"accuracy": accuracy, "problems": len(before), "samples": SAMPLES, "rows": rows}
    KEPT.write_text(json.dumps(kept, indent=1) + "\n", "utf-8")
    return Section(
        title="Divergence and accuracy lost",
        about=f"The small weights (Qwen3, 4.6 M parameters) at {accuracy} % of {len(before)} problems × {SAMPLES}.",
        header=("weights", "mean KL", "99th percentile", "first choices agree, %", "points lost (95 %)"),
        rows=[[f"{each['kind']} {each['size']}", f"{each['kl']:.2g}", f"{each['kl_99']:.2g}",
               f"{100 * each['agreement']:.1f}", f"{each['lost']} ({each['lost_low']} to {each['lost_high']})"]
              for each in sorted(rows, key=lambda each: each["kl"])],
    )  # fmt: skip


if __name__ == "__main__":
    main(calibration)

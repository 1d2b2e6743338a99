"""A real vLLM, broken in one way at a time: what names the fault, after how many requests, and what a probe needs.

    .venv/bin/python benchmarks/numerics_faults.py [FAULT …]    (named ones get a new `numerics` run alone)

The plugin of tests/extensions/numerics/faulty_vllm switches faults in one running server. Each fault gets one
`numerics` run, against the weights where only a reference can show it, and one probe of 120 problems × 5 samples.
How many samples the probe needs comes from its own rule for `--reference FOLDER`, on these answers in 200 orders.
Keeps what it measures in benchmarks/numerics_faults.json; docs/numerics.md and the READMEs show its figures.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from measure import ROOT

from healthcheck.core.progress import Silent
from healthcheck.core.records import Outcome
from healthcheck.extensions.numerics import facts
from healthcheck.extensions.numerics.checks import CHECKS
from healthcheck.extensions.numerics.local import find_python
from healthcheck.extensions.numerics.records import NumericsRun, NumericsSettings, Weights
from healthcheck.extensions.numerics.shift import shift_of
from healthcheck.stages.probe.facts import measure
from healthcheck.stages.probe.records import ProbeSettings
from healthcheck.stages.probe.results import figures
from healthcheck.stages.probe.statistics.gate import Decision
from healthcheck.stages.probe.statistics.no_worse import Question, look, settles
from tests.support.servers import serving

ENGINE = ROOT / ".venv-vllm/bin"
KEPT = ROOT / "benchmarks/numerics_faults.json"
PLUGINS = ROOT / "tests/extensions/numerics/faulty_vllm"
VARIABLES = {
    "VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1",
    "OMP_NUM_THREADS": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind",
}  # fmt: skip
HEALTHY = ""
RELATIONS = {
    "prefix-hit-reads-a-wrong-block": "a prefix hit reads another block",
    "prefix-hit-shifts-positions": "a prefix hit shifts positions by one",
    "batch-of-three-reads-a-neighbour": "a batch of three reads its neighbour's block",
    "graph-bucket-masks-tokens": "five to eight requests decode with eight tokens masked",
    "full-batch-drops-the-last-slot": "the last four slots of a large batch see one token",
    "decode-sees-one-token-less": "decoding sees two tokens less",
    "decode-shifts-positions": "decoding shifts positions by three",
    "mixed-step-masks-the-prefill": "a prefill beside decoding requests has wrong positions",
    "block-edge-is-lost": "the block behind a multiple of 128 is lost",
    "graph-size-of-64-is-short": "sequences of 64 to 67 tokens see 32",
    "some-steps-read-stale-memory": "every third step has stale positions",
    "aborted-slot-stays-dirty": "a cancelled request leaves wrong positions",
}
REFERENCES = {
    "wrong-rope-base": "the rope base is 1,000,000 instead of 10,000",
    "weights-in-8-bit-floats": "weights rounded to 8-bit floats, without a scale",
    "weights-in-8-bit-integers": "weights rounded to 8 bits, a scale for each row",
    "weights-in-4-bit-integers": "weights rounded to 4 bits, a scale for each row",
    "logits-scaled-twice": "the logits' scale of 0.8 is applied twice",
    "long-sequences-saturate": "a sum in float16 stops growing after 256 tokens",
}
LAST = {"overflow-at-long-lengths": "values that are not numbers beyond 300 tokens"}
"""What is not a number stays in the engine's cache."""
FAULTS = {HEALTHY: "none", **RELATIONS, **REFERENCES, **LAST}
ORDERS, SEED = 200, 0
Rows = list[list[int]]


def plugin(folder: Path, name: str) -> None:
    """Have vLLM find this plugin in a folder of PYTHONPATH."""
    described = folder / f"{name}-0.dist-info"
    described.mkdir()
    (described / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0\n")
    (described / "entry_points.txt").write_text(
        f"[vllm.general_plugins]\n{name} = {name}:register\n"
    )
    for path in PLUGINS.glob("*.py"):
        shutil.copy(path, folder)


@contextmanager
def engine(
    folder: Path, weights: str | Path, more: Mapping[str, str] | None = None
) -> Iterator[tuple[str, Path]]:
    """The address of a server with the plugin, and the file that holds its fault. `more` is for its environment."""
    plugin(folder, "numerics_faults")
    fault = folder / "fault"
    fault.write_text(HEALTHY)
    command = (ENGINE / "vllm", "serve", weights, "--served-model-name", "tiny", "--enforce-eager",
               "--max-model-len", "512", "--gpu-memory-utilization", "0.2")  # fmt: skip
    path = f"{ENGINE}:{os.environ['PATH']}"
    variables = {
        **VARIABLES,
        "PATH": path,
        "PYTHONPATH": str(folder),
        "NUMERICS_FAULT": str(fault),
        **(more or {}),
    }
    with serving(command, environment=variables, log=folder / "vllm.log") as url:
        yield url, fault


def named(run: NumericsRun) -> dict[str, str]:
    """The checks that object, with their outcome."""
    results = [check.judge(run) for check in CHECKS]
    return {
        result.id.partition("/")[2]: result.outcome.value
        for result in results
        if result.outcome in {Outcome.FAIL, Outcome.WARN} or not result.settled
    }


def numbers(run: NumericsRun) -> dict[str, Any]:
    found: dict[str, Any] = {
        "named": named(run),
        "requests": run.requests,
        "seconds": run.seconds,
        "shift": round(max((pair.difference.shift for pair in run.pairs), default=0.0), 1),
    }
    if run.steps:
        shift = shift_of(run.steps, SEED)
        low, high = (float(f"{each:.2g}") for each in (shift.kl.low, shift.kl.high))
        found |= {"kl": float(f"{shift.mean_kl:.2g}"), "kl_low": low, "kl_high": high,
                  "times": shift.times and round(shift.times, 1)}  # fmt: skip
    return found


def answers(url: str, folder: Path) -> Rows:
    """Right or wrong, a row for each problem."""
    settings = ProbeSettings(url=url, max_tokens=256, full=True)
    run = measure(settings, Silent(), folder)
    return figures.matrix(run, figures.grid(run))


def samples_to_notice(before: Rows, after: Rows) -> tuple[float, float | None]:
    """The share of orders in which the probe calls the run worse, and the median of samples that it takes there."""
    counts = tuple((len(row), sum(row)) for row in before)
    accuracy = sum(map(sum, before)) / sum(map(len, before))
    margin = settles(accuracy=accuracy, problems=len(before), repeats=len(before[0]), before=counts)
    question = Question(
        accuracy=accuracy,
        problems=len(before),
        repeats=len(before[0]),
        margin=margin,
        before=counts,
    )
    draw = random.Random(SEED)
    seen = [verdict(question, [draw.sample(row, len(row)) for row in after],
                    draw.sample(range(len(after)), len(after))) for _ in range(ORDERS)]  # fmt: skip
    worse = [samples for decision, samples in seen if decision is Decision.DEGRADED]
    return len(worse) / ORDERS, statistics.median(worse) if worse else None


def verdict(question: Question, rows: Rows, order: Sequence[int]) -> tuple[Decision, int]:
    """What `probe --reference FOLDER` says of the answers, and after how many."""
    gate, evidence = question.gate, question.gate.start()
    for number, problem in enumerate(order, 1):
        evidence = gate.observe(evidence, rows[problem][0] - question.expected(problem))
        if evidence.decision is not Decision.OPEN:
            return evidence.decision, number
    for done in range(1, question.repeats + 1):
        seen = look(question, [sum(row[:done]) for row in rows], done)
        if seen and seen.decision is not Decision.OPEN:
            return seen.decision, done * len(rows)
    return Decision.OPEN, question.repeats * len(rows)


def main() -> int:
    make = [
        ENGINE / "python",
        ROOT / "examples/tiny_lm/make_weights.py",
        "--cache",
        ROOT / ".cache/weights",
    ]
    weights = subprocess.run(make, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    kept = json.loads(KEPT.read_text("utf-8")) if KEPT.exists() else {}
    chosen = sys.argv[1:] or [fault for fault in FAULTS if fault not in kept]
    against = Weights(folder=weights, python=find_python(""))
    with tempfile.TemporaryDirectory() as folder, engine(Path(folder), weights) as (url, switch):
        for fault in chosen:
            switch.write_text(fault)
            settings = NumericsSettings(url=url)
            run = facts.measure(settings, Silent(), None if fault in RELATIONS | LAST else against)
            rows = (
                kept[fault]["rows"]
                if fault in kept
                else answers(url, Path(folder, f"probe-{fault}"))
            )
            kept[fault] = {
                "words": FAULTS[fault],
                **numbers(run),
                "load": round(os.getloadavg()[0], 1),
            }
            kept[fault] |= {
                "accuracy": round(100 * sum(map(sum, rows)) / sum(map(len, rows)), 1),
                "rows": rows,
            }
            share, median = samples_to_notice(kept[HEALTHY]["rows"], rows)
            kept[fault] |= {"noticed": share, "samples": median}
            KEPT.write_text(_json(kept), "utf-8")
            print(
                fault or "healthy",
                {name: kept[fault][name] for name in kept[fault] if name != "rows"},
                flush=True,
            )
    return 0


def _json(kept: dict[str, Any]) -> str:
    """One fault a line."""
    lines = (f" {json.dumps(fault)}: {json.dumps(found)}" for fault, found in kept.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    sys.exit(main())

"""Healthy real servers that round as accelerators do: is any relation blamed, and are faults still named?

    .venv/bin/python benchmarks/numerics_rounding.py [dense | mixture | window | faults …]

The plugin of tests/extensions/numerics/faulty_vllm/numerics_rounding.py has the products of a real vLLM (CPU
build) add in another order: in parts whose number depends on the rows of the batch (every second seed), or is
drawn for each product. Each run has a seed of its own, and is shorter than that of the command (SHORT): 200 take
about an hour. A model goes on after the runs that benchmarks/numerics_healthy.json has of it. Then faults are put
into the same rounding server. docs/numerics.md shows the figures of that file.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numerics_faults
import numerics_healthy
from numerics_healthy import DENSE, KEPT, MIXTURE, WINDOW

from healthcheck.core.progress import Silent
from healthcheck.core.records import Outcome
from healthcheck.extensions.numerics import facts
from healthcheck.extensions.numerics.checks import CHECKS
from healthcheck.extensions.numerics.records import NumericsRun, NumericsSettings

ORDERS = {"rows": "parts by the rows of the batch", "random": "parts at random"}
SHORT = NumericsSettings(url="", pairs=6, max_batch=16, longest_tokens=320)
PARTS = {"dense": DENSE, "mixture": MIXTURE, "window": WINDOW}
SEEDS = {DENSE: 68, MIXTURE: 66, WINDOW: 66}
FIRST_SEED = 100
FAULTS = (
    "prefix-hit-reads-a-wrong-block", "prefix-hit-shifts-positions", "batch-of-three-reads-a-neighbour",
    "graph-bucket-masks-tokens", "decode-shifts-positions", "mixed-step-masks-the-prefill", "block-edge-is-lost",
    "graph-size-of-64-is-short", "aborted-slot-stays-dirty",
)  # fmt: skip
LIMITS = (0.25, 0.5, 1.0)


@contextmanager
def server(kind: str, folder: Path) -> Iterator[tuple[str, Path, Path]]:
    """Its address, the file that says how it rounds, and the one that holds its fault."""
    how = folder / "rounding"
    how.write_text("")
    place = numerics_healthy.weights(kind, folder)
    with numerics_faults.engine(folder, place, {"NUMERICS_ROUNDING": str(how)}) as (url, fault):
        yield url, how, fault


def blamed(run: NumericsRun) -> dict[str, str]:
    """The checks that object, or leave a run open."""
    results = [check.judge(run) for check in CHECKS]
    return {
        result.id: result.outcome.value if result.settled else "inconclusive"
        for result in results
        if result.outcome in {Outcome.FAIL, Outcome.WARN, Outcome.ERROR} or not result.settled
    }


def figures(run: NumericsRun) -> dict[str, Any]:
    """What one run shows."""
    shifts = [pair.difference.shift for pair in run.pairs]
    return {
        "runs": 1,
        "requests": run.requests,
        "comparisons": len(shifts),
        "moved": sum(shift > 0 for shift in shifts),
        "largest": round(max(shifts), 3),
        "beyond": {str(limit): sum(shift > limit for shift in shifts) for limit in LIMITS},
        "blamed": {f"{check}: {outcome}": 1 for check, outcome in sorted(blamed(run).items())},
    }


def both(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """The figures of the runs of both."""
    added = {name: one[name] + other[name] for name in ("runs", "requests", "comparisons", "moved")}
    counted = {
        name: dict(Counter(one[name]) + Counter(other[name])) for name in ("beyond", "blamed")
    }
    never = dict.fromkeys(map(str, LIMITS), 0)
    return (
        added
        | {"largest": max(one["largest"], other["largest"])}
        | counted
        | {"beyond": never | counted["beyond"]}
    )


def healthy(kept: dict[str, Any], kind: str) -> None:
    found = kept["healthy"].setdefault(kind, {})
    done = sum(each["runs"] for each in found.values())
    with tempfile.TemporaryDirectory() as folder, server(kind, Path(folder)) as (url, how, _):
        for seed in range(FIRST_SEED + done, FIRST_SEED + SEEDS[kind]):
            order = list(ORDERS)[seed % 2]
            how.write_text(order)
            run = facts.measure(replace(SHORT, url=url, seed=seed), Silent())
            print(kind, seed, order, run.requests, f"{run.seconds} s", blamed(run), flush=True)
            found[order] = both(found[order], figures(run)) if order in found else figures(run)
            keep(kept)


def faults(kept: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder, server(DENSE, Path(folder)) as (url, how, switch):
        for fault in FAULTS:
            for order in ORDERS:
                how.write_text(order)
                switch.write_text(fault)
                run = facts.measure(NumericsSettings(url=url), Silent())
                found = {
                    "named": numerics_faults.named(run),
                    "requests": run.requests,
                    "seconds": run.seconds,
                }
                print(fault, order, found, flush=True)
                kept["faults"].setdefault(fault, {})[order] = found
                keep(kept)


def keep(kept: dict[str, Any]) -> None:
    whole = json.loads(KEPT.read_text("utf-8"))
    KEPT.write_text(json.dumps(whole | {"rounding": kept}, indent=1) + "\n", "utf-8")


def main() -> int:
    kept = {"healthy": {}, "faults": {}} | json.loads(KEPT.read_text("utf-8")).get("rounding", {})
    chosen = sys.argv[1:] or [*PARTS, "faults"]
    for part in chosen:
        if part in PARTS:
            healthy(kept, PARTS[part])
    if "faults" in chosen:
        faults(kept)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Samples to a verdict: the sequential gate on simulated streams, beside the smallest fixed test with its errors.

The fixed test looks at n samples and accepts at c right ones or more; n is the smallest that keeps both error
rates, found from exact binomial tails.
"""

from __future__ import annotations

import math
import random
import statistics

from measure import Bound, Section, main

from healthcheck.stages.probe.statistics.gate import Decision, Evidence, Gate, accuracy_gate

GATES = tuple(
    accuracy_gate(bad=bad, good=good) for bad, good in ((0.50, 0.75), (0.40, 0.70), (0.60, 0.75))
)
ACCURACIES = (0.0, 0.05, 0.40, 0.80, 0.95)
BUDGET, RUNS, SEED = 400, 4000, 1
MOST_DEAD, ABOUT_HEALTHY, FIXED = 6, 25, 80


def streams(gate: Gate, accuracy: float) -> list[Evidence]:
    """What the gate says at the end of each of RUNS independent streams."""
    random_ = random.Random(f"{SEED} {gate} {accuracy}")
    return [
        gate.judge(float(random_.random() < accuracy) for _ in range(BUDGET)) for _ in range(RUNS)
    ]


def fixed_n(gate: Gate) -> int:
    """The smallest n for which some threshold keeps both error rates."""
    for n in range(1, 5000):
        bad = _tails(n, gate.bad)
        accept = next(c for c in range(n + 2) if bad[c] <= gate.error)
        if 1 - _tails(n, gate.good)[accept] <= gate.error:
            return n
    raise AssertionError("no fixed test below 5000 samples")


def _tails(n: int, p: float) -> list[float]:
    """P(at least c right of n), for c from 0 to n + 1."""
    logs = [math.lgamma(n + 1) - math.lgamma(c + 1) - math.lgamma(n - c + 1) + c * math.log(p)
            + (n - c) * math.log1p(-p) for c in range(n + 1)]  # fmt: skip
    tails = [0.0]
    for log in reversed(logs):
        tails.append(tails[-1] + math.exp(log))
    return tails[::-1]


def samples_to_verdict() -> Section:
    rows, bounds = [], []
    for gate in GATES:
        seen = {accuracy: streams(gate, accuracy) for accuracy in ACCURACIES}
        counts = {
            accuracy: sorted(evidence.observations for evidence in ended)
            for accuracy, ended in seen.items()
        }
        fixed = fixed_n(gate)
        for accuracy, ended in seen.items():
            shares = [
                sum(evidence.decision is decision for evidence in ended) / RUNS
                for decision in Decision
            ]
            mean = statistics.fmean(counts[accuracy])
            rows.append([f"({gate.bad:.2f}, {gate.good:.2f}), accuracy {accuracy:.2f}", f"{mean:.1f}",
                         f"{counts[accuracy][int(0.9 * RUNS)]}", f"{fixed}", f"{mean / fixed:.2f}",
                         " / ".join(f"{100 * share:.1f}" for share in shares)])  # fmt: skip
        if gate is GATES[0]:
            bounds = promises(
                seen, {key: statistics.fmean(value) for key, value in counts.items()}, fixed
            )
    return Section(
        title="Samples to a verdict",
        about=f"The gate (bad, good) at 1 % errors on {RUNS} simulated streams each, independent samples, against "
        "the smallest fixed test with the same errors.",
        header=("gate and true accuracy", "mean samples", "90 % within", "fixed n", "ratio",
                "% healthy / degraded / open"),
        rows=rows,
        bounds=bounds,
    )  # fmt: skip


def promises(
    seen: dict[float, list[Evidence]], means: dict[float, float], fixed: int
) -> list[Bound]:
    dead = max(evidence.observations for evidence in seen[0.0])
    wrong = sum(evidence.decision is Decision.DEGRADED for evidence in seen[0.80]) / RUNS
    return [
        Bound(promise=f"a dead server is known after at most {MOST_DEAD} samples", seen=f"{dead}",
              kept=dead <= MOST_DEAD),
        Bound(promise=f"a healthy one (0.80; gate .50, .75; 1 %) after about {ABOUT_HEALTHY}",
              seen=f"{means[0.80]:.1f} on average", kept=abs(means[0.80] - ABOUT_HEALTHY) <= 3),
        Bound(promise=f"where a fixed test needs {FIXED}", seen=f"{fixed}", kept=abs(fixed - FIXED) <= 1),
        Bound(promise="a healthy server is rejected in at most 1 % of the runs", seen=f"{100 * wrong:.1f} %",
              kept=wrong <= 0.01),
    ]  # fmt: skip


if __name__ == "__main__":
    main(samples_to_verdict)

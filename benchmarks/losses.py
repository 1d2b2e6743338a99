"""What becomes of a deployment that lost accuracy: called healthy, degraded or not settled, by simulation.

The loss lies on all problems alike, on one tier (and on the next where that one is not enough), or on a fifth of
the problems (and on the next fifth). The bank is new in each run: 40 problems of each tier, whose chances of a
right answer are beta distributed around .95, .85 and .60; the samples of a problem have a correlation of .3. Near
temperature 0 a server decides a problem once, for all samples: they are copies, and two servers of the same
accuracy differ where it was a close call.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from measure import Bound, Section, main

from healthcheck.extensions.compare.comparison import Shift, compare
from healthcheck.stages.probe.results.verdict import MOST_BY_DEFAULT
from healthcheck.stages.probe.statistics.counting import Counts
from healthcheck.stages.probe.statistics.gate import Decision
from healthcheck.stages.probe.statistics.no_worse import Question, look, settles

TIERS, CORRELATION = (0.95, 0.85, 0.60), 0.3
PER_TIER, REPEATS, RUNS = 40, 5, 1500
PROBLEMS, ACCURACY = PER_TIER * len(TIERS), sum(TIERS) / len(TIERS)
NAMES = tuple(str(problem // PER_TIER) for problem in range(PROBLEMS))
LOSSES = (0.0, 0.05, 0.10, 0.15, 0.20, 0.40)
COPIED = ((0.0, 0.3), (0.0, 1.0), (0.10, 1.0), (0.20, 1.0))
"""Losses, and the share of the problems whose samples are copies."""
COMPARE_MARGIN, MOST, ALIKE = 0.05, 0.01, "all problems alike"
Shares = list[float]
WORDS = {
    Shift.NO_WORSE: Decision.HEALTHY,
    Shift.WORSE: Decision.DEGRADED,
    Shift.UNDECIDED: Decision.OPEN,
}


def bank(draw: random.Random) -> Shares:
    """The chances of a right answer, tier by tier."""
    strength = 1 / CORRELATION - 1
    return [
        draw.betavariate(p * strength, (1 - p) * strength) for p in TIERS for _ in range(PER_TIER)
    ]


@dataclass(frozen=True, slots=True)
class Shape:
    """Where a loss lies: on groups of so many problems, one by one, in a row or scattered over the bank."""

    size: int
    scattered: bool

    def groups(self, draw: random.Random) -> list[list[int]]:
        """The problems in groups, in the order in which they lose."""
        problems = (
            draw.sample(range(PROBLEMS), PROBLEMS) if self.scattered else list(range(PROBLEMS))
        )
        groups = [problems[first : first + self.size] for first in range(0, PROBLEMS, self.size)]
        return draw.sample(groups, len(groups))


SHAPES = {
    ALIKE: Shape(PROBLEMS, scattered=False),
    "one tier": Shape(PER_TIER, scattered=False),
    "a fifth of the problems": Shape(PROBLEMS // 5, scattered=True),
}


@dataclass(frozen=True, slots=True)
class Runs:
    """A reference run, the run that is held against it (rows of samples), and the order of its first round."""

    before: Counts
    rows: list[list[int]]
    order: list[int]


def after(chances: Shares, loss: float, groups: Sequence[Sequence[int]]) -> Shares:
    """The chances when the mean has fallen by the loss, group by group until that is enough."""
    left, needed = list(chances), loss * len(chances)
    for group in groups:
        there = sum(left[problem] for problem in group)
        share = min(1.0, needed / there) if there else 0.0
        for problem in group:
            left[problem] *= 1 - share
        needed -= share * there
    return left


def sampled(draw: random.Random, chances: Shares) -> list[list[int]]:
    return [[int(draw.random() < chance) for _ in range(REPEATS)] for chance in chances]


def counts(rows: Sequence[Sequence[int]]) -> Counts:
    return tuple((len(row), sum(row)) for row in rows)


def judged(question: Question, runs: Runs) -> Decision:
    """What `probe --reference` says of a run: the first round sample by sample, then the end of each round."""
    gate, evidence = question.gate, question.gate.start()
    for problem in runs.order:
        evidence = gate.observe(evidence, runs.rows[problem][0] - question.expected(problem))
        if evidence.decision is not Decision.OPEN:
            return evidence.decision
    for done in range(1, REPEATS + 1):
        seen = look(question, [sum(row[:done]) for row in runs.rows], done)
        if seen and seen.decision is not Decision.OPEN:
            return seen.decision
    return Decision.OPEN


def by_number(runs: Runs) -> Decision:
    return judged(replace(_question(ACCURACY, ()), tiers=NAMES), runs)


def by_folder(runs: Runs) -> Decision:
    right = sum(c for _, c in runs.before)
    return judged(_question(right / (PROBLEMS * REPEATS), runs.before), runs)


def by_compare(runs: Runs) -> Decision:
    return WORDS[compare(runs.before, counts(runs.rows), margin=COMPARE_MARGIN).shift]


def decided_once(draw: random.Random, chances: Shares, share: float) -> Shares:
    """The chances of a server whose samples are copies for so many of the problems."""
    return [
        float(draw.random() < chance) if share and draw.random() < share else chance
        for chance in chances
    ]


RULES = {"--reference NUMBER": by_number, "--reference FOLDER": by_folder, "compare": by_compare}


def _question(accuracy: float, before: Counts) -> Question:
    margin = min(
        MOST_BY_DEFAULT,
        settles(accuracy=accuracy, problems=PROBLEMS, repeats=REPEATS, before=before),
    )
    return Question(
        accuracy=accuracy, problems=PROBLEMS, repeats=REPEATS, margin=margin, before=before
    )


def shares_of(shape: str, loss: float, copied: float = 0.0) -> dict[str, dict[Decision, float]]:
    """How often each rule says what; all three judge the same runs."""
    draw = random.Random(f"{shape} {loss}" + (f" {copied}" if copied else ""))
    seen = {name: Counter[Decision]() for name in RULES}
    for _ in range(RUNS):
        chances = bank(draw)
        runs = Runs(
            before=counts(sampled(draw, decided_once(draw, chances, copied))),
            rows=sampled(
                draw, decided_once(draw, after(chances, loss, SHAPES[shape].groups(draw)), copied)
            ),
            order=draw.sample(range(PROBLEMS), PROBLEMS),
        )
        for name, rule in RULES.items():
            seen[name][rule(runs)] += 1
    return {
        name: {decision: seen[name][decision] / RUNS for decision in Decision} for name in RULES
    }


def losses() -> Section:
    rows, healthy, degraded = [], 0.0, 0.0
    cells = [(shape, loss, 0.0) for shape in SHAPES for loss in LOSSES if loss or shape == ALIKE]
    for shape, loss, copied in [*cells, *((ALIKE, loss, copied) for loss, copied in COPIED)]:
        shares = shares_of(shape, loss, copied)
        words = [f"{100 * loss:.0f}", shape if loss else "none", f"{100 * copied:.0f}"]
        rows.append([*words, *map(_told, shares.values())])
        if loss == 0.20:
            healthy = max(healthy, *(share[Decision.HEALTHY] for share in shares.values()))
        if not loss:
            degraded = max(degraded, *(share[Decision.DEGRADED] for share in shares.values()))
    number = 100 * _question(ACCURACY, ()).margin
    return Section(
        title="Losses and what they are called",
        about=f"{PROBLEMS} problems × {REPEATS} samples at {ACCURACY:.2f}, {RUNS} runs a row, in % healthy / "
        f"degraded / not settled. Default margins: {number:.1f} points for NUMBER, what the reference run can "
        f"settle for FOLDER (about 7), {100 * COMPARE_MARGIN:.0f} for `compare`, whose words are no worse / worse "
        "/ undecided.",
        header=("loss, points", "lost by", "copies, %", *RULES),
        rows=rows,
        bounds=[
            Bound(promise="a loss of 20 points is called healthy in at most 1 % of the runs of any row",
                  seen=f"{100 * healthy:.1f} %", kept=healthy <= MOST),
            Bound(promise="no loss is called degraded in at most 1 % of the runs (and 2.5 standard errors)",
                  seen=f"{100 * degraded:.1f} %", kept=degraded <= MOST + 2.5 * (MOST * (1 - MOST) / RUNS) ** 0.5),
        ],
    )  # fmt: skip


def _told(shares: dict[Decision, float]) -> str:
    return " / ".join(f"{100 * shares[decision]:.1f}" for decision in Decision)


if __name__ == "__main__":
    main(losses)

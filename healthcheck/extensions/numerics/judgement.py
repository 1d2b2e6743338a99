"""Rounding or fault? Counts comparisons that differ by more than rounding can, cell by cell.

A healthy server's kernels round differently from batch to batch. On real vLLM with another order of summation in
each batch (bfloat16), log-probabilities move by up to 0.97 nat, in 9 % of prompts at most by more than 0.25;
faults moved some by 4.9 to 13.9 (docs/numerics.md). So a pair exceeds if it moved by more than a limit, and by more
than twice the shift of mere repetition. A healthy server may exceed in a few pairs, because a mixture of experts
routes a token elsewhere: up to `ALLOWED` of them is healthy. The binomial probability of the observed number is
compared with `ERROR`, shared among all cells and both rounds.
The second round ends with the prompt that settles it, so its test is valid after each prompt.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median_high

from healthcheck.extensions.numerics.records import Pair, Relation
from healthcheck.text.messages import msg

ROUNDING, FAULT, CERTAIN = 0.5, 1.0, 2.0
"""Nats: above the first is not rounding, above the second only a fault; the third makes another answer."""
ALLOWED = 0.02
ERROR = 0.01
ROUNDS = 2
ENOUGH = 6
"""Prompts of a second round without one that moved: a fault that moves half of them shows in 98 %."""


BATCHED = {Relation.BATCH, Relation.MIXED_LENGTHS}
CROWDED = {*BATCHED, Relation.WHILE_DECODING}


class Judgement(enum.Enum):
    """The judgement of a cell's pairs, mildest first."""

    ROUNDING = msg("differs as rounding does, or not at all")
    OPEN = msg("not settled")
    DRIFT = msg("drifts more than rounding does")
    FAULT = "a fault"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A relation at one size in one round.

    Attributes:
        again: the second round, with new prompts of the lengths that were suspect in the first.
        suspects: lengths of prompts whose shift only a fault explains or, without any, that moved.
        rows: the places of the suspects in a batch.
        moved: pairs that moved by more than rounding; `wrong`: as much as only a fault does.
        worst: the pair that moved most.
        shift: median of all pairs, in nats.
    """

    relation: Relation
    size: int
    pairs: int
    moved: int
    wrong: int
    shift: float
    worst: Pair
    judgement: Judgement
    again: bool
    suspects: tuple[int, ...]
    rows: tuple[int, ...]

    @property
    def asks_again(self) -> bool:
        """Whether a second round would help."""
        settled = self.judgement is Judgement.FAULT or (
            self.judgement is Judgement.DRIFT and not self.wrong
        )
        return bool(self.moved) and not settled and not self.again

    @property
    def ends(self) -> bool:
        """Whether a second round has seen enough: what it looked for, or nothing of it.

        Drift is not that as long as a pair may be a fault.
        """
        found = self.judgement is Judgement.FAULT or (
            self.judgement is Judgement.DRIFT and not self.wrong
        )
        return self.again and (found or (self.pairs >= ENOUGH and not self.moved))


def cells(pairs: Iterable[Pair]) -> list[Cell]:
    """Every relation and size, judged; AGAIN is the noise for the comparison with the others.

    Omits open cells of the first round that the second round settled.
    """
    groups: dict[tuple[Relation, int, bool], list[Pair]] = {}
    for pair in pairs:
        groups.setdefault((pair.relation, pair.size, pair.again), []).append(pair)
    noise = [pair.difference.shift for pair in groups.get((Relation.AGAIN, 0, False), [])]
    found = [judged(group, noise, len({key[:2] for key in groups})) for group in groups.values()]
    second = {(cell.relation, cell.size) for cell in found if cell.again}
    return [
        cell for cell in found if not (cell.asks_again and (cell.relation, cell.size) in second)
    ]


def judged(group: Sequence[Pair], noise: Sequence[float], groups: int) -> Cell:
    """Judge one cell. `groups` share the error."""
    repeated = _typical(noise) if group[0].relation is not Relation.AGAIN else 0.0
    shifts = [pair.difference.shift for pair in group]
    beyond = [[shift > max(limit, 2 * repeated) for shift in shifts] for limit in (ROUNDING, FAULT)]
    moved, wrong = map(sum, beyond)
    chance = _chance_so_far if group[0].again else _chance
    worst = max(group, key=lambda pair: pair.difference.shift)
    suspects = [
        pair
        for pair, beyond_it in zip(group, beyond[1] if wrong else beyond[0], strict=True)
        if beyond_it
    ]
    return Cell(
        relation=group[0].relation,
        size=group[0].size,
        pairs=len(group),
        moved=moved,
        wrong=wrong,
        shift=median_high(shifts),
        worst=worst,
        again=group[0].again,
        suspects=tuple(sorted({pair.prompt.length for pair in suspects})),
        rows=tuple(sorted({pair.row for pair in suspects if pair.relation in BATCHED})),
        judgement=_judge(
            chance(beyond[0]), chance(beyond[1]), worst, ERROR / (groups * ROUNDS), bool(wrong)
        ),
    )


def _chance(seen: Sequence[bool]) -> float:
    """The probability of at least as many on a healthy server, by the binomial distribution."""
    wrong, of = sum(seen), len(seen)
    return math.fsum(
        math.comb(of, k) * ALLOWED**k * (1 - ALLOWED) ** (of - k) for k in range(wrong, of + 1)
    )


def _chance_so_far(seen: Sequence[bool]) -> float:
    """Like `_chance` if sampling may stop at any time: one over the largest likelihood ratio on the way.

    The ratio is that of an unknown share (uniform) against `ALLOWED`. A healthy server's exceeds 1 / p with a
    probability of at most p (Ville's inequality), however often it is evaluated.
    """
    most = 1.0
    for count in range(1, len(seen) + 1):
        wrong = sum(seen[:count])
        if wrong <= ALLOWED * count:
            continue
        uniform = 1 / ((count + 1) * math.comb(count, wrong))
        most = max(most, uniform / (ALLOWED**wrong * (1 - ALLOWED) ** (count - wrong)))
    return 1 / most


def _judge(moved: float, wrong: float, worst: Pair, error: float, suspect: bool) -> Judgement:
    """`moved` and `wrong` are the probabilities of the observations."""
    if wrong <= error and max(worst.difference.shift, worst.difference.flip) >= CERTAIN:
        return Judgement.FAULT
    if moved <= error:
        return Judgement.DRIFT
    return Judgement.OPEN if suspect else Judgement.ROUNDING


def _typical(noise: Sequence[float]) -> float:
    """The shift of mere repetition, without the most extreme tenth."""
    return sorted(noise)[(len(noise) * 9) // 10 - (len(noise) % 10 == 0)] if noise else 0.0

"""The judge of comparisons, on made-up ones."""

from __future__ import annotations

import pytest

from healthcheck.extensions.numerics.judgement import Judgement, cells
from healthcheck.extensions.numerics.records import Difference, Pair, Prompt, Relation

SMALL, LARGE = 0.1, 6.0


def pairs(
    shifts: list[float], relation: Relation = Relation.AT_EDGE, *, again: bool = False
) -> list[Pair]:
    prompt = Prompt(ids=tuple(range(64)))
    return [
        Pair(
            relation=relation,
            size=0,
            prompt=prompt,
            difference=Difference(shift=shift, flip=shift),
            again=again,
        )
        for shift in shifts
    ]


FIRST = [*pairs([SMALL] * 10, Relation.AGAIN), *pairs([LARGE, *[SMALL] * 10])]


def judgement(found: list[Pair], relation: Relation = Relation.AT_EDGE) -> Judgement:
    return next(cell.judgement for cell in cells(found) if cell.relation is relation)


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ([], Judgement.OPEN),
        ([LARGE], Judgement.OPEN),
        ([LARGE] * 3, Judgement.FAULT),
        ([LARGE, SMALL, LARGE, LARGE, LARGE], Judgement.FAULT),
        ([*[SMALL] * 19, LARGE], Judgement.OPEN),
        ([SMALL] * 20, Judgement.ROUNDING),
    ],
)
def test_a_second_round_settles_what_one_prompt_leaves_open(
    more: list[float], expected: Judgement
) -> None:
    assert judgement(FIRST + pairs(more, again=True)) is expected


@pytest.mark.parametrize("shift", [0.3, 0.45])
def test_rounding_of_another_batch_is_no_drift(shift: float) -> None:
    """As much as sums in another order move log-probabilities of a real vLLM, and repetition nothing."""
    found = [*pairs([0.0] * 10, Relation.AGAIN), *pairs([SMALL, shift] * 16, Relation.BATCH)]
    assert judgement(found, Relation.BATCH) is Judgement.ROUNDING


@pytest.mark.parametrize(
    ("repeated", "shift", "expected"),
    [
        (0.4, 0.7, Judgement.ROUNDING),
        (0.4, 0.9, Judgement.DRIFT),
        (1.5, 2.8, Judgement.ROUNDING),
        (1.5, 3.2, Judgement.FAULT),
    ],
)
def test_a_batch_may_move_twice_what_repetition_alone_does(
    repeated: float, shift: float, expected: Judgement
) -> None:
    found = [*pairs([repeated] * 10, Relation.AGAIN), *pairs([shift] * 16, Relation.BATCH)]
    assert judgement(found, Relation.BATCH) is expected


@pytest.mark.parametrize(("repeats", "tenth"), [(10, 1), (11, 1), (19, 1), (20, 2), (30, 3)])
def test_the_most_extreme_tenth_of_the_repetitions_excuses_nothing(
    repeats: int, tenth: int
) -> None:
    batch = pairs([LARGE] * 16, Relation.BATCH)
    for extreme, expected in ((tenth, Judgement.FAULT), (tenth + 1, Judgement.ROUNDING)):
        noise = [SMALL] * (repeats - extreme) + [LARGE] * extreme
        assert judgement([*pairs(noise, Relation.AGAIN), *batch], Relation.BATCH) is expected


def test_a_second_round_goes_on_after_drift_until_it_has_the_fault() -> None:
    begun = [*FIRST, *pairs([0.7, LARGE], again=True)]
    (cell,) = [cell for cell in cells(begun) if cell.again]
    assert (cell.judgement, cell.ends) == (Judgement.DRIFT, False)
    (cell,) = [cell for cell in cells(begun + pairs([LARGE] * 3, again=True)) if cell.again]
    assert (cell.judgement, cell.ends) == (Judgement.FAULT, True)

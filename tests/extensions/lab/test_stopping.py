"""Adaptive k: what is certain never errs, what is settled errs as rarely as it says, and what that does to figures."""

from __future__ import annotations

import math
import random
from collections import Counter
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from healthcheck.extensions.lab.stopping import Stopping, worst_error
from healthcheck.stages.probe.statistics.voting import maj_at_n
from tests.support.rows import rows

REPLICATES = 3000
MIXES = {
    "two that share all": [0.5, 0.5],
    "two close": [0.45, 0.4, 0.15],
    "many alike": [0.1] * 10,
    "right in most": [0.7, 0.1, 0.1, 0.1],
    "sure": [0.97, 0.03],
}


def modes(said: list[str | None]) -> set[str]:
    votes = Counter(answer for answer in said if answer is not None)
    return {answer for answer, count in votes.items() if count == max(votes.values())}


@given(st.lists(st.sampled_from(["1", "2", "3", None]), min_size=1, max_size=9))
def test_at_error_0_the_majority_is_that_of_all_samples(said: list[str | None]) -> None:
    stopped = Stopping(n=len(said), error=0.0).stops_at(said)
    assert stopped is not None
    assert stopped == len(said) or modes(said[:stopped]) == modes(said)


def test_it_stops_as_soon_as_the_rest_cannot_catch_up() -> None:
    rule = Stopping(n=5, error=0.0)
    assert rule.least == 3
    assert rule.stops_at(["1", "1"]) is None
    assert rule.stops_at(["1", "1", "1"]) == 3
    assert rule.stops_at(["1", "2", "1", "1"]) == 4
    assert rule.stops_at(["1", None, "1", "3"]) is None  # one sample is left, and could tie
    assert rule.stops_at(["1", "1", None, None]) == 4
    assert rule.stops_at([None] * 4) is None
    assert rule.stops_at([None] * 5) == 5


@pytest.mark.parametrize(("n", "error"), [(0, 0.0), (5, -0.1), (5, 0.5), (5, math.nan)])
def test_nonsense_is_refused(n: int, error: float) -> None:
    with pytest.raises(ValueError, match="needs n"):
        Stopping(n=n, error=error)


@pytest.mark.parametrize("said", [["1", "1", "2", "2"], ["1", "1", "2", "2", "3"], ["1", "2", "2", "3", "3", "3"]])
def test_the_worst_error_bounds_that_of_every_order(said: list[str]) -> None:
    """Brute force: over all orders of some answers, the share that stops elsewhere than at the single majority."""
    region = frozenset({(1, 0), (2, 1)})
    orders = list(permutations(said))
    wrong = 0
    for order in orders:
        votes: Counter[str] = Counter()
        for answer in order:
            votes[answer] += 1
            (leader, a), *rest = votes.most_common(2)
            if (a, rest[0][1] if rest else 0) in region:
                wrong += modes([*said]) != {leader}
                break
    assert 0 < wrong / len(orders) <= worst_error(region, len(said))


def shared_out(n: int, most: int) -> list[list[int]]:
    """Every way in which n samples fall on answers, by how often each occurs; at most `most` times."""
    if n == 0:
        return [[]]
    return [[first, *rest] for first in range(min(n, most), 0, -1) for rest in shared_out(n - first, first)]


@pytest.mark.parametrize("error", [0.1, 0.2, 0.3])
def test_for_no_answers_there_can_be_is_the_error_larger(error: float) -> None:
    """Exact: every way in which 7 samples fall on answers and silence, over every order."""
    rule, worst = Stopping(n=7, error=error), 0.0
    for silent in range(8):
        for counts in shared_out(7 - silent, 7):
            said = [None] * silent + [str(place) for place, count in enumerate(counts) for _ in range(count)]
            orders = set(permutations(said))
            stops = ((order, rule.stops_at(order) or 7) for order in orders)
            wrong = sum(stop < 7 and modes([*order[:stop]]) != modes(said) for order, stop in stops)
            worst = max(worst, wrong / len(orders))
    assert worst <= error
    assert (worst > 0) == bool(rule.region)


@rows("error", [0.01, 0.05, 0.2])
@rows("n", [5, 20, 40])
def test_regions_keep_their_error_and_do_not_waste_it(n: int, error: float) -> None:
    region = Stopping(n=n, error=error).region
    assert worst_error(region, n) <= error
    if n >= 20:
        assert worst_error(region, n) > error / 3
        assert Stopping(n=n, error=error).least < n // 2 + 1


@pytest.mark.parametrize("mix", MIXES)
def test_no_mix_of_answers_stops_wrong_more_often_than_the_error(mix: str) -> None:
    draw, rule = random.Random(mix), Stopping(n=20, error=0.05)
    names, wrong, taken = [str(place) for place in range(len(MIXES[mix]))], 0, 0
    for _ in range(REPLICATES):
        said: list[str | None] = [*draw.choices(names, MIXES[mix], k=20)]
        stopped = rule.stops_at(said)
        assert stopped is not None
        taken += stopped
        wrong += stopped < 20 and modes(said[:stopped]) != modes(said)
    assert wrong / REPLICATES <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / REPLICATES)
    if mix == "sure":
        assert taken / REPLICATES < 0.35 * 20


def test_runs_keep_their_majority_and_the_samples_that_all_problems_have_are_unbiased() -> None:
    draw, rule, runs = random.Random(6), Stopping(n=20, error=0.05), 60
    moved = first = taken = 0.0
    for _ in range(runs * 120):
        share = draw.betavariate(1.2, 0.8)
        said: list[str | None] = ["right" if draw.random() < share else draw.choice("abc") for _ in range(20)]
        right = [int(answer == "right") for answer in said]
        stop = rule.stops_at(said) or 0
        moved += maj_at_n(said[:stop], right[:stop]) - maj_at_n(said, right)
        first += sum(right[: rule.least]) / rule.least - share
        taken += stop
    assert abs(moved) / (runs * 120) < 0.005  # of .05 that the error allows
    assert abs(first) / (runs * 120) < 4 * 0.5 / math.sqrt(rule.least * runs * 120)
    assert taken / (runs * 120) < 0.7 * 20


def test_how_far_the_average_over_stopped_samples_is_off() -> None:
    """A problem that is right in .7 of its samples, all errors alike: stopping early favours the side that leads."""
    draw, rule = random.Random(8), Stopping(n=20, error=0.05)
    total = 0.0
    for _ in range(REPLICATES):
        said: list[str | None] = ["right" if draw.random() < 0.7 else "wrong" for _ in range(20)]
        stop = rule.stops_at(said) or 20
        total += said[:stop].count("right") / stop
    assert total / REPLICATES > 0.7 + 0.02

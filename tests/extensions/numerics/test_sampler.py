"""The test of a sampler against what it tells: how often an honest one is blamed, and what it sees."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence

import pytest

from healthcheck.extensions.numerics.records import Position, Prompt, Reading, Sample
from healthcheck.extensions.numerics.sampler import ERROR, Chance, blames, chances, repetitions

VOCABULARY, TOLD, DRAWS, RUNS = 60, 20, 512, 1500
Weights = Sequence[float]


def logits(draw: random.Random) -> Weights:
    """Of a model that is sometimes sure and sometimes not."""
    spread = draw.choice([1.0, 2.0, 4.0])
    return [draw.gauss(0, spread) for _ in range(VOCABULARY)]


def at(temperature: float) -> Callable[[Weights], Weights]:
    return lambda values: [math.exp(value / temperature) for value in values]


def top_k(values: Weights) -> Weights:
    least = sorted(values)[-TOLD]
    return [math.exp(value) * (value >= least) for value in values]


def top_p(values: Weights) -> Weights:
    """The fewest tokens with 80 % together."""
    left, kept = 0.8 * math.fsum(map(math.exp, values)), [0.0] * len(values)
    for place in sorted(range(len(values)), key=values.__getitem__, reverse=True):
        if left > 0:
            kept[place] = math.exp(values[place])
        left -= math.exp(values[place])
    return kept


def position(
    draw: random.Random, values: Weights, weights: Callable[[Weights], Weights]
) -> Position:
    """A draw as vLLM tells it: the chosen token beside the likeliest ones."""
    total = math.log(math.fsum(map(math.exp, values)))
    token = draw.choices(range(VOCABULARY), weights(values))[0]
    told = {*sorted(range(VOCABULARY), key=values.__getitem__, reverse=True)[:TOLD], token}
    return Position(token=str(token), top={str(each): values[each] - total for each in told})


def drawn(
    draw: random.Random, weights: Callable[[Weights], Weights], temperature: float
) -> list[Sequence[Chance]]:
    """The events of as many draws as a run has."""
    places = []
    for _ in range(DRAWS):
        place = position(draw, logits(draw), weights)
        places.append(chances(place, told=TOLD, power=1 / temperature))
    return list(zip(*places, strict=True))


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("temperature", [1.0, 0.5])
def test_an_honest_sampler_is_blamed_no_more_often_than_stated(temperature: float) -> None:
    draw = random.Random(1)
    blamed = sum(any(map(blames, drawn(draw, at(temperature), temperature))) for _ in range(RUNS))
    assert blamed <= 3 * ERROR * RUNS


@pytest.mark.parametrize(
    ("weights", "temperature"),
    [
        (at(0.1), 1.0),
        (at(2.0), 1.0),
        (at(1.0), 0.5),
        (top_k, 1.0),
        (top_p, 1.0),
        (at(0.7), 1.0),
        (at(1.5), 1.0),
    ],
)
def test_another_sampler_is_blamed(
    weights: Callable[[Weights], Weights], temperature: float
) -> None:
    draw = random.Random(1)
    assert any(map(blames, drawn(draw, weights, temperature)))
    assert not any(map(blames, drawn(draw, at(temperature), temperature)))


def completions(draw: random.Random, replicas: int) -> list[Sample]:
    """Eight completions of each of eight prompts, in turn by replicas that started with one seed."""
    models = [[logits(draw) for _ in range(4)] for _ in range(8)]
    seed = draw.random()
    states = [random.Random(seed) for _ in range(replicas)]
    return [
        Sample(
            temperature=1.0,
            neutral=True,
            prompt=Prompt(text=str(number)),
            reading=Reading(
                positions=tuple(
                    position(states[copy % replicas], values, at(1.0)) for values in model
                )
            ),
        )
        for copy in range(8)
        for number, model in enumerate(models)
    ]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_honest_repetitions_are_blamed_no_more_often_than_stated() -> None:
    draw = random.Random(1)
    assert sum(blames(repetitions(completions(draw, 1))) for _ in range(RUNS)) <= 3 * ERROR * RUNS


@pytest.mark.parametrize("replicas", [2, 4])
def test_replicas_that_draw_with_one_seed_are_blamed(replicas: int) -> None:
    draw = random.Random(1)
    assert all(blames(repetitions(completions(draw, replicas))) for _ in range(20))


@pytest.mark.parametrize("value", [-9999.0, -400.0])
def test_what_is_too_unlikely_to_draw_from_is_no_event(value: float) -> None:
    assert chances(Position(token="a", top={"a": value}), told=1, power=2) == ()

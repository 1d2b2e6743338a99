"""Is the sampler honest? What it draws, against what it tells of itself.

Told log-probabilities are raw (vLLM: of the model's logits, whatever the temperature) or processed (of what is
drawn from). What is told at temperature 0 shows which: at temperature T, the differences between tokens are then
the same, or 1 / T times as large. Of raw ones, what must be drawn from is the distribution to the power 1 / T.

The test is an e-value: a bet at fair odds against the told probabilities, place after place. Of an honest sampler
it exceeds 1 / p with a probability of at most p (Markov's inequality), whatever the model, and although the places
of one completion depend on each other.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median

from healthcheck.extensions.numerics.bench import MORE, Bench
from healthcheck.extensions.numerics.distance import difference
from healthcheck.extensions.numerics.judgement import FAULT, Judgement, cells
from healthcheck.extensions.numerics.records import NumericsRun, Position, Prompt, Reading, Sample

ERROR = 0.001
"""The probability that an honest sampler is blamed, shared among two temperatures, three events, and repetition."""
_TESTS = 7
_STAKES = (0.25, 0.5, 1.0, 2.0)
_WAYS = ((1.0, True, 64), (0.5, True, 32), (1.0, False, 32), (0.0, False, 8))
"""Temperature, whether every parameter is requested, completions."""
_PROMPTS = 8
_TIE = 1e-6
NUCLEUS = 0.8
_LEAST_TOLD = 1e-9
"""What is told as next to impossible may be rounded."""
_LEAST, _SURE = -30.0, -0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Chance:
    """An event of one draw: whether it happened, and the bounds of its probability."""

    happened: bool
    low: float
    high: float


async def samples(bench: Bench) -> tuple[Sample, ...]:
    """Completions of the prompts behind which the model is least sure: there it shows how tokens are drawn.

    There are none if the server refuses the parameters that undo its own ways of drawing.
    """
    neutral_ones = bench.asker.dialect.neutral
    sound = [(prompt, reading) for prompt, reading in bench.alone.items() if not reading.error]
    unsure = sorted(sound, key=lambda each: max(each[1].positions[0].top.values()))[:_PROMPTS]
    found: list[Sample] = []
    for temperature, neutral, count in _WAYS if unsure and neutral_ones else ():
        prompts = [unsure[place % len(unsure)][0] for place in range(count)]
        asked = {"temperature": temperature, **(neutral_ones if neutral else {})}
        readings = await bench.asker.read_together(prompts, tokens=MORE, sampling=asked)
        for prompt, reading in zip(prompts, readings, strict=True):
            if reading.error:
                bench.broken.append((prompt.length, reading.error))
            else:
                found.append(
                    Sample(temperature=temperature, neutral=neutral, prompt=prompt, reading=reading)
                )
    return tuple(found)


def steepness(run: NumericsRun, drawn: Sequence[Sample]) -> float | None:
    """How many times as far apart tokens are told as at temperature 0, behind the same prompts; None if unknown."""
    greedy = dict(run.alone)
    slopes = (_slope(greedy.get(each.prompt, Reading()), each.reading) for each in drawn)
    return median(known) if (known := [slope for slope in slopes if slope is not None]) else None


def _slope(greedy: Reading, drawn: Reading) -> float | None:
    if not greedy.positions:
        return None
    here, there = greedy.positions[0].top, drawn.positions[0].top
    common = [
        token
        for token, value in here.items()
        if value > _LEAST and there.get(token, -math.inf) > _LEAST
    ]
    if not common:
        return None
    first = max(common, key=here.__getitem__)
    apart = [(here[first] - here[token], there[first] - there[token]) for token in common]
    square = math.fsum(one * one for one, _ in apart)
    return math.fsum(one * other for one, other in apart) / square if square else None


def moved(run: NumericsRun, drawn: Sequence[Sample]) -> int:
    """The prompts behind which the first token is told otherwise than at temperature 0, if it is unsure there.

    0 where a relation shows a fault: what a batch moves, it moves at every temperature.
    """
    if any(cell.judgement is Judgement.FAULT for cell in cells(run.pairs)):
        return 0
    greedy = {
        prompt: replace(reading, positions=reading.positions[:1]) for prompt, reading in run.alone
    }
    firsts = (
        (each.prompt, replace(each.reading, positions=each.reading.positions[:1])) for each in drawn
    )
    apart = {prompt for prompt, first in firsts if difference(greedy[prompt], first).shift > FAULT}
    return sum(max(greedy[prompt].positions[0].top.values()) < _SURE for prompt in apart)


def chances(place: Position, *, told: int, power: float) -> tuple[Chance, ...]:
    """Events of a draw from the told distribution to a power of at least 1.

    That the token is the likeliest; that it is of the nucleus, the fewest tokens with 80 % together; that it is
    told and not last. Tokens that are not told are each at most as likely as the last one.
    No events if what is told is too small to draw from.
    """
    top = sorted(place.top.values(), reverse=True)[:told]
    shares = [math.exp(value) for value in top]
    beyond = max(0.0, 1 - math.fsum(shares)) * math.exp((power - 1) * top[-1])
    known = math.fsum(math.exp(power * value) for value in top)
    least, most = (known + beyond if power == 1 else known), known + beyond
    if not least:
        return ()
    own = place.top.get(place.token, -math.inf)

    def event(above: float) -> Chance:
        share = math.fsum(math.exp(power * value) for value in top if value > above)
        return Chance(
            happened=own > above, low=min(1.0, share / most), high=min(1.0, share / least)
        )

    reached = zip(top, itertools.accumulate(shares), strict=True)
    last = top[-1] + _TIE
    nucleus = next((value - _TIE for value, mass in reached if mass >= NUCLEUS), last)
    return event(top[0] - _TIE), event(max(nucleus, last)), event(last)


def repetitions(drawn: Iterable[Sample]) -> Iterator[Chance]:
    """That a completion at temperature 1 repeats an earlier one of its prompt.

    Its probability is at most that of all earlier ones together, by what is told of their tokens.
    """
    told: dict[Prompt, dict[tuple[str, ...], float]] = {}
    for each in drawn:
        earlier, places = told.setdefault(each.prompt, {}), each.reading.positions
        tokens = tuple(place.token for place in places)
        if earlier:
            yield Chance(
                happened=tokens in earlier, low=0.0, high=min(1.0, math.fsum(earlier.values()))
            )
        likely = math.exp(
            math.fsum(place.top.get(place.token, min(place.top.values())) for place in places)
        )
        earlier[tokens] = max(likely, earlier.get(tokens, _LEAST_TOLD))


def evidence(drawn: Iterable[Chance]) -> float:
    """The e-value against the probabilities, in either direction; the mean of several stakes is one as well."""
    events = list(drawn)
    logs = [
        math.fsum(
            sign * stake * each.happened
            - math.log1p((each.high if sign > 0 else each.low) * math.expm1(sign * stake))
            for each in events
        )
        for stake in _STAKES
        for sign in (1, -1)
    ]
    return fmean([math.exp(min(value, 700.0)) for value in logs])


def blames(drawn: Iterable[Chance]) -> bool:
    """Whether the events are not those of an honest sampler."""
    return evidence(drawn) > _TESTS / ERROR

"""The readings that a run takes: which prompts it chooses, and what it records of each answer."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest

from healthcheck.extensions.numerics.asking import Asker
from healthcheck.extensions.numerics.bench import Bench
from healthcheck.extensions.numerics.dialect import Dialect
from healthcheck.extensions.numerics.prompts import TokenSource
from healthcheck.extensions.numerics.records import Pair, Position, Prompt, Reading
from healthcheck.extensions.numerics.relations import decoded
from healthcheck.extensions.numerics.reproduction import Shell

LEAD = 3.0
"""Nats by which every answer of the fake server passes over the likeliest token."""


class Answering:
    """Answers every request with as many tokens as it asks for, and counts the requests.

    It refuses prompts of more than `longest` tokens.
    """

    def __init__(self, longest: int = 1000) -> None:
        self.longest = longest
        self.shell = Shell("http://server", Dialect(model="toy", logprobs=2, neutral={}))
        self.requests = 0

    async def read(self, prompt: Prompt, *, tokens: int, salt: str = "") -> Reading:
        del salt
        self.requests += 1
        if prompt.length > self.longest:
            return Reading(error="too long")
        place = Position(token="token_id:7", top={"token_id:7": -LEAD - 0.1, "token_id:8": -0.1})
        return Reading(positions=(place,) * tokens)


def bench(prompts: int, asker: Answering | None = None) -> Bench:
    source = TokenSource(tuple(range(5000)), seed=0)
    return Bench(
        asker=cast(Asker, asker or Answering()),
        source=source,
        longest=300,
        pool=[source.prompt(20) for _ in range(prompts)],
        edges=[20],
        messages=[],
        tokens=8,
        alone={},
        broken=[],
    )


async def pairs_of(bench: Bench, pairs: int) -> list[Pair | None]:
    return [pair async for pair in decoded(bench, pairs, size=4)]


def test_the_lead_of_each_answer_is_recorded_once() -> None:
    asker = Answering()
    one = bench(4, asker)
    found = asyncio.run(pairs_of(one, 4))
    assert all(found)
    assert len(found) == 4
    assert one.leads == [pytest.approx(LEAD)] * asker.requests


def test_a_refused_continuation_is_recorded_once_with_its_own_length() -> None:
    one = bench(4, Answering(longest=20))
    assert asyncio.run(pairs_of(one, 4)) == [None] * 4
    assert one.broken == [(24, "too long")] * 4
    assert one.leads == [pytest.approx(LEAD)] * 4


@pytest.mark.parametrize("prompts", [1, 7, 77, 1001])
def test_prompts_are_chosen_from_a_pool_of_any_size(prompts: int) -> None:
    one = bench(prompts)
    assert len({id(prompt) for prompt in one.prompts(prompts)}) == prompts

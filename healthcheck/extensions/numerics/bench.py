"""The tools that every relation uses: prompts, readings of prompts alone, and comparisons.

A bench takes each reading of a prompt alone once, and records the failed readings of a run.
"""

from __future__ import annotations

import itertools
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from healthcheck.extensions.numerics.asking import Asker
from healthcheck.extensions.numerics.distance import behind, difference
from healthcheck.extensions.numerics.judgement import ROUNDING
from healthcheck.extensions.numerics.prompts import BLOCKS, Source
from healthcheck.extensions.numerics.records import Pair, Prompt, Reading, Relation
from healthcheck.extensions.numerics.reproduction import script

MORE = 8
"""More tokens for the prompts of a batch: the first one must not end before the last one arrives."""
LONG_DECODE = 160
"""Tokens that the neighbours of a prompt request, so that they still run when the prompt comes."""
_LISTS = (2, 4, 6, 8)
"""Sizes of batches that are sent in one request, so that no prompt comes late.

Other batches are one request for each prompt, because a front may work through a list one prompt at
a time, so that the server gets no batch.
"""
_BETWEEN_BATCHES = 13
"""Prompts of the pool from the first of one batch to the first of the next."""
_STRIDES = (7, 11, 13)
"""Distances in the pool from one prompt to the next.

They are primes: one that does not divide the size of the pool reaches every prompt.
"""

Command = Callable[[], str]
"""Writes the shell command for a request. It is only called for a pair that differs by more than rounding."""
Pairs = AsyncGenerator[Pair | None, None]
"""The pairs of a relation, None for one with a failed reading."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A reading and the command for its request."""

    reading: Reading
    command: Command


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """An answer in the situation of a relation, and the answer with which it must agree.

    Attributes:
        prompt: the prompt of the pair.
        answer: the answer in the situation.
        expected: the other answer; None for the answer to the prompt alone, which `Bench.read_alone` has read.
        size: see Pair.
        row: see Pair.
    """

    relation: Relation
    prompt: Prompt
    answer: Answer
    expected: Answer | None = None
    size: int = 0
    row: int = 0


@dataclass(slots=True)
class Bench:
    """The tools of the relations, and the readings of a run.

    Attributes:
        asker: sends the requests.
        source: new prompts.
        longest: the most tokens of a prompt.
        pool: prompts for every relation, at least one, shortest first.
        edges: lengths on both sides of the sizes in engines.
        messages: word problems for chat.
        tokens: completion tokens of a reading.
        alone: the reading of each prompt alone, failed ones included.
        broken: readings that failed, as (prompt length, reason).
        leads: of each greedy reading, by how many nats the likeliest token was ahead of the chosen
            one, at the position where this is most.
        rows: the only places of a batch to compare; () for all.
    """

    asker: Asker
    source: Source
    longest: int
    pool: Sequence[Prompt]
    edges: list[int]
    messages: Sequence[Prompt]
    tokens: int
    alone: dict[Prompt, Reading]
    broken: list[tuple[int, str]]
    leads: list[float] = field(default_factory=list)
    rows: Sequence[int] = ()
    _turn: Iterator[int] = field(default_factory=itertools.count)

    def prompts(self, count: int) -> list[Prompt]:
        """Prompts of very different lengths."""
        return self._spread(self.pool, count)

    def long(self, count: int) -> list[Prompt]:
        """Prompts of more than a block: a cache has no entries for shorter ones."""
        long = [prompt for prompt in self.pool if prompt.length > BLOCKS[-1]]
        return self._spread(long or self.pool[-1:], count)

    def brief(self, count: int) -> list[Prompt]:
        """Prompts with room for a completion of LONG_DECODE tokens."""
        brief = [prompt for prompt in self.pool if prompt.length + LONG_DECODE <= self.longest]
        return self._spread(brief or self.pool[:1], count)

    def alike(self, count: int) -> list[Prompt]:
        """Prompts of about one length."""
        begin = _BETWEEN_BATCHES * next(self._turn)
        return [self.pool[place % len(self.pool)] for place in range(begin, begin + count)]

    def _spread(self, pool: Sequence[Prompt], count: int) -> list[Prompt]:
        """Some prompts of a pool, far from each other unless each stride divides its size."""
        stride = next((stride for stride in _STRIDES if len(pool) % stride), 1)
        return [pool[stride * next(self._turn) % len(pool)] for _ in range(count)]

    def at(self, lengths: Sequence[int], rows: Sequence[int], pairs: int) -> Bench:
        """A copy with new prompts of these lengths only, compared in these rows."""
        of_each = ceil_div(pairs, len(lengths))
        new = [self.source.prompt(length) for length in lengths for _ in range(of_each)]
        return replace(self, pool=new, edges=[*lengths], rows=rows)

    async def read_together(self, prompts: Sequence[Prompt]) -> list[Reading]:
        """The readings of prompts that are sent at once, so that the server answers them in one batch."""
        read = self.asker.read_together if len(prompts) in _LISTS else self.asker.read_beside
        readings = await read(prompts, tokens=self.tokens + MORE)
        return [
            replace(reading, positions=reading.positions[: self.tokens]) for reading in readings
        ]

    async def read_alone(self, prompt: Prompt) -> Reading:
        """The reading of a prompt alone, with no part of it in the cache."""
        if prompt not in self.alone:
            reading = await self.asker.read(prompt, tokens=self.tokens)
            self.record(prompt, reading)
            self.alone[prompt] = reading
        return self.alone[prompt]

    def record(self, prompt: Prompt, reading: Reading) -> None:
        """Add the reading to `broken` if it failed, else its lead to `leads`."""
        if reading.error:
            self.broken.append((prompt.length, reading.error))
        else:
            self.leads.append(max(map(behind, reading.positions)))

    def pair(self, comparison: Comparison) -> Pair | None:
        """Compare two answers, and record the reading in the situation.

        The pair is None unless both readings succeeded.
        """
        prompt, answer = comparison.prompt, comparison.answer
        expected = comparison.expected or Answer(
            reading=self.alone[prompt], command=self.command_alone(prompt)
        )
        if expected.reading.error:
            return None
        self.record(prompt, answer.reading)
        if answer.reading.error:
            return None
        found = difference(expected.reading, answer.reading)
        reproduce = ""
        if found.shift > ROUNDING or found.diverged:
            reproduce = script(expected.command(), answer.command(), comparison.relation.value)
        return Pair(
            relation=comparison.relation,
            size=comparison.size,
            row=comparison.row,
            prompt=prompt,
            difference=found,
            reproduce=reproduce,
        )

    def command_alone(self, prompt: Prompt) -> Command:
        """The command for a prompt alone."""
        return partial(self.asker.shell.alone, prompt, tokens=self.tokens)


def ceil_div(dividend: int, divisor: int) -> int:
    """The quotient, rounded up."""
    return -(-dividend // divisor)

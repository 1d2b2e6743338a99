"""The relations, each as requests that must return the log-probabilities of the prompt alone.

They are metamorphic relations: the right answer is unknown, but both requests must have the same one. The
floating-point sums of another batch or kernel may round differently; `judgement` tells rounding from faults.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from healthcheck.extensions.numerics.asking import Asker
from healthcheck.extensions.numerics.dialect import WITHOUT
from healthcheck.extensions.numerics.distance import behind, difference
from healthcheck.extensions.numerics.judgement import ROUNDING
from healthcheck.extensions.numerics.prompts import BLOCKS, Source
from healthcheck.extensions.numerics.records import Pair, Prompt, Reading, Relation
from healthcheck.extensions.numerics.reproduction import script

BATCHES = (2, 3, 4, 5, 6, 7, 8)
_LISTS = (2, 4, 6, 8)
"""Batches in one request, so that no prompt comes late. Others are a request each: a front may work through a list
one prompt at a time, so that it makes no batch."""
_REPEATS = 10
"""Repetitions at least: they are the noise that every other relation may have."""
_PER_DECODE = 6
_FAR = 13
"""Prompts of the pool between two batches."""
_BEGINS_S = 0.05
_ENDS_S = 2.0
"""Neighbours have this long to end by themselves: a server may continue a cancelled request beside the next one."""
_LONG_DECODE = 160
"""Tokens that the neighbours of WHILE_DECODING request, so that they still run when the prompt comes."""
MORE = 8
"""More tokens for the prompts of a batch: the first one must not end before the last one arrives."""


@dataclass(slots=True)
class Bench:
    """The tools of the relations, and the readings of prompts alone, each taken once.

    Attributes:
        source: new prompts.
        longest: the most tokens of a prompt.
        pool: prompts for every relation, shortest first.
        edges: lengths on both sides of the sizes in engines.
        messages: word problems for chat.
        tokens: completion tokens of a reading.
        leads: see NumericsRun.
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
        """Prompts with room for a long completion."""
        brief = [prompt for prompt in self.pool if prompt.length + _LONG_DECODE <= self.longest]
        return self._spread(brief or self.pool[:1], count)

    def alike(self, count: int) -> list[Prompt]:
        """Prompts of about one length."""
        begin = _FAR * next(self._turn)
        return [self.pool[place % len(self.pool)] for place in range(begin, begin + count)]

    def _spread(self, pool: Sequence[Prompt], count: int) -> list[Prompt]:
        """Some prompts of a pool, far from each other."""
        step = next((step for step in (7, 11, 13) if len(pool) % step), 1)
        return [pool[step * next(self._turn) % len(pool)] for _ in range(count)]

    def at(self, lengths: Sequence[int], rows: Sequence[int], pairs: int) -> Bench:
        """A copy with new prompts of these lengths only, compared in these rows."""
        new = [
            self.source.prompt(length)
            for length in lengths
            for _ in range(-(-pairs // len(lengths)))
        ]
        return replace(self, pool=new, edges=[*lengths], rows=rows)

    async def together(self, prompts: Sequence[Prompt]) -> list[Reading]:
        """The readings of prompts that are sent at once, so that the server answers them in one batch."""
        read = self.asker.read_together if len(prompts) in _LISTS else self.asker.read_beside
        readings = await read(prompts, tokens=self.tokens + MORE)
        return [
            replace(reading, positions=reading.positions[: self.tokens]) for reading in readings
        ]

    async def by_itself(self, prompt: Prompt) -> Reading:
        """The reading of a prompt alone, with no part of it in the cache."""
        if prompt not in self.alone:
            self.alone[prompt] = self.sound(
                prompt, await self.asker.read(prompt, tokens=self.tokens)
            )
        return self.alone[prompt]

    def sound(self, prompt: Prompt, reading: Reading) -> Reading:
        """Return the reading, and record whether it failed, or else by how much its tokens were behind."""
        if reading.error:
            self.broken.append((prompt.length, reading.error))
        else:
            self.leads.append(max(map(behind, reading.positions)))
        return reading

    def pair(
        self,
        relation: Relation,
        prompt: Prompt,
        other: Reading,
        how: Callable[[], str],
        *,
        size: int = 0,
        row: int = 0,
        first: tuple[Reading, Callable[[], str]] | None = None,
    ) -> Pair | None:
        """Compare a reading with `first`, by default the prompt alone; None unless both succeeded.

        `how` writes the command for the reading, as the second of `first` does.
        """
        base, alone = first or (self.alone[prompt], self.asking(prompt))
        if base.error or self.sound(prompt, other).error:
            return None
        found = difference(base, other)
        apart = found.shift > ROUNDING or found.diverged
        reproduce = script(alone(), how(), relation.value) if apart else ""
        return Pair(
            relation=relation,
            size=size,
            row=row,
            prompt=prompt,
            difference=found,
            reproduce=reproduce,
        )

    def asking(self, prompt: Prompt) -> Callable[[], str]:
        """A function that writes the command for a prompt alone."""
        return partial(self.asker.shell.alone, prompt, tokens=self.tokens)


Measure = Callable[[Bench, int], AsyncGenerator["Pair | None", None]]
"""Measures a relation with this many pairs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A relation at one size (0 for none), and its measurement."""

    relation: Relation
    measure: Measure
    size: int = 0


def sized(
    relation: Relation, size: int, measure: Callable[..., AsyncGenerator[Pair | None, None]]
) -> Kind:
    """A relation that has several sizes."""
    return Kind(relation=relation, size=size, measure=partial(measure, size=size))


async def again(bench: Bench, pairs: int) -> AsyncGenerator[Pair | None, None]:
    """Each prompt alone, twice."""
    for prompt in bench.prompts(max(pairs, _REPEATS)):
        await bench.by_itself(prompt)
        other = await bench.asker.read(prompt, tokens=bench.tokens)
        yield bench.pair(Relation.AGAIN, prompt, other, bench.asking(prompt))


async def streamed(bench: Bench, pairs: int) -> AsyncGenerator[Pair | None, None]:
    """Each prompt alone, in one piece and as a stream."""
    for prompt in bench.prompts(pairs):
        await bench.by_itself(prompt)
        other = await bench.asker.read_stream(prompt, tokens=bench.tokens)
        if other.error.startswith(WITHOUT):
            continue  # a proxy may omit them from streams
        how = partial(bench.asker.shell.streamed, prompt, tokens=bench.tokens)
        yield bench.pair(Relation.STREAMED, prompt, other, how)


async def chat(bench: Bench, pairs: int) -> AsyncGenerator[Pair | None, None]:
    """Messages by chat, and the server's tokens of each as a separate prompt."""
    for message in bench.messages[: -(-pairs // 2)]:
        reading, ids = await bench.asker.read_chat(message, tokens=bench.tokens)
        if reading.error or not ids:
            continue  # the endpoint stage judges whether chat works
        prompt = Prompt(ids=ids)
        await bench.by_itself(prompt)
        how = partial(bench.asker.shell.by_chat, message, tokens=bench.tokens)
        yield bench.pair(Relation.CHAT, prompt, reading, how)


async def after_abort(bench: Bench, pairs: int) -> AsyncGenerator[Pair | None, None]:
    """Each prompt alone, and right after a request that its client cancelled during decoding.

    A server that is slower for an ordinary request gets equally more time to begin.
    """
    begins_s = _BEGINS_S
    for prompt, left in zip(bench.prompts(pairs), bench.brief(pairs), strict=True):
        await bench.by_itself(prompt)
        abandoned = asyncio.create_task(bench.asker.read(left, tokens=_LONG_DECODE))
        await asyncio.sleep(begins_s)
        abandoned.cancel()
        await asyncio.gather(abandoned, return_exceptions=True)
        asked = time.monotonic()
        other = await bench.asker.read(prompt, tokens=bench.tokens)
        begins_s = max(_BEGINS_S, 2 * (time.monotonic() - asked))
        how = partial(
            bench.asker.shell.after_abort, left, prompt, long=_LONG_DECODE, tokens=bench.tokens
        )
        yield bench.pair(Relation.AFTER_ABORT, prompt, other, how)


async def batch(bench: Bench, pairs: int, *, size: int) -> AsyncGenerator[Pair | None, None]:
    """Prompts alone, and `size` of about one length at once."""
    for _ in range(-(-pairs // (len(bench.rows) or size))):
        async for pair in _together(bench, Relation.BATCH, bench.alike(size)):
            yield pair


async def mixed_lengths(
    bench: Bench, pairs: int, *, size: int
) -> AsyncGenerator[Pair | None, None]:
    """The same with prompts of very different lengths."""
    for _ in range(max(1, pairs // (len(bench.rows) or size))):
        async for pair in _together(bench, Relation.MIXED_LENGTHS, bench.prompts(size)):
            yield pair


async def _together(
    bench: Bench, relation: Relation, prompts: Sequence[Prompt]
) -> AsyncGenerator[Pair | None, None]:
    compared = bench.rows or range(len(prompts))
    for row in compared:
        await bench.by_itself(prompts[row])
    others = await bench.together(prompts)
    found: dict[Prompt, Pair] = {}
    for row in compared:
        prompt = prompts[row]
        how = partial(bench.asker.shell.batch, prompts, row, tokens=bench.tokens)
        pair = bench.pair(relation, prompt, others[row], how, size=len(prompts), row=row)
        if pair and not (
            prompt in found and found[prompt].difference.shift >= pair.difference.shift
        ):
            found[prompt] = pair  # a large batch repeats prompts, and the judge counts prompts
    for pair in found.values():
        yield pair


async def warm_prefix(bench: Bench, pairs: int) -> AsyncGenerator[Pair | None, None]:
    """Each prompt alone, and again with all its blocks in the cache."""
    for prompt in bench.long(pairs):
        await bench.by_itself(prompt)
        salt = bench.asker.salt()
        await bench.asker.read(prompt, tokens=1, salt=salt)
        other = await bench.asker.read(prompt, tokens=bench.tokens, salt=salt)
        how = partial(bench.asker.shell.after, prompt, prompt, tokens=bench.tokens)
        yield bench.pair(Relation.WARM_PREFIX, prompt, other, how)


async def shared_prefix(bench: Bench, pairs: int) -> AsyncGenerator[Pair | None, None]:
    """Each prompt alone, and after another one with the same first two thirds."""
    for prompt, tail in zip(bench.long(pairs), bench.long(pairs), strict=True):
        await bench.by_itself(prompt)
        salt, cut = bench.asker.salt(), 2 * prompt.length // 3
        ids, text = (
            prompt.ids[:cut] + tail.ids[cut:],
            prompt.text[:cut] + tail.text[cut : prompt.length],
        )
        first = replace(prompt, ids=ids, text=text)
        await bench.asker.read(first, tokens=1, salt=salt)
        other = await bench.asker.read(prompt, tokens=bench.tokens, salt=salt)
        how = partial(bench.asker.shell.after, first, prompt, tokens=bench.tokens)
        yield bench.pair(Relation.SHARED_PREFIX, prompt, other, how)


async def while_decoding(
    bench: Bench, pairs: int, *, size: int
) -> AsyncGenerator[Pair | None, None]:
    """Each prompt alone, and while others decode: its prefill shares their steps and may be split into chunks."""
    prompts, shell = bench.long(pairs), bench.asker.shell
    for prompt in prompts:
        await bench.by_itself(prompt)
    for few in (prompts[begin : begin + _PER_DECODE] for begin in range(0, pairs, _PER_DECODE)):
        beside = bench.brief(size)
        near = [asyncio.create_task(bench.asker.read(each, tokens=_LONG_DECODE)) for each in beside]
        try:
            await asyncio.sleep(_BEGINS_S)
            for prompt in few:
                other = await bench.asker.read(prompt, tokens=bench.tokens)
                how = partial(
                    shell.while_decoding, beside, prompt, long=_LONG_DECODE, tokens=bench.tokens
                )
                yield bench.pair(Relation.WHILE_DECODING, prompt, other, how, size=size)
            await asyncio.wait(near, timeout=_ENDS_S)
        finally:
            for task in near:
                task.cancel()
            await asyncio.gather(*near, return_exceptions=True)


async def decoded(bench: Bench, pairs: int, *, size: int) -> AsyncGenerator[Pair | None, None]:
    """A prompt with the first tokens of its own completion prefilled, and the same tokens decoded one by one."""
    for prompt in bench.prompts(pairs):
        yield await _decoded(bench, Relation.DECODED, prompt, size)


async def at_edges(bench: Bench, pairs: int, *, size: int) -> AsyncGenerator[Pair | None, None]:
    """The same at lengths on both sides of the sizes in engines."""
    for length in bench.edges * max(1, pairs // len(bench.edges)):
        yield await _decoded(bench, Relation.AT_EDGE, bench.source.prompt(length), size)


async def _decoded(bench: Bench, relation: Relation, prompt: Prompt, size: int) -> Pair | None:
    base = await bench.by_itself(prompt)
    said = token_ids(base)[:size]
    if base.error or len(said) < size or len(base.positions) <= size:
        return None
    grown = replace(prompt, ids=prompt.ids + said)
    other = await bench.asker.read(grown, tokens=1)
    if other.error:
        bench.broken.append((grown.length, other.error))
        return None
    shell = bench.asker.shell
    first = (
        Reading(positions=base.positions[size : size + 1]),
        partial(shell.alone, prompt, tokens=size + 1),
    )
    return bench.pair(
        relation, prompt, other, partial(shell.alone, grown, tokens=1), size=size, first=first
    )


def token_ids(reading: Reading) -> tuple[int, ...]:
    """The tokens of a completion, up to the first without an id."""
    ids = [each.token.removeprefix("token_id:") for each in reading.positions]
    return tuple(int(each) for each in itertools.takewhile(str.isdecimal, ids))

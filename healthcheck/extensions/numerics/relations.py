"""The relations, each as requests that must return the log-probabilities of the prompt alone.

They are metamorphic relations: the right answer is unknown, but both requests must have the same one. The
floating-point sums of another batch or kernel may round differently; `judgement` tells rounding from faults. The
relations of batches are in `batches`.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from healthcheck.extensions.numerics.bench import (
    LONG_DECODE,
    Answer,
    Bench,
    Comparison,
    Pairs,
    ceil_div,
)
from healthcheck.extensions.numerics.dialect import WITHOUT
from healthcheck.extensions.numerics.records import Pair, Prompt, Reading, Relation

_REPEATS = 10
"""Repetitions at least: they are the noise that every other relation may have."""
_PER_DECODE = 6
"""Prompts that are sent while the same neighbours decode."""
_BEGINS_S = 0.05
"""Seconds that a request gets to begin decoding."""
_ENDS_S = 2.0
"""Seconds in which neighbours may end by themselves.

A server may continue a cancelled request beside the next one.
"""

Measure = Callable[[Bench, int], Pairs]
"""Measures a relation with this many pairs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A relation at one size (0 for none), and its measurement."""

    relation: Relation
    measure: Measure
    size: int = 0


def sized(relation: Relation, size: int, measure: Callable[..., Pairs]) -> Kind:
    """A relation that has several sizes."""
    return Kind(relation=relation, size=size, measure=partial(measure, size=size))


async def again(bench: Bench, pairs: int) -> Pairs:
    """Each prompt alone, twice."""
    for prompt in bench.prompts(max(pairs, _REPEATS)):
        await bench.read_alone(prompt)
        reading = await bench.asker.read(prompt, tokens=bench.tokens)
        answer = Answer(reading=reading, command=bench.command_alone(prompt))
        yield bench.pair(Comparison(relation=Relation.AGAIN, prompt=prompt, answer=answer))


async def streamed(bench: Bench, pairs: int) -> Pairs:
    """Each prompt alone, in one piece and as a stream."""
    for prompt in bench.prompts(pairs):
        await bench.read_alone(prompt)
        reading = await bench.asker.read_stream(prompt, tokens=bench.tokens)
        if reading.error.startswith(WITHOUT):
            continue  # a proxy may omit them from streams
        command = partial(bench.asker.shell.streamed, prompt, tokens=bench.tokens)
        answer = Answer(reading=reading, command=command)
        yield bench.pair(Comparison(relation=Relation.STREAMED, prompt=prompt, answer=answer))


async def chat(bench: Bench, pairs: int) -> Pairs:
    """Messages by chat, and the server's tokens of each as a separate prompt; half as many as pairs."""
    for message in bench.messages[: ceil_div(pairs, 2)]:
        reading, ids = await bench.asker.read_chat(message, tokens=bench.tokens)
        if reading.error or not ids:
            continue  # the endpoint stage judges whether chat works
        prompt = Prompt(ids=ids)
        await bench.read_alone(prompt)
        command = partial(bench.asker.shell.by_chat, message, tokens=bench.tokens)
        answer = Answer(reading=reading, command=command)
        yield bench.pair(Comparison(relation=Relation.CHAT, prompt=prompt, answer=answer))


async def after_abort(bench: Bench, pairs: int) -> Pairs:
    """Each prompt alone, and right after a request that its client cancelled during decoding.

    A server that is slower for an ordinary request gets equally more time to begin.
    """
    begins_s = _BEGINS_S
    for prompt, left in zip(bench.prompts(pairs), bench.brief(pairs), strict=True):
        await bench.read_alone(prompt)
        abandoned = asyncio.create_task(bench.asker.read(left, tokens=LONG_DECODE))
        await asyncio.sleep(begins_s)
        abandoned.cancel()
        await asyncio.gather(abandoned, return_exceptions=True)
        asked = time.monotonic()
        reading = await bench.asker.read(prompt, tokens=bench.tokens)
        begins_s = max(_BEGINS_S, 2 * (time.monotonic() - asked))
        command = partial(
            bench.asker.shell.after_abort, left, prompt, long=LONG_DECODE, tokens=bench.tokens
        )
        answer = Answer(reading=reading, command=command)
        yield bench.pair(Comparison(relation=Relation.AFTER_ABORT, prompt=prompt, answer=answer))


async def warm_prefix(bench: Bench, pairs: int) -> Pairs:
    """Each prompt alone, and again with all its blocks in the cache."""
    for prompt in bench.long(pairs):
        yield await _after(bench, Relation.WARM_PREFIX, prompt, prompt)


async def shared_prefix(bench: Bench, pairs: int) -> Pairs:
    """Each prompt alone, and after another one with the same first two thirds."""
    for prompt, tail in zip(bench.long(pairs), bench.long(pairs), strict=True):
        cut = 2 * prompt.length // 3
        ids = prompt.ids[:cut] + tail.ids[cut:]
        text = prompt.text[:cut] + tail.text[cut : prompt.length]
        yield await _after(
            bench, Relation.SHARED_PREFIX, prompt, replace(prompt, ids=ids, text=text)
        )


async def _after(bench: Bench, relation: Relation, prompt: Prompt, first: Prompt) -> Pair | None:
    """A prompt alone, and after another one with the same cache salt."""
    await bench.read_alone(prompt)
    salt = bench.asker.salt()
    await bench.asker.read(first, tokens=1, salt=salt)
    reading = await bench.asker.read(prompt, tokens=bench.tokens, salt=salt)
    command = partial(bench.asker.shell.after, first, prompt, tokens=bench.tokens)
    answer = Answer(reading=reading, command=command)
    return bench.pair(Comparison(relation=relation, prompt=prompt, answer=answer))


async def while_decoding(bench: Bench, pairs: int, *, size: int) -> Pairs:
    """Each prompt alone, and while others decode: its prefill shares their steps and may be split into chunks."""
    prompts = bench.long(pairs)
    for prompt in prompts:
        await bench.read_alone(prompt)
    for begin in range(0, pairs, _PER_DECODE):
        neighbours = bench.brief(size)
        tasks = [
            asyncio.create_task(bench.asker.read(each, tokens=LONG_DECODE)) for each in neighbours
        ]
        try:
            await asyncio.sleep(_BEGINS_S)
            for prompt in prompts[begin : begin + _PER_DECODE]:
                yield await _among(bench, prompt, neighbours)
            await asyncio.wait(tasks, timeout=_ENDS_S)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def _among(bench: Bench, prompt: Prompt, neighbours: Sequence[Prompt]) -> Pair | None:
    """A prompt alone, and while its neighbours decode."""
    reading = await bench.asker.read(prompt, tokens=bench.tokens)
    command = partial(
        bench.asker.shell.while_decoding,
        neighbours,
        prompt,
        long=LONG_DECODE,
        tokens=bench.tokens,
    )
    return bench.pair(
        Comparison(
            relation=Relation.WHILE_DECODING,
            prompt=prompt,
            answer=Answer(reading=reading, command=command),
            size=len(neighbours),
        )
    )


async def decoded(bench: Bench, pairs: int, *, size: int) -> Pairs:
    """A prompt with the first tokens of its own completion prefilled, and the same tokens decoded one by one."""
    for prompt in bench.prompts(pairs):
        yield await _continued(bench, Relation.DECODED, prompt, size)


async def at_edges(bench: Bench, pairs: int, *, size: int) -> Pairs:
    """The same as `decoded`, at lengths on both sides of the sizes in engines."""
    for length in bench.edges * max(1, pairs // len(bench.edges)):
        yield await _continued(bench, Relation.AT_EDGE, bench.source.prompt(length), size)


async def _continued(bench: Bench, relation: Relation, prompt: Prompt, size: int) -> Pair | None:
    """The token after the first `size` of a completion: after decoding these, and after prefilling them."""
    alone = await bench.read_alone(prompt)
    completion = token_ids(alone)[:size]
    if alone.error or len(completion) < size or len(alone.positions) <= size:
        return None
    grown = replace(prompt, ids=prompt.ids + completion)
    prefilled = await bench.asker.read(grown, tokens=1)
    if prefilled.error:
        bench.record(grown, prefilled)  # `pair` would record the length of the prompt alone
        return None
    shell = bench.asker.shell
    expected = Answer(
        reading=Reading(positions=alone.positions[size : size + 1]),
        command=partial(shell.alone, prompt, tokens=size + 1),
    )
    return bench.pair(
        Comparison(
            relation=relation,
            prompt=prompt,
            answer=Answer(reading=prefilled, command=partial(shell.alone, grown, tokens=1)),
            expected=expected,
            size=size,
        )
    )


def token_ids(reading: Reading) -> tuple[int, ...]:
    """The tokens of a completion, up to the first without an id."""
    ids = [each.token.removeprefix("token_id:") for each in reading.positions]
    return tuple(int(each) for each in itertools.takewhile(str.isdecimal, ids))

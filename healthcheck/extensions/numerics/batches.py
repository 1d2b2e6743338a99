"""The relations of batches: prompts that are sent at once must get the log-probabilities of each prompt alone."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from healthcheck.extensions.numerics.bench import Answer, Bench, Comparison, Pairs, ceil_div
from healthcheck.extensions.numerics.records import Pair, Prompt, Relation

BATCHES = (2, 3, 4, 5, 6, 7, 8)
"""Sizes of batches, besides the largest one of the server."""


async def batch(bench: Bench, pairs: int, *, size: int) -> Pairs:
    """Prompts alone, and `size` of about one length at once."""
    compared = len(bench.rows) or size
    for _ in range(ceil_div(pairs, compared)):
        async for pair in _at_once(bench, Relation.BATCH, bench.alike(size)):
            yield pair


async def mixed_lengths(bench: Bench, pairs: int, *, size: int) -> Pairs:
    """Prompts alone, and `size` of very different lengths at once."""
    compared = len(bench.rows) or size
    for _ in range(max(1, pairs // compared)):
        async for pair in _at_once(bench, Relation.MIXED_LENGTHS, bench.prompts(size)):
            yield pair


async def _at_once(bench: Bench, relation: Relation, prompts: Sequence[Prompt]) -> Pairs:
    """One batch: of each prompt, the pair that moved most.

    A large batch repeats prompts, and the judge counts prompts.
    """
    rows = bench.rows or range(len(prompts))
    for row in rows:
        await bench.read_alone(prompts[row])
    readings = await bench.read_together(prompts)
    found: dict[Prompt, Pair] = {}
    for row in rows:
        prompt = prompts[row]
        command = partial(bench.asker.shell.batch, prompts, row, tokens=bench.tokens)
        pair = bench.pair(
            Comparison(
                relation=relation,
                prompt=prompt,
                answer=Answer(reading=readings[row], command=command),
                size=len(prompts),
                row=row,
            )
        )
        earlier = found.get(prompt)
        if pair and (earlier is None or pair.difference.shift > earlier.difference.shift):
            found[prompt] = pair
    for pair in found.values():
        yield pair

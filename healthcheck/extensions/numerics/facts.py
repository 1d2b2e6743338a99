"""Measures the relations of a running server."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial

from healthcheck.core.progress import Progress
from healthcheck.core.records import JsonValue
from healthcheck.errors import UsageError
from healthcheck.extensions.numerics import batches, local, relations, sampler
from healthcheck.extensions.numerics.asking import TRIAL, WAITS, Asker, find, tokens_of
from healthcheck.extensions.numerics.bench import MORE, Bench
from healthcheck.extensions.numerics.judgement import CROWDED, Cell, Judgement, cells
from healthcheck.extensions.numerics.own_answers import own_answers
from healthcheck.extensions.numerics.prompts import (
    Source,
    TextSource,
    TokenSource,
    edges,
    lengths,
    messages,
    texts,
)
from healthcheck.extensions.numerics.records import (
    NumericsRun,
    NumericsSettings,
    Pair,
    Reference,
    Relation,
    Server,
    Weights,
    asked_by,
)
from healthcheck.extensions.numerics.reference import refuse_unlike, steps
from healthcheck.extensions.numerics.relations import Kind, sized
from healthcheck.text.messages import msg
from healthcheck.wire.many import Connections

DECODED = (1, 4, 7)
_FROM_EDGE = 4
_OF_A_LENGTH = 2
"""Prompts; one more for a comparison with weights, whose intervals are over prompts."""
_AGAIN = 4
"""In a second round, times as many pairs at most."""
_MOST_AT_ONCE, _DIGITS = 256, 10
_TOKENS = 8
"""Completion tokens to read per request."""


def measure(
    settings: NumericsSettings, progress: Progress, against: Reference | Weights | None = None
) -> NumericsRun:
    """Measure all relations, and suspect ones again; then compare with the reference.

    Raises:
        Blocked: no server answers, or none of its answers has log-probabilities.
        UsageError: the URL is invalid, or the reference is of another model.
    """
    try:
        run = asyncio.run(_measure(settings, progress, against))
    except ValueError as error:
        raise UsageError(str(error)) from error
    if not isinstance(against, Weights):
        return run
    return local.compared(
        run, against, partial(progress.update, msg("the weights, computed by transformers"))
    )


async def _measure(
    settings: NumericsSettings, progress: Progress, against: Reference | Weights | None
) -> NumericsRun:
    began, reference = time.monotonic(), against if isinstance(against, Reference) else None
    async with aclosing(Connections(settings.url, WAITS)) as connections:
        server, dialect = await find(connections, settings)
        trial = await tokens_of(connections, server.model, TRIAL)
        if reference:
            refuse_unlike(reference, server, trial)
        longest = min(settings.longest_tokens, (server.context or 2048) - _TOKENS - MORE - 1)
        pieces = texts(settings.seed)
        source, usual = await _source(connections, server, pieces, settings.seed), lengths(longest)
        server = replace(server, takes_ids=isinstance(source, TokenSource))
        bench = Bench(
            asker=Asker(connections, dialect, settings.url),
            source=source,
            longest=longest,
            pool=[
                source.prompt(length)
                for length in usual
                for _ in range(_OF_A_LENGTH + isinstance(against, Weights))
            ],
            edges=edges(longest, server.context, _TOKENS),
            messages=messages(settings.seed),
            tokens=_TOKENS,
            alone={},
            broken=[],
        )
        pairs = await _rounds(bench, kinds(server, settings), settings.pairs, progress)
        progress.update(msg("tokens that are drawn"))
        samples = await sampler.samples(bench)
        scored = await own_answers(bench)
        moved = partial(progress.update, msg("the tokens of the reference"))
        taken = await steps(bench, reference, moved) if reference else []
    return NumericsRun(
        server=server,
        settings=settings,
        pairs=tuple(pairs),
        alone=tuple(bench.alone.items()),
        broken=tuple(bench.broken),
        leads=tuple(bench.leads),
        samples=samples,
        own_answers=scored,
        trial=trial,
        steps=tuple(taken),
        reference=f"{reference.place} {reference.server.version}".strip() if reference else "",
        requests=bench.asker.requests,
        seconds=round(time.monotonic() - began, 1),
    )


async def _source(
    connections: Connections, server: Server, pieces: Sequence[str], seed: int
) -> Source:
    ids = (
        await tokens_of(connections, server.model, "\n\n".join(pieces)) if server.takes_ids else ()
    )
    return TokenSource(ids, seed) if ids else TextSource(pieces)


def kinds(server: Server, settings: NumericsSettings) -> Sequence[Kind]:
    """The measurements for this server, in order; AGAIN first, since it is the noise."""
    sizes = sorted({*batches.BATCHES, settings.max_batch})
    chosen = [
        Kind(relation=Relation.AGAIN, measure=relations.again),
        Kind(relation=Relation.AFTER_ABORT, measure=relations.after_abort),
        *(sized(Relation.BATCH, size, batches.batch) for size in sizes),
        sized(Relation.MIXED_LENGTHS, 8, batches.mixed_lengths),
        Kind(relation=Relation.WARM_PREFIX, measure=relations.warm_prefix),
        Kind(relation=Relation.SHARED_PREFIX, measure=relations.shared_prefix),
        sized(Relation.WHILE_DECODING, 4, relations.while_decoding),
        Kind(relation=Relation.STREAMED, measure=relations.streamed),
    ]
    if not server.takes_ids:
        return chosen
    return [
        *chosen,
        Kind(relation=Relation.CHAT, measure=relations.chat),
        *(sized(Relation.DECODED, size, relations.decoded) for size in DECODED),
        sized(Relation.AT_EDGE, _FROM_EDGE, relations.at_edges),
    ]


def largest_batch(options: Mapping[str, str]) -> int:
    """The largest batch to try on a server with these options of vLLM, at most `_MOST_AT_ONCE`."""
    given = options.get("max-num-seqs", "")
    usual = NumericsSettings(url="").max_batch
    return (
        max(2, min(int(given), _MOST_AT_ONCE))
        if given.isdecimal() and len(given) < _DIGITS
        else usual
    )


async def _rounds(
    bench: Bench, asked: Sequence[Kind], pairs: int, progress: Progress
) -> list[Pair]:
    found: list[Pair] = []
    for number, kind in enumerate(asked):
        progress.update(kind.relation.value, done=number, total=len(asked))
        found += [pair async for pair in kind.measure(bench, pairs) if pair]
    suspect = [cell for cell in cells(found) if cell.asks_again]
    for cell in sorted(suspect, key=_urgency, reverse=True):
        if _faulty(found):
            break  # the verdict is settled
        kind = next(
            kind for kind in asked if (kind.relation, kind.size) == (cell.relation, cell.size)
        )
        progress.update(
            msg("once more: {value}", value=kind.relation.value), done=len(asked), total=len(asked)
        )
        more = _AGAIN * pairs
        async for pair in _once_more(bench.at(cell.suspects, cell.rows, more), kind, more, found):
            found.append(pair)
    return found


def _urgency(cell: Cell) -> tuple[bool, float, float]:
    """A fault that shows without other requests shows among them too, and must not be blamed on them."""
    return (
        cell.wrong > 0 and cell.relation not in CROWDED,
        cell.wrong / cell.pairs,
        cell.moved / cell.pairs,
    )


async def _once_more(
    bench: Bench, kind: Kind, pairs: int, found: Sequence[Pair]
) -> AsyncIterator[Pair]:
    """New pairs of a suspect relation, until they settle it; a few suffice."""
    async with aclosing(kind.measure(bench, pairs)) as measured:
        async for pair in measured:
            if pair:
                yield replace(pair, again=True)
            if any(
                cell.ends
                for cell in cells(found)
                if (cell.relation, cell.size) == (kind.relation, kind.size)
            ):
                return


def _faulty(found: Sequence[Pair]) -> bool:
    return any(cell.judgement is Judgement.FAULT for cell in cells(found))


def provenance(run: NumericsRun) -> dict[str, JsonValue]:
    """The requests of a run, and the server."""
    asked: dict[str, JsonValue] = {
        "model": run.server.model,
        "version": run.server.version,
        "asked by": asked_by(run.server),
        "log-probabilities a token": run.server.logprobs,
        "requests": run.requests,
        "seconds": run.seconds,
        "seed": run.settings.seed,
        "reference": run.reference,
    }
    return {"server": run.server.header, "numerics": asked}

"""Findings from the cells of some relations."""

from __future__ import annotations

from collections.abc import Collection

from healthcheck.core.check import Findings, NotApplicable, fail, note, unsettled, warn
from healthcheck.extensions.numerics.judgement import FAULT, ROUNDING, Cell, Judgement, cells
from healthcheck.extensions.numerics.records import NumericsRun, Relation, asked_by
from healthcheck.extensions.numerics.reproduction import EVIDENCE, place
from healthcheck.text.messages import msg

LAUNCH_LINE = msg("the command that launches the server (the vllm serve line of deploy.sh)")
"""The place for an option that a repair names."""
_AGAIN = msg("npu-adapter numerics URL --pairs 40 asks four times as many")


_SAID_BY = {
    Judgement.FAULT: (fail, FAULT),
    Judgement.DRIFT: (warn, ROUNDING),
    Judgement.OPEN: (unsettled, FAULT),
}
"""With the change of a log-probability that is the limit."""


def judged(run: NumericsRun, relations: Collection[Relation], *, fix: str) -> Findings:
    """Findings for each size of the relations; the shift of all as a note.

    Raises:
        NotApplicable: no pair of these relations could be compared.
    """
    found = cells(run.pairs)
    chosen = [cell for cell in found if cell.relation in relations]
    if not chosen:
        raise NotApplicable(_why_none(run, relations))
    noise = max(
        (c.worst.difference.shift for c in found if c.relation is Relation.AGAIN), default=0.0
    )
    for cell in chosen:
        if cell.judgement is Judgement.ROUNDING:
            continue
        make, limit = _SAID_BY[cell.judgement]
        expected = msg(
            "log-probabilities within {limit:g} of those of the same prompt alone", limit=limit
        )
        seen, where = _seen(cell, noise), place(cell.relation, cell.size)
        repair = _AGAIN if make is unsettled else fix
        yield make(
            expected=expected,
            seen=seen,
            fix=repair,
            where=where,
            evidence={EVIDENCE: _shortest(run, cell)},
        )
    worst = max(cell.worst.difference.shift for cell in chosen)
    pairs = sum(cell.pairs for cell in chosen)
    yield note(
        msg(
            "{pairs} comparisons, log-probabilities moved by at most {shift:.2f}",
            pairs=pairs,
            shift=worst,
        )
    )


def name(cell: Cell) -> str:
    """A relation with its size."""
    words = cell.relation.value
    if cell.relation is Relation.BATCH:
        return msg("in a batch of {size}", size=cell.size)
    if cell.relation is Relation.MIXED_LENGTHS:
        return msg("in a batch of {size} with prompts of other lengths", size=cell.size)
    if cell.relation in {Relation.DECODED, Relation.AT_EDGE}:
        return msg("{words} ({size} tokens)", words=words, size=cell.size)
    return words


def _why_none(run: NumericsRun, relations: Collection[Relation]) -> str:
    if Relation.STREAMED in relations:
        return msg("the server's streams have no log-probabilities")
    if not run.server.takes_ids:
        return msg(
            "this compares token ids, and the server takes {value}", value=asked_by(run.server)
        )
    return msg("no answers to compare")


def _shortest(run: NumericsRun, cell: Cell) -> str:
    """The shortest command that reproduces the fault."""
    limit = FAULT if cell.wrong else ROUNDING
    alike = (pair for pair in run.pairs if (pair.relation, pair.size) == (cell.relation, cell.size))
    shown = [pair.reproduce for pair in alike if pair.difference.shift > limit]
    return min(shown, key=len, default=cell.worst.reproduce)


def _seen(cell: Cell, noise: float) -> str:
    beyond, limit = (cell.wrong, FAULT) if cell.wrong else (cell.moved, ROUNDING)
    worst = cell.worst.difference
    prompts = msg("more prompts of suspect lengths") if cell.again else msg("prompts")
    flip = (
        msg(", and a token that led by {flip:.1f} was not chosen", flip=worst.flip)
        if worst.flip >= 0.1
        else ""
    )
    again = ""
    if cell.relation is not Relation.AGAIN:
        again = msg("; the same request again moves them by {noise:.2f}", noise=noise)
    return msg(
        "{name}: {beyond} of {pairs} {prompts} moved by more than {limit:g}, at most {shift:.2f} "
        "(prompt of {length}){flip}{again}",
        name=name(cell),
        beyond=beyond,
        pairs=cell.pairs,
        prompts=prompts,
        limit=limit,
        shift=worst.shift,
        length=cell.worst.prompt.length,
        flip=flip,
        again=again,
    )

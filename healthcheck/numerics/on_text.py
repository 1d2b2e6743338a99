"""The relations of a server without log-probabilities, judged by its words.

Rounding makes a greedy text part from itself somewhere: which of two tokens that are about equally likely comes
first is chance. So a text that parts late says nothing. Only where more texts than `ALLOWED` part is there
something: a fault if they part at the first word already, as no rounding makes them, else an open question.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from healthcheck.check import Findings, fail, note, unsettled
from healthcheck.messages import msg
from healthcheck.numerics.judgement import ERROR, at_least
from healthcheck.numerics.records import NumericsRun, Pair, Relation
from healthcheck.numerics.reproduction import EVIDENCE, place
from healthcheck.records import JsonValue

ALLOWED = 0.25
"""The share of texts of some twenty tokens that rounding may part, of a small model on an accelerator."""
_SAME = msg("the same words as of the prompt alone")
_NEXT = msg("start the engine so that it gives log-probabilities, which show how far apart the tokens are")


def judged_by_words(run: NumericsRun, relations: Collection[Relation], *, fix: str) -> Findings:
    """Findings for each size of the relations."""
    groups: dict[tuple[Relation, int], list[Pair]] = {}
    for pair in run.pairs:
        groups.setdefault((pair.relation, pair.size), []).append(pair)
    chosen = {key: group for key, group in groups.items() if key[0] in relations}
    for (relation, size), group in chosen.items():
        apart = [pair for pair in group if pair.difference.diverged]
        at_once = [pair for pair in apart if pair.difference.positions <= 1]
        error = ERROR / len(groups)
        seen = _seen(relation, size, group, apart, at_once)
        shown = min(apart, key=lambda pair: len(pair.reproduce)).reproduce if apart else ""
        evidence: dict[str, JsonValue] = {"relation": relation.value, "size": size, EVIDENCE: shown}
        where = place(relation, size)
        if relation is not Relation.AGAIN and at_least(len(at_once), len(group), ALLOWED) <= error:
            yield fail(expected=_SAME, seen=seen, fix=fix, where=where, evidence=evidence)
        elif at_least(len(apart), len(group), ALLOWED) <= error:
            yield unsettled(expected=_SAME, seen=seen, fix=_NEXT, where=where, evidence=evidence)
    pairs = [pair for group in chosen.values() for pair in group]
    parted = sum(pair.difference.diverged for pair in pairs)
    yield note(
        msg(
            "{pairs} texts compared, {parted} part somewhere; words alone, since: {without:.120}",
            len(pairs),
            parted,
            run.server.without,
        )
    )


def _seen(
    relation: Relation, size: int, group: Sequence[Pair], apart: Sequence[Pair], at_once: Sequence[Pair]
) -> str:
    sized = msg(" of {size}", size) if relation in {Relation.BATCH, Relation.MIXED_LENGTHS} else ""
    return msg(
        "{value}{sized}: {apart} of {group} texts part from those of the prompt alone, {at_once} at the first word",
        relation.value,
        sized,
        len(apart),
        len(group),
        len(at_once),
    )

"""The figures of a run for the report: by relation and length."""

from __future__ import annotations

from collections.abc import Iterable

from healthcheck.core.records import JsonValue
from healthcheck.extensions.numerics import shift
from healthcheck.extensions.numerics.judgement import cells
from healthcheck.extensions.numerics.records import NumericsRun, Pair, Relation
from healthcheck.text.messages import msg


def metrics(run: NumericsRun) -> dict[str, JsonValue]:
    """The figures of a run for the report."""
    found: dict[str, JsonValue] = {
        "numerics": _table(run),
        "numerics_by_length": _by_length(run.pairs),
    }
    if run.steps:
        found["numerics_reference"] = shift.figures(shift.shift_of(run.steps, run.settings.seed))
    return found


def _table(run: NumericsRun) -> JsonValue:
    """The figures of every relation and size."""
    return [
        {
            "relation": cell.relation.value,
            "size": cell.size,
            "comparisons": cell.pairs,
            "beyond rounding": cell.moved,
            "as only faults": cell.wrong,
            "median shift": round(cell.shift, 4),
            "largest shift": round(cell.worst.difference.shift, 4),
            "at length": cell.worst.prompt.length,
            "judgement": cell.judgement.value,
        }
        for cell in cells(run.pairs)
    ]


def _by_length(pairs: Iterable[Pair]) -> JsonValue:
    """The largest shift in nats, by relation and prompt length."""
    found: dict[tuple[str, int], float] = {}
    for pair in pairs:
        said = (
            msg("in a batch of {size}", size=pair.size)
            if pair.relation is Relation.BATCH
            else pair.relation.value
        )
        place = said, pair.prompt.length
        found[place] = max(found.get(place, 0.0), pair.difference.shift)
    shifts = ((*place, round(largest, 4)) for place, largest in found.items())
    return [
        {"relation": relation, "length": length, "shift": largest}
        for relation, length, largest in shifts
    ]

"""The checks that an interrupted interview settles: what was asked later would not change their results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from healthcheck.core.records import CheckResult, Outcome
from healthcheck.stages.endpoint.records import Notes

_OPENING = frozenset({"endpoint/no-auth", "endpoint/models", "endpoint/model-name"})
"""They read the list of models and the first chats."""
_SHORT_ANSWERS = frozenset(
    {"endpoint/degenerate", "endpoint/multi-turn", "endpoint/system-role", "endpoint/image"}
)
"""They read the short answers and the stories as well."""
_EACH_STREAM = frozenset(
    {"endpoint/extra-fields", "endpoint/stream-framing", "endpoint/stream-finish"}
)
"""They read every stream: a fault in one is a fault, but a pass needs all of them."""


def settled(results: Iterable[CheckResult], notes: Notes) -> Iterator[CheckResult]:
    """Those of the results over the facts so far that the rest of the interview could not have changed."""
    final = _OPENING | _SHORT_ANSWERS if notes.has_short_answers else _OPENING
    for result in results:
        observed = result.id in _EACH_STREAM and result.outcome is Outcome.FAIL
        judged = result.id in final and result.outcome is not Outcome.ERROR
        if observed or judged:
            yield result

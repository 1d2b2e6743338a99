"""Whether the server answers as before, after disconnects and malformed requests."""

from __future__ import annotations

from healthcheck.check import Findings, fail, note
from healthcheck.endpoint.answers import answered, said
from healthcheck.endpoint.records import Interview
from healthcheck.endpoint.wording import request_of, response_of, shown
from healthcheck.messages import msg
from healthcheck.wire.client import Exchange


def still_right(interview: Interview, exchange: Exchange, *, line: int, after: str, fix: str) -> Findings:
    """A line of the crowd, by its number and sent again, must be answered, and with text if it had some before."""
    crowd = interview.crowd
    before = [said(exchanges[line]) for exchanges in crowd.rounds if len(exchanges) > line] if crowd else []
    if not answered(exchange) or (before and all(before) and not said(exchange)):
        yield fail(
            expected=msg("after {after}: an answer as before", after),
            seen=response_of(exchange),
            fix=fix,
            where=request_of(exchange),
        )
    elif len(set(before)) == 1 and said(exchange) != before[0]:
        yield note(msg("after {after}, another answer at temperature 0: {said}", after, shown(said(exchange), 80)))

"""A limit that the server does not report: long answers that differ but end after the same number of tokens."""

from __future__ import annotations

from healthcheck.endpoint.answers import answered, said, token_limit
from healthcheck.endpoint.records import Interview
from healthcheck.wire.client import Exchange

_FEWEST_TOKENS = 8
_LIMIT_SHARE = 0.9


def common_length(interview: Interview) -> int | None:
    """The number of tokens of all long answers to one prompt, by the server's count; None if they differ.

    None too if they reach max_tokens or are equal.
    """
    stories = (interview.roomy, *interview.stories[:1], *filter(None, (interview.another,)))
    lengths = {_length(each) for each in stories}
    texts = {said(each) for each in stories if each}
    length = lengths.pop()
    return length if not lengths and len(stories) > 1 and len(texts) == len(stories) else None


def _length(exchange: Exchange | None) -> int | None:
    """The tokens of an answer that ended well before max_tokens."""
    completion = exchange.completion if exchange and answered(exchange) else None
    if exchange is None or completion is None or completion.usage is None:
        return None
    made = completion.usage.completion_tokens
    return made if _FEWEST_TOKENS <= made < _LIMIT_SHARE * token_limit(exchange) else None

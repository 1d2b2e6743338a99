"""A limit that the server does not tell: long answers that differ, and end after equally many tokens."""

from __future__ import annotations

from healthcheck.endpoint.answers import answered, said, token_limit
from healthcheck.endpoint.records import Interview
from healthcheck.wire.client import Exchange

_FEWEST_TOKENS = 8
_LIMIT_SHARE = 0.9


def common_length(interview: Interview) -> int | None:
    """The tokens that all long answers to one prompt have, by the server's count; None where they differ.

    None too where they reach max_tokens, or say the same.
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

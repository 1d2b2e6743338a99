"""All exchanges of an interview, and whether their token counts are plausible."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass, replace

from healthcheck.stages.endpoint.answers import answered, prompt_tokens, said, token_limit, words_in
from healthcheck.stages.endpoint.records import Interview, Step
from healthcheck.text.messages import msg
from healthcheck.wire.client import Exchange

_SLACK = 8
_FEWEST_TOKENS = 8
_LIMIT_SHARE = 0.9
_SERVER_ERROR, _TOO_MANY = 500, 429
_WORDS_PER_TOKEN = 6
"""No tokenizer makes tokens of more than four words (SuperBPE, arXiv:2503.13423, stops at four)."""
_LEAST_PER_UNIT = 8.0
"""The least tokens of a unit of filler (170 characters); the longest tokens in use make 25 of it."""
_CHARACTERS_PER_TOKEN = 16
"""On average over a text. Single tokens are longer: runs of up to 128 blanks or dashes are in use."""


def every_stream(interview: Interview) -> Iterator[Exchange]:
    """Every stream of the interview that got status 200 and that the client did not abandon."""
    for exchange in asked_streams(interview):
        if exchange.completion is not None and not exchange.abandoned:
            yield exchange


def asked_streams(interview: Interview) -> Iterator[Exchange]:
    """Every requested stream once, without discarded openings, abandoned streams, and prompts that may exceed the
    context (endpoint/long-prompt judges these).
    """
    asked = replace(interview, openings=interview.openings[-1:], steps=interview.steps[:2])
    return iter({id(exchange): exchange for exchange in _within(asked)}.values())


def _within(found: object) -> Iterator[Exchange]:
    """The streams of a record, in the order of its fields."""
    if isinstance(found, Exchange):
        yield found
    elif isinstance(found, tuple):
        for each in found:
            yield from _within(each)
    elif is_dataclass(found):
        for field in fields(found):
            if not field.metadata.get("apart"):
                yield from _within(getattr(found, field.name))


def unanswered(interview: Interview) -> tuple[Exchange, ...]:
    """Requests without a response while others were answered; without those of the crowd and after it
    (endpoint/concurrency, disconnect and bad-request judge these).
    """
    apart = interview.crowd.rounds[0] + interview.crowd.rounds[1]
    foreign = (
        interview.foreign.plains if interview.plains and interview.plains[0].status == 200 else ()
    )
    asked = (*asked_streams(interview), *foreign)
    if not answered(interview.opening.exchange):
        return ()
    return tuple(
        each for each in asked if not each.status and not any(each is other for other in apart)
    )


def broken_off(interview: Interview) -> tuple[Exchange, ...]:
    """Requests in the evaluation client's form that ended with a server error, while others were served."""
    talk = interview.conversation
    asked = (
        *interview.streams, interview.limited, interview.roomy, *interview.stories,
        *interview.sampling.warm, *interview.foreign.streams, talk.alone if talk else None,
    )  # fmt: skip
    if not answered(interview.opening.exchange):
        return ()
    return tuple(
        each
        for each in asked
        if each and (each.status >= _SERVER_ERROR or each.status == _TOO_MANY)
    )


def lost_in_a_crowd(interview: Interview, exchange: Exchange) -> bool:
    """Whether a concurrent stream brought no text at all, while streams that ran alone were complete."""
    crowd = interview.crowd
    if not exchange.error or exchange.arrivals_s:
        return False
    beside = any(exchange is each for exchanges in crowd.rounds for each in exchanges)
    return beside and all(
        answered(each) for each in (interview.opening.exchange, *interview.streams)
    )


def miscount(exchange: Exchange) -> str:
    """Why a stream's token counts are impossible; "" if they are plausible or missing."""
    completion, usage = exchange.folded, exchange.folded.usage
    if usage is None:
        return msg("no whole numbers") if completion.usage_sent else ""
    made, words = usage.completion_tokens, words_in(completion)
    size = len(said(exchange).encode("utf-8", "replace"))
    if usage.prompt_tokens <= 0:
        return msg("a prompt of no tokens")
    if made < 0 or (made == 0 and completion.deltas):
        return msg("a text of no tokens")
    if words > _WORDS_PER_TOKEN * made + _SLACK:
        return msg("{words} words in {made} tokens", words=words, made=made)
    if made > token_limit(exchange) > 0 and made > size + _SLACK:
        return msg(
            "{made} tokens, of {token_limit} allowed, for {size} bytes",
            made=made,
            token_limit=token_limit(exchange),
            size=size,
        )
    return ""


def own_ends(interview: Interview) -> Iterator[Exchange]:
    """The streams that nothing but max_tokens and the model's own end of turn ends."""
    for exchange in every_stream(interview):
        if exchange is not interview.stopped and not (exchange.sent or {}).get("ignore_eos"):
            yield exchange


def ended(exchange: Exchange) -> bool:
    """Whether the server says that an answer ended by itself."""
    return exchange.folded.finish_reason not in {"", "length"}


def overruns(exchange: Exchange) -> bool:
    """Whether an answer has more text than its max_tokens allow, whatever the counts are."""
    limit = token_limit(exchange)
    return 0 < limit * _CHARACTERS_PER_TOKEN < len(said(exchange))


def counts_hold(interview: Interview) -> bool:
    """Whether all of the server's token counts are plausible."""
    return not any(miscount(exchange) for exchange in every_stream(interview))


def tokens_per_unit(steps: Sequence[Step]) -> float | None:
    """The prompt tokens of one unit of filler, from two prompts that differ in nothing else.

    None if the server reports none, or impossibly few.
    """
    if len(steps) < 2:
        return None
    first, second = steps[:2]
    one, more = prompt_tokens(first.exchange), prompt_tokens(second.exchange)
    if one is None or more is None:
        return None
    each = (more - one) / (second.units - first.units)
    return each if each >= _LEAST_PER_UNIT else None


def common_length(interview: Interview) -> int | None:
    """The common token count of all long answers to one prompt, by the server's count; None if they differ.

    Also None if they reach max_tokens or if the texts are equal.
    """
    stories = (interview.roomy, *interview.stories[:1], *filter(None, (interview.another,)))
    lengths = {_length(each) for each in stories}
    texts = {said(each) for each in stories if each}
    length = lengths.pop()
    return length if not lengths and len(stories) > 1 and len(texts) == len(stories) else None


def _length(exchange: Exchange | None) -> int | None:
    """The tokens of an answer that ended well before max_tokens."""
    if exchange is None or not answered(exchange) or exchange.folded.usage is None:
        return None
    made = exchange.folded.usage.completion_tokens
    return made if _FEWEST_TOKENS <= made < _LIMIT_SHARE * token_limit(exchange) else None

"""Tests whether a message reaches the model: by growing token counts, or else by a repeated code word."""

from __future__ import annotations

from collections.abc import Callable

from healthcheck.core.check import Findings, NotApplicable, warn
from healthcheck.core.records import Finding
from healthcheck.stages.endpoint.answers import (
    about,
    answered,
    prompt_characters,
    prompt_tokens,
    repeats,
    request_of,
    said,
    shown,
    too_long,
)
from healthcheck.stages.endpoint.prompts import FILLER
from healthcheck.stages.endpoint.records import Conversation, Interview
from healthcheck.stages.endpoint.streams import counts_hold, ended, tokens_per_unit
from healthcheck.text.messages import msg
from healthcheck.wire.client import Exchange

MUTE = msg("the server reports no prompt tokens, and the model does not repeat a code word")
_UNITS_MORE = 2


def conversation(interview: Interview) -> Conversation:
    """The conversation of the interview.

    Raises:
        NotApplicable: the interview has none.
    """
    if interview.conversation is None:
        raise NotApplicable(msg("no conversation was tried"))
    return interview.conversation


def no_room(interview: Interview, exchange: Exchange) -> bool:
    """Whether a conversation was refused for its length, and no prompt of twice its length was answered."""
    taken = (step.exchange for step in interview.steps if answered(step.exchange))
    longest = max(map(prompt_characters, taken), default=0)
    return too_long(exchange) and longest <= 2 * prompt_characters(exchange)


def heard(
    interview: Interview,
    exchange: Exchange,
    longer: Exchange,
    again: tuple[Exchange, ...],
    *,
    what: str,
    forgotten: Callable[..., Finding],
) -> Findings:
    """A finding if a message adds no tokens to the prompt, or if its code word is not repeated.

    A server can count tokens that the model does not get, and a model can forget: where the counts grow, a missing
    word is a warning.

    `longer` differs from `exchange` by two more units of filler in that message, so the additions and omissions of
    a template are the same in both. `again` are more answers to `exchange`'s request; `forgotten` makes the finding
    if only the model's answers show the fault.
    """
    talk = conversation(interview)
    fewer, more = prompt_tokens(exchange), prompt_tokens(longer)
    each = tokens_per_unit(interview.steps) if counts_hold(interview) else None
    fix = msg("apply the model's chat template to the whole list of messages")
    able = repeats(talk.word, talk.same) and not repeats(talk.word, talk.alone)
    if each and fewer and more:
        if more - fewer < each * _UNITS_MORE / 2:
            expected = msg(
                "some {each:.0f} prompt tokens more with {units_more} characters more in {what}",
                each=each * _UNITS_MORE,
                units_more=_UNITS_MORE * len(FILLER),
                what=what,
            )
            yield about(longer).fail(
                expected=expected, seen=msg("{more} after {fewer}", more=more, fewer=fewer), fix=fix
            )
            return
        forgotten = warn
        thinks = not ended(talk.same) and not ended(
            exchange
        )  # thoughts that were cut may come to the word later
        if thinks or not able:
            return
    if any(repeats(talk.word, each) for each in (exchange, *again)):
        return
    if not able:
        raise NotApplicable(MUTE)
    word = repr(talk.word)
    expected = msg(
        "the code word {word} from {what}; within one message the model repeats it",
        word=word,
        what=what,
    )
    seen = msg(
        "{said}, and no word of it in {again} more answers",
        said=shown(said(exchange)),
        again=len(again),
    )
    yield forgotten(expected=expected, seen=seen, fix=fix, where=request_of(exchange))

"""endpoint/max-tokens: max_tokens is honoured and truncation reported."""

from __future__ import annotations

import itertools

from healthcheck import contract
from healthcheck.core.check import Findings, NotApplicable
from healthcheck.stages.endpoint.answers import (
    about,
    answered,
    context_tokens,
    response_of,
    said,
    shown,
    token_limit,
    too_long,
    words_in,
)
from healthcheck.stages.endpoint.records import Interview, check
from healthcheck.stages.endpoint.streams import common_length, counts_hold, every_stream, overruns
from healthcheck.text.messages import msg
from healthcheck.wire.chat import Usage
from healthcheck.wire.client import Exchange

_CONTEXT_STEP = 64
_COUNTED_OVER = 1.25
"""A gateway with another tokenizer counts more or fewer tokens than the engine generated."""
_CLEARLY_FEWER = 0.5
_SHARE = 0.25
"""A short answer with fewer characters per token than this share of a long answer's was cut."""


@check(
    "endpoint/max-tokens",
    msg("max_tokens is honoured and truncation reported"),
    why=msg(
        "An answer that the server cuts short is scored as wrong, and the report does not say that it was cut."
    ),
    rule=contract.CHAT_STREAMING,
    requires=("endpoint/stream-finish",),
)
def max_tokens(interview: Interview) -> Findings:
    """An answer has at most max_tokens tokens; if that limit cuts it, finish_reason is "length". Nothing else may
    cut it: some servers have their own limit (16, 128 or 512 tokens), others count the prompt too. An answer that
    ended by itself says "stop".

    The check looks for limits up to 264 tokens. On a server that generates more than 30 tokens per second, it looks
    as far as nine seconds allow, at most 520 tokens.

    Repair: pass max_tokens on to the engine; raise the server's own limit on new tokens.
    Simulated by: npu-adapter simulate --fault ignores-max-tokens (caps-output, hides-truncation,
    limit-counts-prompt, always-length)

    Example:
    The request has "max_tokens": 4:

    ```http streamed answer
    HTTP/1.1 200 OK
    Content-Type: text/event-stream

    data: {"choices": [{"index": 0, "delta": {"content": "Paris, on the river Seine."}, "finish_reason": "stop"}]}

    data: {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 8, "total_tokens": 17}}

    data: [DONE]
    ```

    Use instead:

    ```http streamed answer
    HTTP/1.1 200 OK
    Content-Type: text/event-stream

    data: {"choices": [{"index": 0, "delta": {"content": "Paris, on the"}, "finish_reason": "length"}]}

    data: {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13}}

    data: [DONE]
    ```
    """
    yield from itertools.islice(_faults(interview), 1)


def _faults(interview: Interview) -> Findings:
    """The faults, the most certain first."""
    for exchange in every_stream(interview):
        yield from _exceeds(exchange, _usage(interview, exchange))
    if interview.limited is None or interview.long is None:
        raise NotApplicable(msg("no answer with a limit was asked for"))
    for judged in (_hidden_cut, _cut_short, _equal_lengths, _not_cut):
        yield from judged(interview)
    context = context_tokens(interview.models)
    for exchange in (interview.long, *interview.streams):
        yield from _own_limit(interview, exchange, context)
    refused = [
        each for each in (interview.long, interview.roomy) if each and each.status not in {0, 200}
    ]
    if refused and (
        not too_long(refused[0]) or (context and context > 2 * token_limit(refused[0]))
    ):
        expected = msg(
            "an answer of up to {token_limit} tokens; the context is {context}",
            token_limit=token_limit(refused[0]),
            context=context or msg("unknown"),
        )
        fix = msg(
            "raise the server's limit on new tokens: the evaluation client asks for 512 by default"
        )
        yield about(refused[0]).warn(expected=expected, seen=response_of(refused[0]), fix=fix)


def _usage(interview: Interview, exchange: Exchange) -> Usage | None:
    """The token counts, if those of the whole interview are plausible (endpoint/stream-usage)."""
    return exchange.folded.usage if counts_hold(interview) else None


def _exceeds(exchange: Exchange, usage: Usage | None) -> Findings:
    completion = exchange.folded
    counted = usage.completion_tokens if usage else None
    if (counted or 0) <= _COUNTED_OVER * token_limit(exchange) + 2 and not overruns(exchange):
        return
    expected = msg("at most {token_limit} tokens", token_limit=token_limit(exchange))
    tokens, error = (
        "?" if counted is None else counted,
        exchange.error and msg(", and no end: ") + exchange.error,
    )
    text, words = shown(completion.text), words_in(completion)
    seen = msg(
        "{counted} tokens, {words_in} words{error}: {text}",
        counted=tokens,
        words_in=words,
        error=error,
        text=text,
    )
    yield about(exchange).fail(
        expected=expected, seen=seen, fix=msg("pass max_tokens on to the engine")
    )


def _hidden_cut(interview: Interview) -> Findings:
    """A shorter limit returned the beginning of the longer answer, with finish_reason "stop"."""
    if not interview.steady:
        return
    answers = [
        each
        for each in (interview.limited, *interview.streams[:1], interview.roomy)
        if answered(each)
    ]
    for short in answers:
        text = said(short) if short else ""
        whole = max((said(each) for each in answers if each), key=len)
        if short is None or short.folded.finish_reason != "stop":
            continue
        if text and len(text) < len(whole) and whole.startswith(text) and _fills(interview, short):
            expected = msg('finish_reason "length" for an answer that max_tokens cut')
            more = shown(whole[len(text) :], 60)
            seen = msg(
                'finish_reason "stop" after {text}; with more: {whole}',
                text=shown(text),
                whole=more,
            )
            fix = msg('count new tokens only, and report a cut answer with finish_reason "length"')
            yield about(short).fail(expected=expected, seen=seen, fix=fix)


def _fills(interview: Interview, exchange: Exchange) -> bool:
    """Whether the server's count reaches the limit; an answer that ended by itself may have fewer tokens."""
    usage = _usage(interview, exchange)
    return usage is None or usage.completion_tokens >= token_limit(exchange) - 1


def _cut_short(interview: Interview) -> Findings:
    """A short limit gave far fewer characters per token than a long one: the server also counted something else."""
    short, long = interview.streams[0], interview.long
    if long is None or not answered(long) or short.folded.finish_reason != "length":
        return
    if not said(short):
        return  # hidden reasoning counts, too
    characters, usual = len(said(short)), len(said(long)) / token_limit(long)
    if characters >= min(_SHARE * usual, 1) * token_limit(short):
        return
    expected = msg(
        "some {usual:.0f} characters in {token_limit} tokens",
        usual=usual * token_limit(short),
        token_limit=token_limit(short),
    )
    seen = msg("{characters}: {said}", characters=characters, said=shown(said(short)))
    fix = msg("let max_tokens count new tokens only, not the prompt")
    yield about(short).fail(expected=expected, seen=seen, fix=fix)


def _equal_lengths(interview: Interview) -> Findings:
    """Three different answers of equal length, all with finish_reason "stop"."""
    length, another = common_length(interview), interview.another
    if length is not None and another is not None and counts_hold(interview):
        expected = msg(
            "answers that end by themselves, or after {token_limit} tokens",
            token_limit=token_limit(another),
        )
        seen = msg(
            "three different answers of {length} tokens each, none with finish_reason length",
            length=length,
        )
        fix = msg(
            "raise the server's own limit on new tokens, which seems to be {length}", length=length
        )
        yield about(another).fail(expected=expected, seen=seen, fix=fix)


def _not_cut(interview: Interview) -> Findings:
    """finish_reason "length" although nothing cut the answer.

    Neither its tokens nor its bytes reach max_tokens. The server's own limit would also have cut a longer answer,
    and the end of the context one that takes more of it. Cut answers of zero tokens mean incomplete counts.
    """
    counted = [
        (each, usage) for each in every_stream(interview) if (usage := _usage(interview, each))
    ]
    cut = [(each, usage) for each, usage in counted if each.folded.finish_reason == "length"]
    if any(usage.completion_tokens == 0 for each, usage in cut if each is not interview.stopped):
        return
    longest = max((usage.completion_tokens for _, usage in counted), default=0)
    widest = max((_total(usage) for _, usage in counted), default=0)
    for exchange, usage in cut:
        made, limit = usage.completion_tokens, token_limit(exchange)
        filled = (
            made >= _CLEARLY_FEWER * limit
            or len(said(exchange).encode("utf-8", "replace")) >= limit
        )
        if not filled and made < longest and _total(usage) < widest:
            expected = msg(
                'finish_reason "stop" for an answer of fewer than {limit} tokens that ended by itself',
                limit=limit,
            )
            seen = msg(
                'finish_reason "length" after {made} of max_tokens={limit}, where another answer has '
                "{longest} tokens: {said}",
                made=made,
                limit=limit,
                longest=longest,
                said=shown(said(exchange)),
            )
            fix = msg(
                'report "length" only where max_tokens or the end of the context cut the answer'
            )
            yield about(exchange).fail(expected=expected, seen=seen, fix=fix)


def _total(usage: Usage) -> int:
    return usage.prompt_tokens + usage.completion_tokens


def _own_limit(interview: Interview, exchange: Exchange, context: int | None) -> Findings:
    """A cut well before max_tokens that the end of the context does not explain."""
    if exchange.folded.finish_reason != "length":
        return
    limit, usage = token_limit(exchange), _usage(interview, exchange)
    made = usage.completion_tokens if usage else _estimate(interview, exchange)
    seen = msg('cut after {made} tokens, finish_reason "length"', made=made)
    fix = msg("raise the server's own limit on new tokens, which seems to be {made}", made=made)
    if usage is None:
        few = 0 < made < limit // 2
        if few:
            yield about(exchange).warn(
                expected=msg("some {limit} tokens", limit=limit), seen=seen, fix=fix
            )
        return
    total = _total(usage)
    full = total >= context - 1 if context else total % _CONTEXT_STEP in {0, _CONTEXT_STEP - 1}
    if full or made == 0 or made >= 0.9 * limit - 1:
        return
    yield about(exchange).fail(
        expected=msg("up to {limit} tokens, as asked", limit=limit), seen=seen, fix=fix
    )


def _estimate(interview: Interview, exchange: Exchange) -> int:
    """The tokens of an answer, estimated by the characters per token of one that max_tokens cut; 0 without one."""
    cut = [s for s in interview.streams if s.folded.finish_reason == "length" and said(s)]
    if not cut or exchange in cut:
        return 0
    return round(len(said(exchange)) * token_limit(cut[0]) / len(said(cut[0])))

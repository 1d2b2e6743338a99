"""The interview: sends the requests that the checks of the endpoint stage need, concurrently if possible.

With a healthy server at 30 tokens a second it takes about 14 s, 9 of them for the long answers.
"""

from __future__ import annotations

import os
import statistics
import time
from dataclasses import replace
from functools import partial

from healthcheck import contract
from healthcheck.contract import Task
from healthcheck.core.progress import Progress, Silent
from healthcheck.stages.endpoint import waits
from healthcheck.stages.endpoint.answers import (
    answer,
    answered,
    context_tokens,
    plain_answer,
    texts,
)
from healthcheck.stages.endpoint.arrivals import Streaming, streaming
from healthcheck.stages.endpoint.asking import SHORT_TOKENS, Ask, Asker
from healthcheck.stages.endpoint.crowd import (
    LINE_AFTER_DISCONNECTS,
    LINE_AFTER_MALFORMED,
    MOST_ALONE,
    doubtful_copies,
    only_changed,
    undisturbed,
)
from healthcheck.stages.endpoint.engine_clock import clocked
from healthcheck.stages.endpoint.lone_streams import looks_changed
from healthcheck.stages.endpoint.prompts import GREETING, STORY, copying, line
from healthcheck.stages.endpoint.records import (
    CLIENT_WAITS_S,
    EXTRA_FIELDS,
    STREAM_OPTIONS,
    Crowd,
    Interview,
    Notes,
    Opening,
    Pairs,
    Turn,
)
from healthcheck.stages.endpoint.side_by_side import Rest, ask_the_rest, copies
from healthcheck.stages.endpoint.streams import common_length, ended, every_stream, own_ends
from healthcheck.text.messages import msg
from healthcheck.wire.chat import user
from healthcheck.wire.client import Client, Exchange, Limits
from healthcheck.wire.models import model_cards

__all__ = ["Interview", "interview"]
CLIENT_TEMPERATURE = 0.01
"""The evaluation client's own. Some servers refuse 0 but accept this (sampling "must be strictly positive")."""
SIDE_BY_SIDE = 8
END_TOKENS = 1500
"""Room for reasoning about a greeting, and for the answer."""
_LONG_TOKENS = (264, 520)
"""Longer than the servers' defaults: 16 to 256 tokens, and 512 if the server is fast enough."""
_LONG_S = 8.7
_PAIRS = 4
_LONE_PAIRS, _LONE_TOKENS = 3, 128
_NOTICE_S = 0.3
_MOST_TURNS, _SHORT_IN_TURN = 6, 3
_LATE_S = 1.0
_METRICS_S = 10
_MODELS_S = 30
_MALFORMED_S = 25
LEFT_TOKENS = 96
_PROXY_VARIABLES = ("http_proxy", "https_proxy", "all_proxy")
_REFUSALS = frozenset({400, 404, 415, 422, 500, 501})
_MALFORMED = (
    b'{"model": ',
    b"{}",
    b'{"model": "x", "messages": "hello"}',
    b'{"messages": [{"role": 7}]}',
    b'{"messages": []}',
)


def interview(
    base_url: str,
    *,
    model: str | None = None,
    weights: str | None = None,
    task: Task = Task.TEXT_GENERATION,
    limits: Limits = waits.FIRST,
    progress: Progress | None = None,
    notes: Notes | None = None,
) -> Interview:
    """Interview a running server.

    Args:
        base_url: such as "http://127.0.0.1:8000".
        model: the model name to send; None selects the one that the service asks for, or else
            the first that the server lists.
        weights: the path of the weights, which the service sends as the name; None if unknown.
        task: decides whether pictures are sent.
        limits: the bounds of the first answers; the limits of later ones depend on how long those took.
        progress: where to report the progress.
        notes: where to keep the facts so far, for a caller that is interrupted.

    Raises:
        KeyboardInterrupt: after all requests were ended.
    """
    began = time.monotonic()
    notes = notes or Notes()
    asker = Asker(base_url=base_url, limits=limits, progress=progress or Silent())
    try:
        facts = _interview(asker, model, weights, task, notes)
    except KeyboardInterrupt:
        asker.stop.set()
        raise
    return replace(facts, seconds=time.monotonic() - began)


def _interview(
    asker: Asker, model: str | None, weights: str | None, task: Task, notes: Notes
) -> Interview:
    brief = asker.within(_MODELS_S)
    brief.say_step(msg("the list of models"))
    models = _models(brief.client)
    if not models.status:
        limits = asker.limits
        asker = asker.under(replace(limits, first_event_s=min(limits.first_event_s, waits.DEAF_S)))
    listed = [str(card["id"]) for card in model_cards(models.body)] if models.status == 200 else []
    asked = model or contract.service().requested(weights or "")
    names = [*dict.fromkeys([asked, *listed[:1]] if asked else listed[:1])] or [""]
    facts = Interview(
        task=task,
        models=models,
        asked_name=asked,
        proxies=tuple(
            name
            for name in _PROXY_VARIABLES
            if os.environ.get(name) or os.environ.get(name.upper())
        ),
        openings=_openings(asker, names),
    )
    opening = facts.opening
    facts = notes.keep(replace(facts, name=opening.name))
    read = opening.exchange.folded
    if answered(opening.exchange) and not read.faults and read.choices <= 1:
        asker = replace(asker, name=opening.name, left_out=opening.left_out)
        asker, facts = _alone(asker, facts)
        facts = _together(asker, notes.keep(facts), notes)
    return facts


def _models(client: Client) -> Exchange:
    """The model list, requested again if it was slow: this machine may have caused one delay."""
    first = client.models()
    if first.error or first.seconds <= CLIENT_WAITS_S:
        return first
    again = client.models()
    return again if again.error or again.seconds < first.seconds else first


def _openings(asker: Asker, names: list[str]) -> tuple[Opening, ...]:
    """The evaluation client's own request; if refused, the same with fewer fields until one is accepted."""
    tries = [
        (name, left_out)
        for name in names
        for left_out in ((), EXTRA_FIELDS, (*EXTRA_FIELDS, STREAM_OPTIONS))
    ]
    openings: list[Opening] = []
    for name, left_out in tries:
        asker.say_step(
            msg(
                "a first answer (its first text within {first_event_s:.0f} s)",
                first_event_s=asker.limits.first_event_s,
            )
        )
        asking = replace(asker, name=name, left_out=left_out)
        exchange = asking.stream(user(STORY), temperature=CLIENT_TEMPERATURE)
        openings.append(Opening(name=name, left_out=left_out, exchange=exchange))
        if exchange.status not in _REFUSALS and exchange.folded.choices <= 1:
            return tuple(openings)
    return tuple(openings[:1])


def _alone(asker: Asker, facts: Interview) -> tuple[Asker, Interview]:
    """One prompt at temperature 0, streamed and plain; its time sets later limits."""
    asker.say_step(msg("the same answer again, streamed and plain"), 1)
    stream, plain = _pair(asker)
    if stream.status in _REFUSALS:
        asker = replace(asker, cold=CLIENT_TEMPERATURE)
        stream, plain = _pair(asker)
    queued = contract.service().streams * SHORT_TOKENS
    limits = waits.learnt(asker.limits, [stream], queued_tokens=queued, least_s=waits.NEW_SHAPE_S)
    asker = asker.under(limits)
    streams: tuple[Exchange, ...] = (stream,)
    plains: tuple[Exchange, ...] = (plain,)
    if (
        answered(stream)
        and plain.status == 200
        and not plain.error
        and answer(stream) != plain_answer(plain)
    ):
        # Batches of another size round differently: repeat each alone, until a difference is not an accident.
        again = _in_pairs(
            _PAIRS, partial(asker.stream, user(STORY)), partial(asker.plain, user(STORY))
        )
        streams, plains = again.streams, again.plains
    return asker, replace(facts, streams=streams, plains=plains)


def _pair(asker: Asker) -> tuple[Exchange, Exchange]:
    brief = asker.within(asker.limits.first_event_s)
    stream, plain = asker.together(
        [lambda: asker.stream(user(STORY)), lambda: brief.plain(user(STORY))], at_once=2
    )
    return stream, plain


def _in_pairs(count: int, stream: Ask, plain: Ask) -> Pairs:
    """The same request, streamed and plain in turn, with nothing beside."""
    streams, plains = zip(*((stream(), plain()) for _ in range(count)), strict=True)
    return Pairs(streams=streams, plains=plains)


def _together(asker: Asker, facts: Interview, notes: Notes) -> Interview:
    """All other requests. If a stream broke, none is sent: each could wait for minutes."""
    if any(exchange.error for exchange in facts.streams):
        return facts
    streams = contract.service().streams
    asker.say_step(msg("{streams} streams at once", streams=streams), 2)
    lines = tuple(line(index) for index in range(streams))
    first = copies(asker, lines)
    crowd = Crowd(lines=lines, rounds=(first, ()))
    if any(exchange.error for exchange in first):
        return replace(facts, crowd=crowd)
    rest = _plan(asker, facts, crowd)
    facts = ask_the_rest(rest, notes.keep(replace(facts, crowd=crowd)))
    if any(exchange.error for exchange in facts.crowd.rounds[1]):
        return facts
    notes.keep(facts)
    notes.has_short_answers = True
    facts = _in_turn(rest, facts)
    if common_length(facts) is not None:
        another = rest.asker.stream(user(STORY), max_tokens=rest.long_tokens, temperature=1.0)
        facts = replace(facts, another=another)
    if not any(texts(each)[0] for each in every_stream(facts)) or not any(
        map(ended, own_ends(facts))
    ):
        room = min(END_TOKENS, (context_tokens(facts.models) or 2 * END_TOKENS) // 2)
        facts = replace(facts, to_the_end=rest.asker.stream(user(GREETING), max_tokens=room))
    return _recovery(rest, facts)


def _in_turn(rest: Rest, facts: Interview) -> Interview:
    """Short and long answers in turn, until it is clear whether text is held back."""
    while streaming(facts) is Streaming.UNCLEAR and len(facts.turns) < _MOST_TURNS:
        rest.asker.say_step(msg("short and long answers in turn"), 3)
        short = tuple(
            rest.asker.stream(user(STORY), ignore_eos=True) for _ in range(_SHORT_IN_TURN)
        )
        long = rest.asker.stream(user(STORY), max_tokens=rest.long_tokens, ignore_eos=True)
        facts = replace(facts, turns=(*facts.turns, Turn(short=short, long=long)))
        if not all(map(answered, (*short, long))):
            break
    if streaming(facts) is Streaming.TOO_QUICK:
        asker, most = rest.asker, rest.long_tokens
        ask = partial(asker.stream, user(STORY), max_tokens=most, ignore_eos=True)
        facts = replace(facts, clocked=clocked(asker.within(_METRICS_S).client, ask))
    return facts


def _plan(asker: Asker, facts: Interview, crowd: Crowd) -> Rest:
    """Plan the length of the long answers, the number of concurrent requests and their time limits."""
    pace = waits.tokens_per_second(facts.streams[0])
    context = context_tokens(facts.models)
    most = min(_LONG_TOKENS[1], context // 2) if context else _LONG_TOKENS[1]
    long_tokens = int(min(most, max(_LONG_TOKENS[0], _LONG_S * pace)))
    queued = 5 * long_tokens + 2 * len(crowd.lines) * SHORT_TOKENS
    limits = waits.learnt(
        asker.limits, crowd.rounds[0], queued_tokens=queued, least_s=waits.NEW_SHAPE_S
    )
    at_once = SIDE_BY_SIDE if undisturbed(crowd) else 1
    return Rest(
        asker=asker.under(limits), long_tokens=long_tokens, at_once=at_once, context=context
    )


def _recovery(rest: Rest, facts: Interview) -> Interview:
    """One line of the crowd alone after disconnects, another after malformed requests."""
    crowd = facts.crowd
    left = SIDE_BY_SIDE * LEFT_TOKENS
    limits = waits.learnt(
        rest.asker.limits, crowd.rounds[0], queued_tokens=left, least_s=waits.LEAST_S
    )
    asker = rest.asker.under(limits)
    rest = replace(rest, asker=asker)
    for index in doubtful_copies(crowd)[:MOST_ALONE]:
        crowd = replace(
            crowd, alone=(*crowd.alone, (index, asker.stream(copying(crowd.lines[index]))))
        )
    facts = replace(facts, crowd=crowd)
    if only_changed(crowd) or looks_changed(facts):
        stream, plain = (
            partial(ask, user(STORY), max_tokens=_LONE_TOKENS, ignore_eos=True)
            for ask in (asker.stream, asker.plain)
        )
        facts = replace(facts, lone=_in_pairs(_LONE_PAIRS, stream, plain))
    asker.say_step(msg("disconnects after the first chunk"), 4)
    facts = replace(facts, abandoned=_left(rest, facts))
    if facts.unanswered_abandoned:
        return facts
    time.sleep(_NOTICE_S)
    after = asker.stream(copying(crowd.lines[LINE_AFTER_DISCONNECTS]))
    crowd = replace(crowd, alone=(*crowd.alone, (LINE_AFTER_DISCONNECTS, after)))
    facts = replace(facts, after_abandoned=after)
    if not answered(after):
        return facts
    facts = replace(facts, crowd=crowd)
    asker.within(_MALFORMED_S).say_step(msg("malformed requests"), 5)
    malformed = _malformed(asker)
    last = asker.stream(copying(crowd.lines[LINE_AFTER_MALFORMED]))
    if answered(last):
        facts = replace(
            facts, crowd=replace(crowd, alone=(*crowd.alone, (LINE_AFTER_MALFORMED, last)))
        )
    return replace(facts, malformed=malformed, after_malformed=last)


def _left(rest: Rest, facts: Interview) -> tuple[Exchange, ...]:
    """Streams that are abandoned after their first text; repeated if that was late.

    If this process gets no CPU for seconds, a quick server has already finished the streams that it abandons.
    """
    asker = rest.asker
    leaving = asker.body([user(STORY)], max_tokens=LEFT_TOKENS, temperature=1, ignore_eos=True)
    asks = [lambda: asker.client.abandon(leaving)] * SIDE_BY_SIDE
    left = asker.together(asks, at_once=rest.at_once)
    usual_s = min((each.arrivals_s[0] for each in facts.streams if each.arrivals_s), default=0.0)
    late = statistics.median(each.seconds for each in left) > _LATE_S + rest.at_once / 2 * usual_s
    if not late or any(each.error for each in left):
        return left
    return (*left, *asker.together(asks, at_once=rest.at_once))


def _malformed(asker: Asker) -> tuple[Exchange, ...]:
    """Malformed requests, up to the first without an answer."""
    exchanges: list[Exchange] = []
    for data in _MALFORMED:
        exchanges.append(asker.within(_MALFORMED_S).client.chat_bytes(data))
        if not exchanges[-1].status:
            break
    return tuple(exchanges)

"""The interview: asks a server what the checks of the endpoint stage need to know, side by side where it can be.

On a healthy server that answers at 30 tokens a second it takes about 25 s, 17 of them for the one long answer.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TypeVar

from healthcheck.contract import Task
from healthcheck.endpoint.arrivals import doubtful
from healthcheck.endpoint.crowd import undisturbed
from healthcheck.endpoint.pictures import pictures
from healthcheck.endpoint.prompts import (
    FILLER_WORDS,
    FOREIGN,
    GREETING,
    RECALL,
    STORY,
    assistant,
    code_word,
    four_shot,
    system,
    told,
    with_picture,
)
from healthcheck.endpoint.records import (
    CLIENT_WAITS_S,
    EXTRA_FIELDS,
    STREAM_OPTIONS,
    Conversation,
    Crowd,
    Interview,
    Opening,
    Shown,
    answered,
    context_tokens,
    every_stream,
    model_cards,
    prompt_tokens,
    texts,
)
from healthcheck.progress import Progress, Silent
from healthcheck.records import JsonValue
from healthcheck.wire.chat import Message, request_body, user
from healthcheck.wire.client import Client, Exchange, Limits

__all__ = ["PATIENCE", "Interview", "interview"]
T = TypeVar("T")
PATIENCE = Limits(
    connect_s=20, first_event_s=120, between_events_s=60, total_s=300, max_bytes=8 * 2**20, max_events=10_000
)
SHORT_TOKENS, LIMITED_TOKENS, LONG_TOKENS = 24, 8, 520
"""The long answer is longer than the 512 tokens at which some servers stop by default."""
OPENING_TOKENS = 32
END_TOKENS = 1500
"""Room for thoughts about a greeting, and for the answer after them."""
CLIENT_TEMPERATURE = 0.01
"""The evaluation client's own. Some servers refuse 0 and take this (sampling "must be strictly positive")."""
STREAMS_AT_ONCE = 16
SIDE_BY_SIDE = 8
FAR_TOKENS = 5000
"""Longer than the 512 to 4096 tokens at which servers are known to cut a prompt without a word."""
_NOTICE_S = 0.3
_LATE_S = 1.0
_MODELS_S = 30
_MALFORMED_S = 30
MOST_PATIENCE_S = 900.0
_PROXY_VARIABLES = ("http_proxy", "https_proxy", "all_proxy")
_REFUSALS = frozenset({400, 404, 415, 422, 500, 501})
_MALFORMED = (
    b'{"model": ',
    b"{}",
    b'{"model": "x", "messages": "hello"}',
    b'{"messages": [{"role": 7}]}',
    b'{"messages": []}',
)
Ask = Callable[[], T]


def interview(
    base_url: str,
    *,
    model: str | None = None,
    weights: str | None = None,
    task: Task = Task.TEXT_GENERATION,
    limits: Limits = PATIENCE,
    progress: Progress | None = None,
) -> Interview:
    """Interview a running server.

    Args:
        base_url: such as "http://127.0.0.1:8000".
        model: the name to ask for; None takes the weights' path, or else the first name that the server lists.
        weights: the path of the weights, under which the service asks; None where it is not known.
        task: decides whether pictures are sent.
        limits: the bounds of each exchange.
        progress: is told how far it is.
    """
    began = time.monotonic()
    talk = _Talk(base_url, limits, "", (), progress or Silent())
    talk.say(f"the list of models (within {_MODELS_S} s)")
    models = _models(talk.within(_MODELS_S).client)
    listed = [str(card["id"]) for card in model_cards(models)] if models.status == 200 else []
    asked = model or weights or ""
    facts = Interview(
        base_url=base_url,
        task=task,
        models=models,
        asked_name=asked,
        proxies=tuple(name for name in _PROXY_VARIABLES if os.environ.get(name) or os.environ.get(name.upper())),
        openings=_openings(talk, [*dict.fromkeys([asked, *listed[:1]] if asked else listed[:1])] or [""]),
    )
    facts = replace(facts, name=facts.opening.name)
    if answered(facts.opening.exchange) and not _misread(facts.opening.exchange):
        facts = _go_on(replace(talk, name=facts.name, left_out=facts.opening.left_out), facts)
    return replace(facts, seconds=time.monotonic() - began)


@dataclass(frozen=True, slots=True)
class _Talk:
    """How to ask: under which name, without which fields, at which temperature where answers are to be steady."""

    base_url: str
    limits: Limits
    name: str
    left_out: tuple[str, ...]
    progress: Progress
    cold: float = 0

    @property
    def client(self) -> Client:
        return Client(self.base_url, self.limits)

    def within(self, total_s: float) -> _Talk:
        """The same with less time for each exchange."""
        return replace(self, limits=replace(self.limits, total_s=min(self.limits.total_s, total_s)))

    def say(self, text: str, done: int = 0) -> None:
        self.progress.update(f"endpoint: {text}", done=done, total=6)

    def body(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        temperature: float | None = None,
        **fields: JsonValue,
    ) -> Mapping[str, JsonValue]:
        heat = self.cold if temperature is None else temperature
        whole = request_body(messages, model=self.name, max_tokens=max_tokens, temperature=heat)
        return {key: value for key, value in (whole | fields).items() if key not in self.left_out}

    def stream(
        self,
        *messages: Message,
        max_tokens: int = SHORT_TOKENS,
        temperature: float | None = None,
        **fields: JsonValue,
    ) -> Exchange:
        return self.client.chat(self.body(messages, max_tokens=max_tokens, temperature=temperature, **fields))

    def plain(self, *messages: Message, max_tokens: int = SHORT_TOKENS, **fields: JsonValue) -> Exchange:
        body = {**self.body(messages, max_tokens=max_tokens), **fields, "stream": False}
        body.pop(STREAM_OPTIONS, None)
        return self.client.chat(body)


def _models(client: Client) -> Exchange:
    """The list of models, asked for again where it came late: one delay may be this machine's."""
    first = client.models()
    if first.error or first.seconds <= CLIENT_WAITS_S:
        return first
    again = client.models()
    return again if again.error or again.seconds < first.seconds else first


def _openings(talk: _Talk, names: Sequence[str]) -> tuple[Opening, ...]:
    """The evaluation client's own request; where it is refused, the same with less, until one is taken."""
    tries = [(name, left_out) for name in names for left_out in ((), EXTRA_FIELDS, (*EXTRA_FIELDS, STREAM_OPTIONS))]
    openings: list[Opening] = []
    for name, left_out in tries:
        talk.say(f"a first answer (its first text within {talk.limits.first_event_s:.0f} s)")
        asking = replace(talk, name=name, left_out=left_out)
        exchange = asking.stream(user(STORY), max_tokens=OPENING_TOKENS, temperature=CLIENT_TEMPERATURE)
        openings.append(Opening(name=name, left_out=left_out, exchange=exchange))
        if exchange.status not in _REFUSALS and not _several(exchange):
            return tuple(openings)
    return tuple(openings[:1])


def _several(exchange: Exchange) -> bool:
    return exchange.completion is not None and exchange.completion.choices > 1


def _misread(exchange: Exchange) -> bool:
    completion = exchange.completion
    return completion is None or bool(completion.faults) or _several(exchange)


def _go_on(talk: _Talk, facts: Interview) -> Interview:
    talk.say("the same answer again, streamed and plain", 1)
    first = talk.stream(user(STORY))
    if first.status in _REFUSALS:
        talk = replace(talk, cold=CLIENT_TEMPERATURE)
        first = talk.stream(user(STORY))
    if first.error and first.arrivals_s:
        return replace(facts, streams=(first,))  # found out already, and the rest would wait as long
    brief = talk.within(max(talk.limits.first_event_s, 20 * first.seconds))
    plains: tuple[Exchange, ...] = (brief.plain(user(STORY)),)
    streams = (first, talk.stream(user(STORY)))
    plains = plains if plains[0].error else (*plains, brief.plain(user(STORY)))
    talk = replace(talk, limits=_patient(talk.limits, streams))
    talk.say(f"{STREAMS_AT_ONCE} streams at once (first text within {talk.limits.first_event_s:.0f} s)", 2)
    crowd = _crowd(talk)
    facts = replace(facts, streams=streams, plains=plains, crowd=crowd)
    if any(exchange.error for exchange in (*streams, *(each for exchanges in crowd.rounds for each in exchanges))):
        return facts  # found out already; where streams hang, each further question would wait for minutes
    talk.say("limits, sampling, conversation, pictures", 3)
    at_once = SIDE_BY_SIDE if undisturbed(crowd) else 1
    with ThreadPoolExecutor(max_workers=min(at_once, 2)) as pool:
        most = pool.submit(_side_by_side, talk, facts, at_once=at_once)
        shown = pool.submit(_show, talk, at_once) if facts.task is not Task.TEXT_GENERATION else None
    facts = replace(most.result(), shown=shown.result() if shown else None)
    if doubtful(facts):
        facts = replace(facts, again=talk.stream(user(STORY), max_tokens=LONG_TOKENS, ignore_eos=True))
    if not any(texts(exchange)[0] for exchange in every_stream(facts)):
        facts = replace(facts, to_the_end=talk.stream(user(GREETING), max_tokens=_room(facts)))
    talk.say("a client that goes away", 4)
    abandoned = _left(talk, facts, at_once)
    time.sleep(_NOTICE_S)
    facts = replace(facts, abandoned=abandoned, after_abandoned=talk.stream(user(STORY)))
    if not answered(facts.after_abandoned):
        return facts
    talk.say("requests that are none", 5)
    return replace(facts, malformed=_malformed(talk), after_malformed=talk.stream(user(STORY)))


def _patient(limits: Limits, alone: Sequence[Exchange]) -> Limits:
    """Limits under which a slow server that serves one request at a time is no silent one.

    What stands before a request is at most fifteen answers like those alone, or one of LONG_TOKENS with eight
    others: the work of about 32 of them; half as much again is margin.
    """
    answer_s = max((exchange.seconds for exchange in alone if answered(exchange)), default=0.0)
    queue_s = min(MOST_PATIENCE_S, 1.5 * (LONG_TOKENS / SHORT_TOKENS + 10) * answer_s)
    first_s = max(limits.first_event_s, queue_s)
    return replace(limits, first_event_s=first_s, total_s=max(limits.total_s, 2 * first_s))


def _room(facts: Interview) -> int:
    return min(END_TOKENS, (context_tokens(facts) or 2 * END_TOKENS) // 2)


def _left(talk: _Talk, facts: Interview, at_once: int) -> tuple[Exchange, ...]:
    """Streams that are left after their first text; once more where that came late.

    A process that gets no processor for seconds leaves a quick server's streams when nothing more is to come.
    """
    leaving = talk.body([user(STORY)], max_tokens=LONG_TOKENS // 2, temperature=1, ignore_eos=True)
    asks = [lambda: talk.client.abandon(leaving)] * SIDE_BY_SIDE
    left = _together(asks, at_once=at_once)
    usual_s = min((each.arrivals_s[0] for each in facts.streams if each.arrivals_s), default=0.0)
    late = statistics.median(each.seconds for each in left) > _LATE_S + at_once / 2 * usual_s
    if not late or any(each.error for each in left):
        return left
    return (*left, *_together(asks, at_once=at_once))


def _malformed(talk: _Talk) -> tuple[Exchange, ...]:
    """Requests that are none, until one is not answered."""
    exchanges: list[Exchange] = []
    for data in _MALFORMED:
        exchanges.append(talk.within(_MALFORMED_S).client.chat_bytes(data))
        if not exchanges[-1].status:
            break
    return tuple(exchanges)


def _crowd(talk: _Talk) -> Crowd:
    words = tuple(code_word(index) for index in range(STREAMS_AT_ONCE))
    asks = [_ask_word(talk, word) for word in words]
    first = _together(asks, at_once=STREAMS_AT_ONCE)
    if any(exchange.error for exchange in first):
        return Crowd(words=words, rounds=(first, ()))  # the same again would wait for minutes, and show no more
    return Crowd(words=words, rounds=(first, _together(asks[::-1], at_once=STREAMS_AT_ONCE)[::-1]))


def _ask_word(talk: _Talk, word: str) -> Ask[Exchange]:
    return lambda: talk.stream(user(f"The code word is {word}. {RECALL}"))


def _side_by_side(talk: _Talk, facts: Interview, *, at_once: int) -> Interview:
    """Everything that does not disturb the rest."""
    stop_word = _stop_word(texts(facts.streams[0])[0])
    word = code_word(99)
    single: list[Ask[Exchange]] = [
        lambda: talk.stream(user(STORY), max_tokens=LONG_TOKENS, ignore_eos=True),
        lambda: talk.stream(user(RECALL)),
        lambda: talk.stream(user(told(word) + RECALL)),
        lambda: talk.stream(user(told(word)), assistant("I will remember it."), user(RECALL)),
        lambda: talk.stream(system(told(word)), user(RECALL)),
        lambda: talk.stream(*four_shot()),
        lambda: talk.stream(user(STORY), max_tokens=LIMITED_TOKENS),
        lambda: talk.stream(user(STORY), stop=[stop_word or "\n\n\n"]),
        lambda: talk.stream(user(FOREIGN), max_tokens=OPENING_TOKENS),
        lambda: talk.plain(user(FOREIGN), max_tokens=OPENING_TOKENS),
        *[lambda: talk.stream(user(STORY), max_tokens=OPENING_TOKENS, temperature=1.0)] * 4,
    ]
    with ThreadPoolExecutor(max_workers=at_once) as pool:
        long, alone, same, history, with_system, shots, limited, stopped, foreign, foreign_plain, *sampled = [
            pool.submit(ask) for ask in single
        ]
        paragraphs = _far_paragraphs(facts, alone.result(), same.result())
        far = pool.submit(lambda: talk.stream(user(told(word, paragraphs) + RECALL)))
        hot: tuple[Exchange, ...] = ()
        if len({texts(each.result()) for each in sampled}) == 1:
            hot = tuple(talk.stream(user(STORY), max_tokens=OPENING_TOKENS, temperature=2.0) for _ in range(4))
    return replace(
        facts,
        long=long.result(),
        limited=limited.result(),
        stopped=stopped.result() if stop_word else None,
        stop_word=stop_word,
        foreign=foreign.result(),
        foreign_plain=foreign_plain.result(),
        sampled=tuple(each.result() for each in sampled),
        hot=hot,
        conversation=Conversation(
            word=word, alone=alone.result(), same=same.result(), history=history.result(),
            system=with_system.result(), shots=shots.result(), far=far.result(), far_paragraphs=paragraphs,
        ),
    )  # fmt: skip


def _far_paragraphs(facts: Interview, alone: Exchange, same: Exchange) -> int:
    """How many paragraphs make a long prompt for this model: 5000 tokens, or half of its context."""
    short, longer = prompt_tokens(alone), prompt_tokens(same)
    each = longer - short if short and longer and longer > short else 2 * FILLER_WORDS
    context = context_tokens(facts)
    return max(2, min(FAR_TOKENS, context // 2 if context else FAR_TOKENS) // each)


def _show(talk: _Talk, at_once: int) -> Shown:
    question = "What do you see in this picture? Name its colours."
    addresses = pictures()
    asks = [_ask_picture(talk, question, address) for address in addresses]
    streams = _together(asks, at_once=at_once)
    plain = tuple(
        talk.plain(with_picture(question, address), logprobs=True, top_logprobs=5) for address in addresses[:2]
    )
    return Shown(streams=streams, plain=plain, without=talk.stream(user(question)))


def _ask_picture(talk: _Talk, question: str, address: str) -> Ask[Exchange]:
    return lambda: talk.stream(with_picture(question, address))


def _stop_word(text: str) -> str:
    """A word from the middle of an answer, to stop at; "" where the answer is too short to have one."""
    words = text.split()
    return words[len(words) // 2] if len(words) >= 4 else ""


def _together(asks: Sequence[Ask[T]], *, at_once: int) -> tuple[T, ...]:
    with ThreadPoolExecutor(max_workers=at_once) as pool:
        return tuple(pool.map(lambda ask: ask(), asks))

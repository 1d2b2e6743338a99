"""The facts of the endpoint stage: one interview of a running server, recorded as it went."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from healthcheck.contract import Task
from healthcheck.json_text import JsonError, load
from healthcheck.wire.chat import Completion
from healthcheck.wire.client import Exchange

EXTRA_FIELDS = ("ignore_eos", "num_return_sequences")
STREAM_OPTIONS = "stream_options"
_SLACK = 8
CLIENT_WAITS_S = 5
"""How long the evaluation client waits for /v1/models."""
WORDS_PER_TOKEN = 1.5
"""The most that a tokenizer makes of usual text: some have tokens of two words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """One try at a first chat: under which name, and without which of the evaluation client's fields."""

    name: str
    left_out: tuple[str, ...]
    exchange: Exchange


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """Whether earlier messages are heard: the same question alone, and after a code word was told elsewhere.

    Attributes:
        alone: the question alone.
        same: the code word, a paragraph and the question in one user message: what the model can do.
        history: the code word in an earlier turn.
        system: the code word in a system message.
        shots: nine messages in the form of the service's sample task.
        far: the code word first in a long prompt of `far_paragraphs`.
    """

    word: str
    alone: Exchange
    same: Exchange
    history: Exchange
    system: Exchange
    shots: Exchange
    far: Exchange
    far_paragraphs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Crowd:
    """Parallel streams, twice the same prompts at temperature 0; each prompt tells a code word of its own.

    The second round is () where a stream of the first one broke or never came.
    """

    words: tuple[str, ...]
    rounds: tuple[tuple[Exchange, ...], tuple[Exchange, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """The same question about four pictures, and without one, at temperature 0."""

    streams: tuple[Exchange, ...]
    plain: tuple[Exchange, ...]
    without: Exchange


@dataclass(frozen=True, slots=True, kw_only=True)
class Interview:
    """What was asked of a server and what came back. None and () where something was not asked.

    Attributes:
        asked_name: the model name that the service will ask for; "" where it is not known.
        name: the name under which the interview went on.
        proxies: names of proxy variables that are set here.
        openings: the tries at a first chat, the evaluation client's own body first; the last is the one that
            the interview went on with.
        streams, plains: the same prompt at temperature 0, streamed and plain, alternately and alone.
        sampled: one prompt at temperature 1. `hot`: at temperature 2, asked where those were all alike.
        limited: the prompt of `streams` with max_tokens 8. `long`: a long answer, without regard to its end.
        again: the long answer once more, where it seemed to come all at once.
        stopped: the prompt of `streams` with the stop string `stop_word`.
        foreign, foreign_plain: a prompt with characters of several bytes.
        to_the_end: a greeting with room for thoughts, asked where no answer had text.
        abandoned: streams that the client left. after_abandoned: the prompt of `streams` after that.
        malformed: bodies that are no chat request. after_malformed: the prompt of `streams` after that.
    """

    base_url: str
    task: Task
    models: Exchange
    asked_name: str = ""
    name: str = ""
    proxies: tuple[str, ...] = ()
    openings: tuple[Opening, ...] = ()
    streams: tuple[Exchange, ...] = ()
    plains: tuple[Exchange, ...] = ()
    crowd: Crowd | None = None
    limited: Exchange | None = None
    long: Exchange | None = None
    again: Exchange | None = None
    stopped: Exchange | None = None
    stop_word: str = ""
    sampled: tuple[Exchange, ...] = ()
    hot: tuple[Exchange, ...] = ()
    foreign: Exchange | None = None
    foreign_plain: Exchange | None = None
    conversation: Conversation | None = None
    shown: Shown | None = None
    to_the_end: Exchange | None = None
    abandoned: tuple[Exchange, ...] = ()
    after_abandoned: Exchange | None = None
    malformed: tuple[Exchange, ...] = ()
    after_malformed: Exchange | None = None
    seconds: float = 0.0
    notes: tuple[str, ...] = field(default_factory=tuple)

    @property
    def opening(self) -> Opening:
        return self.openings[-1]

    @property
    def steady(self) -> bool:
        """Whether the same request at temperature 0 gave the same answer each time."""
        return len({texts(s) for s in self.streams}) == 1 and len({plain_texts(p) for p in self.plains}) == 1


def every_stream(interview: Interview) -> Iterator[Exchange]:
    """Every stream of the interview that was answered with status 200 and that the client did not leave."""
    talk, crowd, shown = interview.conversation, interview.crowd, interview.shown
    asked = (
        *(opening.exchange for opening in interview.openings[-1:]),
        *interview.streams, interview.limited, interview.long, interview.again, interview.stopped,
        *interview.sampled, *interview.hot, interview.foreign, interview.to_the_end,
        *((talk.alone, talk.same, talk.history, talk.system, talk.shots, talk.far) if talk else ()),
        *(exchange for exchanges in (crowd.rounds if crowd else ()) for exchange in exchanges),
        *((*shown.streams, shown.without) if shown else ()),
    )  # fmt: skip
    for exchange in asked:
        if exchange and exchange.completion is not None and not exchange.abandoned:
            yield exchange


def lost_in_a_crowd(interview: Interview, exchange: Exchange) -> bool:
    """Whether a stream beside others brought no text at all, while those that were alone ended as they should."""
    crowd = interview.crowd
    if crowd is None or not exchange.error or exchange.arrivals_s:
        return False
    beside = any(exchange is each for exchanges in crowd.rounds for each in exchanges)
    return beside and all(answered(each) for each in (interview.opening.exchange, *interview.streams))


def answered(exchange: Exchange | None) -> bool:
    """Whether a stream came and ended as it should."""
    return (
        exchange is not None
        and not exchange.error
        and exchange.completion is not None
        and not exchange.completion.error
        and bool(exchange.completion.finish_reason)
    )


def texts(exchange: Exchange) -> tuple[str, str]:
    """Text and reasoning of a stream."""
    completion = exchange.completion
    return (completion.text, completion.reasoning) if completion else ("", "")


def said(exchange: Exchange) -> str:
    """Everything that a stream said, reasoning first as it was made."""
    completion = exchange.completion
    return completion.reasoning + completion.text if completion else ""


def plain_texts(exchange: Exchange) -> tuple[str, str]:
    """Text and reasoning of a plain answer, both "" where it has none."""
    message = first_choice(exchange).get("message")
    if not isinstance(message, dict):
        return "", ""
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    return str(message.get("content") or ""), str(reasoning or "")


def first_choice(exchange: Exchange) -> dict[str, object]:
    """The first choice of a plain answer, {} where there is none."""
    try:
        body = load(exchange.body)
    except JsonError:
        return {}
    choices = body.get("choices") if isinstance(body, dict) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    return dict(first) if isinstance(first, dict) else {}


def model_cards(models: Exchange) -> tuple[dict[str, object], ...]:
    """The entries of /v1/models that have an id, in order."""
    try:
        body = load(models.body)
    except JsonError:
        return ()
    data = body.get("data") if isinstance(body, dict) else None
    cards = data if isinstance(data, list) else []
    return tuple(dict(card) for card in cards if isinstance(card, dict) and isinstance(card.get("id"), str))


def prompt_tokens(exchange: Exchange | None) -> int | None:
    """The prompt tokens that the server counted; None where it sends no usage."""
    completion = exchange.completion if exchange else None
    usage = completion.usage if completion else None
    return usage.prompt_tokens if usage and usage.prompt_tokens > 0 else None


def words_in(completion: Completion) -> int:
    """Words of text and reasoning, by white space."""
    return len(completion.text.split()) + len(completion.reasoning.split())


def miscount(exchange: Exchange) -> str:
    """What cannot be true of a stream's token counts, in words; "" where nothing is, or nothing was counted."""
    completion = exchange.completion
    usage = completion.usage if completion else None
    if completion is None or usage is None:
        return "no whole numbers" if completion and completion.usage_sent else ""
    made, words = usage.completion_tokens, words_in(completion)
    size = len(said(exchange).encode("utf-8", "replace"))
    if usage.prompt_tokens <= 0:
        return "a prompt of no tokens"
    if made < 0 or (made == 0 and completion.deltas):
        return "a text of no tokens"
    if words > 2 * made + _SLACK:
        return f"{words} words in {made} tokens"
    if made > token_limit(exchange) > 0 and made > size + _SLACK:
        return f"{made} tokens, of {token_limit(exchange)} allowed, for {size} bytes"
    return ""


def overruns(exchange: Exchange) -> bool:
    """Whether an answer has more words than its max_tokens can make, whatever the counts say."""
    completion = exchange.completion
    limit = token_limit(exchange)
    return completion is not None and 0 < limit * WORDS_PER_TOKEN < words_in(completion)


def counts_hold(interview: Interview) -> bool:
    """Whether the server's token counts can be relied on: none of them is plainly wrong."""
    return not any(miscount(exchange) for exchange in every_stream(interview))


def token_limit(exchange: Exchange) -> int:
    """The max_tokens of a request, 0 where it has none."""
    value = (exchange.sent or {}).get("max_tokens")
    return value if isinstance(value, int) else 0


def context_tokens(interview: Interview) -> int | None:
    """The context length that /v1/models tells, as vLLM and SGLang do."""
    for card in model_cards(interview.models):
        length = card.get("max_model_len")
        if isinstance(length, int) and length > 0:
            return length
    return None

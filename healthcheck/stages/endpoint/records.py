"""The facts of the endpoint stage: one recorded interview of a running server."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field

from healthcheck.contract import Task
from healthcheck.core import check as declaring
from healthcheck.core.stages import Stage
from healthcheck.stages.endpoint.answers import answer, plain_answer, said, vary
from healthcheck.wire.client import Exchange

check = functools.partial(declaring.check, stage=Stage.ENDPOINT)
"""Declares a check of this stage."""

EXTRA_FIELDS = ("ignore_eos", "num_return_sequences")
STREAM_OPTIONS = "stream_options"
CLIENT_WAITS_S = 5
"""How long the evaluation client waits for /v1/models."""
APART = {"apart": True}
"""Marks a field that `every_stream` omits: its exchanges are not streams, or another check reads them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """One attempt at a first chat: the model name, and the omitted fields of the evaluation client."""

    name: str
    left_out: tuple[str, ...]
    exchange: Exchange


@dataclass(frozen=True, slots=True, kw_only=True)
class Crowd:
    """Concurrent streams at temperature 0, each with its own line to repeat.

    Attributes:
        lines: one for each stream.
        rounds: the first with every line, the second with the first lines again, concurrent with the long answers;
            () if a stream of the first round broke or never began.
        alone: some of the same requests with nothing concurrent, by the number of the line.
    """

    lines: tuple[str, ...] = ()
    rounds: tuple[tuple[Exchange, ...], tuple[Exchange, ...]] = ((), ())
    alone: tuple[tuple[int, Exchange], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """A code word, given and requested: once in one message, once after other turns."""

    word: str
    single: Exchange
    last: Exchange


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """Exchanges that show whether every message reaches the model, by token counts and by code words.

    Attributes:
        word: the code word of `alone` to `system`.
        alone: the question for the code word from a client that gave none, after other clients gave theirs.
        same: the code word, one unit of filler and the question in one message: can the model repeat it?
        history, history_longer: the code word in an earlier turn, with one and with three units of filler.
        system, system_longer: the code word in a system message, with one and with three units.
        history_again, system_again: the shorter ones twice more, if the answer lacked the word.
        shots: nine messages in the form of the service's sample task.
        recalls: a word given and requested in the last of three turns, and in one message; more words if the first
            was not repeated.
    """

    word: str
    alone: Exchange
    same: Exchange
    history: Exchange
    history_longer: Exchange
    system: Exchange
    system_longer: Exchange
    shots: Exchange
    recalls: tuple[Recall, ...]
    history_again: tuple[Exchange, ...] = ()
    system_again: tuple[Exchange, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The long prompt with `units` units of filler."""

    units: int
    exchange: Exchange


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """Answers to the same open request.

    Attributes:
        warm: at temperature 1, in the evaluation client's form.
        hot: longer, at temperature 2 and beyond their end; requested if all of `warm` were equal.
        freed: the same without top_p and top_k, with log-probabilities; requested if all of `hot` were equal too.
            They end by themselves if `hot` differ only beyond the end.
    """

    warm: tuple[Exchange, ...] = ()
    hot: tuple[Exchange, ...] = ()
    freed: tuple[Exchange, ...] = ()

    @property
    def ends_after(self) -> int | None:
        """The characters after which equal answers ended by themselves; None if they did not."""
        ended = self.warm and all(exchange.folded.finish_reason == "stop" for exchange in self.warm)
        return len(said(self.warm[0])) if ended and not vary(self.warm) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """One prompt at temperature 0 with nothing concurrent, streamed and plain in turn."""

    streams: tuple[Exchange, ...] = ()
    plains: tuple[Exchange, ...] = field(default=(), metadata=APART)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """The same question with four images and without one, at temperature 0."""

    streams: tuple[Exchange, ...]
    plain: tuple[Exchange, ...] = field(metadata=APART)
    without: Exchange


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """Short answers, then a long one to the same prompt, each alone."""

    short: tuple[Exchange, ...]
    long: Exchange


@dataclass(frozen=True, slots=True, kw_only=True)
class Clocked:
    """A long answer with the engine's own times for it: seconds until its first and its last token."""

    exchange: Exchange
    first_s: float
    whole_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Interview:
    """The requests to a server and its answers. Requests that were not sent are None, () or an empty record.

    Attributes:
        asked_name: the model name that the service will send; "" if unknown.
        name: the model name for the rest of the interview.
        proxies: names of proxy variables that are set on this machine.
        openings: the attempts at a first chat, the evaluation client's own body first; the interview continued with
            the last.
        streams, plains: the same prompt at temperature 0, streamed and plain; more if they differ.
        limited: the prompt of `streams` with max_tokens 8. `roomy`: with room for a long answer.
        long: a long answer; its end does not matter. `long_plain`: the same, not streamed.
        turns: short and long answers in turn, if the text of the long ones may have been held back.
        clocked: long answers, each alone, if arrival times alone prove nothing because the engine is fast.
        stories: a story and a small problem at temperature 1, with room for long answers. `another`: a story again,
            if two had the same length.
        stopped: the prompt of `streams` with the stop string `stop_word`.
        foreign: a prompt with multi-byte characters; repeated if streamed and plain answers differ.
        bare: the prompt of `foreign` without those characters.
        lone: a long answer, requested if concurrent texts were changed on their way.
        steps: one prompt with increasing units of filler, to count the tokens of a unit and to find a cut.
        beginnings: a code word at the beginning of the longest of `steps`; more words while none is repeated.
        to_the_end: a greeting with room for reasoning, sent if no answer had text, or none ended by itself.
        abandoned: streams from which the kit disconnected. after_abandoned: a line of the crowd after that; None
            if one of the streams got no response.
        malformed: bodies that are not chat requests. after_malformed: another line of the crowd after that.
    """

    task: Task
    models: Exchange = field(metadata=APART)
    asked_name: str = ""
    name: str = ""
    proxies: tuple[str, ...] = ()
    openings: tuple[Opening, ...] = ()
    streams: tuple[Exchange, ...] = ()
    plains: tuple[Exchange, ...] = field(default=(), metadata=APART)
    limited: Exchange | None = None
    roomy: Exchange | None = None
    long_plain: Exchange | None = field(default=None, metadata=APART)
    long: Exchange | None = None
    turns: tuple[Turn, ...] = ()
    clocked: tuple[Clocked, ...] = ()
    stories: tuple[Exchange, ...] = ()
    another: Exchange | None = None
    stopped: Exchange | None = None
    stop_word: str = ""
    to_the_end: Exchange | None = None
    sampling: Sampling = field(default_factory=Sampling)
    foreign: Pairs = field(default_factory=Pairs)
    bare: Exchange | None = None
    lone: Pairs = field(default_factory=Pairs)
    steps: tuple[Step, ...] = ()
    beginnings: tuple[tuple[str, Exchange], ...] = ()
    conversation: Conversation | None = None
    crowd: Crowd = field(default_factory=Crowd)
    shown: Shown | None = None
    abandoned: tuple[Exchange, ...] = field(default=(), metadata=APART)
    after_abandoned: Exchange | None = field(default=None, metadata=APART)
    malformed: tuple[Exchange, ...] = field(default=(), metadata=APART)
    after_malformed: Exchange | None = field(default=None, metadata=APART)
    seconds: float = 0.0

    @property
    def opening(self) -> Opening:
        return self.openings[-1]

    @property
    def unanswered_abandoned(self) -> Exchange | None:
        """The first abandoned stream that got no response before the disconnect."""
        return next((exchange for exchange in self.abandoned if not exchange.status), None)

    @property
    def steady(self) -> bool:
        """Whether the same request at temperature 0 always gave the same answer, streamed and plain."""
        return (
            len({answer(s) for s in self.streams}) == 1
            and len({plain_answer(p) for p in self.plains}) == 1
        )


@dataclass(slots=True)
class Notes:
    """The facts of an interview so far.

    Attributes:
        facts: None before the first chat was answered.
        has_short_answers: whether the facts include everything that runs beside the long answers.
    """

    facts: Interview | None = None
    has_short_answers: bool = False

    def keep(self, facts: Interview) -> Interview:
        """Keep the facts, and return them."""
        self.facts = facts
        return facts

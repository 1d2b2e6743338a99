"""Sends the requests of the interview: the model name, the omitted fields and the time limits."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from healthcheck.core.progress import Progress
from healthcheck.core.records import JsonValue
from healthcheck.stages.endpoint.records import STREAM_OPTIONS
from healthcheck.text.messages import msg
from healthcheck.wire.chat import Message, request_body
from healthcheck.wire.client import Client, Exchange, Limits

Ask = Callable[[], Exchange]
SHORT_TOKENS = 16
"""For an answer that only has to repeat a code word or a line."""
_STEPS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """Sends requests to one server.

    Attributes:
        left_out: fields of the evaluation client's body that the server refuses.
        cold: the temperature at which answers should be deterministic.
        stop: ends all requests once it is set.
    """

    base_url: str
    limits: Limits
    progress: Progress
    name: str = ""
    left_out: tuple[str, ...] = ()
    cold: float = 0.0
    stop: threading.Event = field(default_factory=threading.Event)

    @property
    def client(self) -> Client:
        return Client(self.base_url, self.limits, stop=self.stop)

    def within(self, total_s: float) -> Asker:
        """A copy with less time for each exchange."""
        return replace(self, limits=replace(self.limits, total_s=min(self.limits.total_s, total_s)))

    def under(self, limits: Limits) -> Asker:
        """A copy with other limits."""
        return replace(self, limits=limits)

    def say_step(self, step: str, done: int = 0) -> None:
        """Report a step, and how long it may wait for an answer."""
        text = msg(
            "endpoint, up to {limit_s:.0f} s an answer: {step}",
            limit_s=self.limits.total_s,
            step=step,
        )
        self.progress.update(text, done=done, total=_STEPS)

    def body(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        temperature: float | None,
        **fields: JsonValue,
    ) -> Mapping[str, JsonValue]:
        """The evaluation client's body without refused fields; temperature None is the lowest."""
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
        """Request a stream."""
        return self.client.chat(
            self.body(messages, max_tokens=max_tokens, temperature=temperature, **fields)
        )

    def plain(
        self, *messages: Message, max_tokens: int = SHORT_TOKENS, **fields: JsonValue
    ) -> Exchange:
        """Request a plain answer."""
        body = {
            **self.body(messages, max_tokens=max_tokens, temperature=None),
            **fields,
            "stream": False,
        }
        body.pop(STREAM_OPTIONS, None)
        return self.client.chat(body)

    @contextmanager
    def workers(self, most: int) -> Iterator[ThreadPoolExecutor]:
        """Threads for concurrent requests; an exception in the block, such as Ctrl-C, ends these requests first."""
        with ThreadPoolExecutor(max_workers=most) as pool:
            try:
                yield pool
            except BaseException:
                self.stop.set()
                raise

    def together(self, asks: Sequence[Ask], *, at_once: int) -> tuple[Exchange, ...]:
        """The results of all calls, in order; at most `at_once` run concurrently."""
        with self.workers(at_once) as pool:
            return tuple(pool.map(lambda ask: ask(), asks))

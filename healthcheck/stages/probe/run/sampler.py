"""Sends concurrent streamed requests, each with time limits and retried if the fault may be transient."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import asdict, replace

from healthcheck import contract
from healthcheck.errors import UsageError
from healthcheck.stages.probe.problems import Problem
from healthcheck.stages.probe.records import EndedBy, Lost, ProbeSettings, Sample
from healthcheck.stages.probe.run.bank import Slot
from healthcheck.stages.probe.run.replicas import Replica, Replicas
from healthcheck.stages.probe.run.request import fields, messages
from healthcheck.stages.probe.run.secret_headers import headers_of, hiding, hiding_in_errors
from healthcheck.system import json_text
from healthcheck.text.messages import msg
from healthcheck.text.redact import Redact, beginning
from healthcheck.wire.answer import Reply
from healthcheck.wire.chat import Completion, request_body
from healthcheck.wire.many import Connections, Timed, TooSlowError, Waits
from healthcheck.wire.response import TooLargeError

_LONGEST_WAIT_S = 30.0
_SLOWEST_TOKEN_S = 1.0
"""A large model on a busy machine generates few tokens a second, and a reasoning model many tokens in all."""
_OF_THE_REQUEST = {400, 413, 422, 429}
"""Statuses that another server would return, too; 429 is not a fault."""


class _Fault(Exception):  # noqa: N818 - one try went wrong; whether the request did is for the caller
    """A failed attempt.

    Attributes:
        again: a retry at the same server may succeed.
        elsewhere: a retry at another server may succeed: the fault is in the server and not in the request.
        wait_s: the wait that the server requested.
    """

    def __init__(self, text: str, *, again: bool, elsewhere: bool, wait_s: float = 0.0) -> None:
        super().__init__(text)
        self.again = again
        self.elsewhere = elsewhere
        self.wait_s = wait_s


class Sampler:
    """Sends the slots in order with a fixed number open at each server, and passes every sample to `keep`."""

    def __init__(
        self, settings: ProbeSettings, problems: Sequence[Problem], keep: Callable[[Sample], Awaitable[bool]]
    ) -> None:
        """`keep` receives each sample as it arrives, and returns whether to continue."""
        self._settings = settings
        self._problems = problems
        self._keep = keep
        self._hide = hiding(settings.request, os.environ)
        self._hide_in_error = hiding_in_errors(settings.request, os.environ)
        self._strikes = 0
        self._workers = 0
        self.in_flight = 0
        self.gave_up = ""

    async def run(self, servers: Replicas, slots: Iterator[Slot]) -> None:
        """Send until all slots are done, `keep` has enough, or too many requests fail in a row (`gave_up`)."""
        self._workers = servers.room
        workers = [asyncio.create_task(self._work(servers, slots)) for _ in range(self._workers)]
        pending = set(workers)
        try:
            while pending:
                done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
                if not all(task.result() for task in done):
                    return
        finally:
            for task in workers:
                task.cancel()
            await asyncio.gather(*workers, return_exceptions=True)

    async def prompt_tokens(self, server: Connections, problem: Problem) -> int:
        """The server's token count for the prompt of a problem, including its template; 0 without usage."""
        try:
            completion, _ = await _ask(server, self._body(problem, 0, max_tokens=1), self._hide_in_error)
        except _Fault:
            return 0
        return completion.usage.prompt_tokens if completion.usage else 0

    async def _work(self, servers: Replicas, queue: Iterator[Slot]) -> bool:
        for slot in queue:
            self.in_flight += 1
            try:
                sample = self._without_secrets(await self._sample(servers, slot))
            finally:
                self.in_flight -= 1
            self._strikes = strikes = self._strikes + 1 if sample.error else 0
            if not await self._keep(sample):
                return False
            if strikes >= self._settings.patience.strikes:
                told = (EndedBy.FAILURES.value, strikes, sample.error)
                self.gave_up = msg("{failed} {strikes} times in a row; the last: {error}", *told)
                return False
            if self._workers > servers.room:  # a server was removed
                self._workers -= 1
                return True
        return True

    async def _sample(self, servers: Replicas, slot: Slot) -> Sample:
        body = self._body(self._problems[slot.problem], slot.repeat)
        began = time.monotonic()
        tried, errors = [await servers.take()], list[str]()
        while True:
            replica, this_began = tried[-1], time.monotonic()
            try:
                completion, timed = await _ask(replica.line, body, self._hide_in_error)
            except _Fault as fault:
                errors.append(msg("{url}: {fault}", replica.url, fault) if servers.several else str(fault))
                if fault.elsewhere:
                    servers.failed(replica, this_began, self._hide_in_error(str(fault)))
                elsewhere = fault.elsewhere and servers.has_another(replica)
                if self._enough(tried) or not (fault.again or elsewhere):
                    return _failed(slot, replica, errors, time.monotonic() - began)
                wait_s = max(fault.wait_s, 0.0 if elsewhere else self._wait_s(len(tried)))
            else:
                servers.answered(replica)
                return _sample_of(slot, replica, completion, timed, tuple(errors))
            finally:
                servers.give_back(replica)
            await asyncio.sleep(min(wait_s, _LONGEST_WAIT_S))
            tried.append(servers.take_another(replica))

    def _enough(self, tried: Sequence[Replica]) -> bool:
        """Whether a request has had all its attempts; those at a removed server do not count."""
        return sum(not replica.lost for replica in tried) >= self._settings.patience.attempts

    def _wait_s(self, tries: int) -> float:
        return self._settings.patience.first_wait_s * 2.0 ** (tries - 1)

    def _without_secrets(self, sample: Sample) -> Sample:
        return replace(
            sample,
            text=self._hide(sample.text),
            reasoning=self._hide(sample.reasoning),
            finish_reason=self._hide(sample.finish_reason),
            error=self._hide_in_error(sample.error),
            retried=tuple(map(self._hide_in_error, sample.retried)),
            faults=tuple(map(self._hide_in_error, sample.faults)),
        )

    def _body(self, problem: Problem, repeat: int, max_tokens: int = 0) -> bytes:
        asked = self._settings
        body = request_body(
            messages(problem, asked.request),
            model=asked.model,
            max_tokens=max_tokens or asked.max_tokens,
            temperature=asked.temperature,
            samples=asked.samples,
        )
        body |= {"logprobs": True} if asked.logprobs else {}
        return json_text.dump_line(body | fields(asked.request, repeat))


def connections(settings: ProbeSettings) -> aclosing[Connections]:
    """Connections to a server, with a run's headers and patience, for an `async with`.

    Raises:
        UsageError: the URL is invalid, or a header is missing in the environment.
    """
    patience = settings.patience
    answer_s = patience.limit_s or max(patience.answer_s, settings.max_tokens * _SLOWEST_TOKEN_S)
    waits = Waits(connect_s=patience.connect_s, silence_s=patience.silence_s, answer_s=answer_s)
    try:
        return aclosing(Connections(settings.url, waits, headers_of(settings.request, os.environ)))
    except ValueError as error:
        raise UsageError(str(error)) from error


@asynccontextmanager
async def replicas(settings: ProbeSettings, lose: Callable[[Lost], None]) -> AsyncIterator[Replicas]:
    """All servers of a run; `lose` is called with each server that is removed.

    Raises:
        UsageError: a URL is invalid, or a header is missing in the environment.
    """
    async with AsyncExitStack() as stack:
        lines = [
            Replica(url, await stack.enter_async_context(connections(replace(settings, url=url))))
            for url in settings.servers
        ]
        yield Replicas(
            lines,
            each=settings.concurrency,
            first_rest_s=settings.patience.first_wait_s,
            silence_s=settings.patience.silence_s,
            lose=lose,
        )


async def _ask(server: Connections, body: bytes, hide: Redact) -> tuple[Completion, Timed]:
    """Send one attempt.

    Raises:
        _Fault: no complete answer came.
    """
    try:
        timed = await server.stream(contract.CHAT_PATH, body)
    except TimeoutError as error:
        slow = isinstance(error, TooSlowError)
        raise _Fault(msg("timed out: {error}", error), again=False, elsewhere=not slow) from error
    except OSError as error:
        words = f"connection: {type(error).__name__}: {error}"[:500]
        raise _Fault(words, again=True, elsewhere=True) from error
    except TooLargeError as error:
        raise _Fault(str(error), again=False, elsewhere=False) from error
    completion = timed.reply.completion
    if completion is None:
        raise _refusal(timed.reply, hide)
    if completion.error:
        words = msg("error event inside the stream: {error}", beginning(hide(completion.error), 500))
        raise _Fault(words, again=True, elsewhere=True)
    if not completion.deltas and (completion.faults or not completion.events):
        kind = timed.reply.headers.get("content-type", "none")
        reason = (*completion.faults, msg("nothing at all"))[0]
        words = msg("no chat completion in the answer (content type {kind}): {reason}", kind, reason)
        raise _Fault(words, again=False, elsewhere=True)
    return completion, timed


def _refusal(reply: Reply, hide: Redact) -> _Fault:
    text = reply.body[:8000].decode("utf-8", "replace").strip()
    again = reply.status == 429 or reply.status >= 500
    words = f"HTTP {reply.status} {reply.reason}: {beginning(hide(text), 500)}"
    elsewhere = reply.status not in _OF_THE_REQUEST
    return _Fault(
        words, again=again, elsewhere=elsewhere, wait_s=_retry_after(reply.headers.get("retry-after", ""))
    )


def _retry_after(asked: str) -> float:
    return float(asked) if asked.isdigit() and len(asked) < 6 else 0.0


def _failed(slot: Slot, replica: Replica, errors: Sequence[str], seconds: float) -> Sample:
    return Sample(**asdict(slot), error=errors[-1], retried=tuple(errors[:-1]), server=replica.url, seconds=seconds)


def _sample_of(
    slot: Slot, replica: Replica, completion: Completion, timed: Timed, retried: tuple[str, ...]
) -> Sample:
    return Sample(
        **asdict(slot),
        text=completion.text,
        reasoning=completion.reasoning,
        finish_reason=completion.finish_reason,
        retried=retried,
        faults=completion.faults
        + (() if completion.done or completion.finish_reason else (msg("the stream did not end"),)),
        completion_tokens=completion.usage.completion_tokens if completion.usage else None,
        mean_logprob=completion.mean_logprob,
        server=replica.url,
        first_s=round(timed.first_s, 6),
        seconds=round(timed.seconds, 6),
    )

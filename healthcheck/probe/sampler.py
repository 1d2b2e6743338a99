"""Many streamed completions in flight, each bounded in time and tried again where the fault may pass."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import aclosing
from dataclasses import replace

from healthcheck import json_text
from healthcheck.contract import CHAT_PATH
from healthcheck.errors import UsageError
from healthcheck.probe.bank import Slot
from healthcheck.probe.problems import Problem
from healthcheck.probe.records import EndedBy, ProbeSettings, Sample
from healthcheck.probe.request import fields, messages
from healthcheck.probe.secret_headers import headers_of, hiding, hiding_in_errors
from healthcheck.redact import Redact, beginning
from healthcheck.wire.answer import Reply
from healthcheck.wire.chat import Completion, request_body
from healthcheck.wire.many import Connections, Timed, Waits
from healthcheck.wire.response import TooLargeError

_LONGEST_WAIT_S = 30.0
_SLOWEST_TOKEN_S = 1.0
"""A large model on a busy machine says few tokens a second, and a reasoning model says many tokens."""


class _Fault(Exception):  # noqa: N818 - one try went wrong; whether the request did is for the caller
    """One try failed; `again` says whether another may succeed, `wait_s` what the server asked for."""

    def __init__(self, text: str, *, again: bool, wait_s: float = 0.0) -> None:
        super().__init__(text)
        self.again = again
        self.wait_s = wait_s


class Sampler:
    """Sends the slots in their order with a fixed number in flight, and hands every sample to `keep`."""

    def __init__(
        self, settings: ProbeSettings, problems: Sequence[Problem], keep: Callable[[Sample], Awaitable[bool]]
    ) -> None:
        """`keep` takes each sample as it arrives, and answers whether to go on."""
        self._settings = settings
        self._problems = problems
        self._keep = keep
        self._hide = hiding(settings.request, os.environ)
        self._hide_in_error = hiding_in_errors(settings.request, os.environ)
        self._strikes = 0
        self.in_flight = 0
        self.gave_up = ""

    async def run(self, server: Connections, slots: Collection[Slot]) -> None:
        """Send until all slots are done, `keep` has enough, or the server fails too often in a row (`gave_up`)."""
        queue = iter(slots)
        workers = [
            asyncio.create_task(self._work(server, queue))
            for _ in range(min(self._settings.concurrency, len(slots)))
        ]
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
        """What the server counts for the prompt of a problem, its template included; 0 if it does not say."""
        try:
            completion, _ = await _ask(server, self._body(problem, 0, max_tokens=1), self._hide_in_error)
        except _Fault:
            return 0
        return completion.usage.prompt_tokens if completion.usage else 0

    async def _work(self, server: Connections, queue: Iterator[Slot]) -> bool:
        for slot in queue:
            self.in_flight += 1
            try:
                sample = self._without_secrets(await self._sample(server, slot))
            finally:
                self.in_flight -= 1
            self._strikes = strikes = self._strikes + 1 if sample.error else 0
            if not await self._keep(sample):
                return False
            if strikes >= self._settings.patience.strikes:
                self.gave_up = f"{EndedBy.FAILURES.value} {strikes} times in a row; the last: {sample.error}"
                return False
        return True

    async def _sample(self, server: Connections, slot: Slot) -> Sample:
        patience, errors = self._settings.patience, list[str]()
        body = self._body(self._problems[slot.problem], slot.repeat)
        began = time.monotonic()
        for attempt in range(patience.attempts):
            try:
                completion, timed = await _ask(server, body, self._hide_in_error)
            except _Fault as fault:  # noqa: PERF203 - each try has its own end
                errors.append(str(fault))
                if not fault.again or attempt + 1 == patience.attempts:
                    break
                wait = max(fault.wait_s, patience.first_wait_s * 2**attempt)
                await asyncio.sleep(min(wait, _LONGEST_WAIT_S))
            else:
                return _sample_of(slot, completion, timed, tuple(errors))
        return Sample(
            order=slot.order,
            problem=slot.problem,
            repeat=slot.repeat,
            error=errors[-1],
            retried=tuple(errors[:-1]),
            seconds=time.monotonic() - began,
        )

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
        UsageError: the URL is none, or a header cannot be had from the environment.
    """
    patience = settings.patience
    answer_s = patience.limit_s or max(patience.answer_s, settings.max_tokens * _SLOWEST_TOKEN_S)
    waits = Waits(connect_s=patience.connect_s, silence_s=patience.silence_s, answer_s=answer_s)
    try:
        return aclosing(Connections(settings.url, waits, headers_of(settings.request, os.environ)))
    except ValueError as error:
        raise UsageError(str(error)) from error


async def _ask(server: Connections, body: bytes, hide: Redact) -> tuple[Completion, Timed]:
    """One try.

    Raises:
        _Fault: no whole answer came.
    """
    try:
        timed = await server.stream(CHAT_PATH, body)
    except TimeoutError as error:
        raise _Fault(f"timed out: {error}", again=False) from error
    except OSError as error:
        raise _Fault(f"connection: {type(error).__name__}: {error}"[:500], again=True) from error
    except TooLargeError as error:
        raise _Fault(str(error), again=False) from error
    completion = timed.reply.completion
    if completion is None:
        raise _refusal(timed.reply, hide)
    if completion.error:
        raise _Fault(f"error event inside the stream: {beginning(hide(completion.error), 500)}", again=True)
    if not completion.deltas and (completion.faults or not completion.events):
        kind, reason = timed.reply.headers.get("content-type", "none"), (*completion.faults, "nothing at all")[0]
        raise _Fault(f"no chat completion in the answer (content type {kind}): {reason}", again=False)
    return completion, timed


def _refusal(reply: Reply, hide: Redact) -> _Fault:
    text = reply.body[:8000].decode("utf-8", "replace").strip()
    again = reply.status == 429 or reply.status >= 500
    words = f"HTTP {reply.status} {reply.reason}: {beginning(hide(text), 500)}"
    return _Fault(words, again=again, wait_s=_retry_after(reply.headers.get("retry-after", "")))


def _retry_after(asked: str) -> float:
    return float(asked) if asked.isdigit() and len(asked) < 6 else 0.0


def _sample_of(slot: Slot, completion: Completion, timed: Timed, retried: tuple[str, ...]) -> Sample:
    return Sample(
        order=slot.order,
        problem=slot.problem,
        repeat=slot.repeat,
        text=completion.text,
        reasoning=completion.reasoning,
        finish_reason=completion.finish_reason,
        retried=retried,
        faults=completion.faults
        + (() if completion.done or completion.finish_reason else ("the stream did not end",)),
        completion_tokens=completion.usage.completion_tokens if completion.usage else None,
        mean_logprob=completion.mean_logprob,
        first_s=round(timed.first_s, 6),
        seconds=round(timed.seconds, 6),
    )

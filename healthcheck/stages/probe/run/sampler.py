"""Sends concurrent streamed requests, each with time limits and retried if the fault may be transient."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import asdict, replace

from healthcheck import contract
from healthcheck.errors import UsageError
from healthcheck.stages.probe.problems import Problem
from healthcheck.stages.probe.records import EndedBy, ProbeSettings, Sample, Slot
from healthcheck.stages.probe.run.request import fields, messages
from healthcheck.stages.probe.run.secret_headers import headers_of, hiding, hiding_in_errors
from healthcheck.system import json_text
from healthcheck.text.messages import msg
from healthcheck.text.redact import Redact, beginning
from healthcheck.wire.answer import Reply
from healthcheck.wire.chat import Completion, request_body
from healthcheck.wire.many import Connections, Timed, Waits
from healthcheck.wire.response import TooLargeError

_LONGEST_WAIT_S = 30.0
_SLOWEST_TOKEN_S = 1.0
"""A large model on a busy machine generates few tokens a second, and a reasoning model many tokens in all."""


class _Fault(Exception):  # noqa: N818 - one try went wrong; whether the request did is for the caller
    """A failed attempt.

    Attributes:
        again: a retry may succeed.
        wait_s: the wait that the server requested.
    """

    def __init__(self, text: str, *, again: bool, wait_s: float = 0.0) -> None:
        super().__init__(text)
        self.again = again
        self.wait_s = wait_s


class Sampler:
    """Sends the slots in order with a fixed number open, and passes every sample to `keep`."""

    def __init__(
        self,
        settings: ProbeSettings,
        problems: Sequence[Problem],
        keep: Callable[[Sample], Awaitable[bool]],
    ) -> None:
        """`keep` receives each sample as it arrives, and returns whether to continue."""
        self._settings = settings
        self._problems = problems
        self._keep = keep
        self._hide = hiding(settings.request, os.environ)
        self._hide_in_error = hiding_in_errors(settings.request, os.environ)
        self._strikes = 0
        self.in_flight = 0
        self.gave_up = ""

    async def run(self, server: Connections, slots: Iterator[Slot]) -> None:
        """Send until all slots are done, `keep` has enough, or too many requests fail in a row (`gave_up`)."""
        workers = [
            asyncio.create_task(self._work(server, slots))
            for _ in range(self._settings.concurrency)
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
        """The server's token count for the prompt of a problem, including its template; 0 without usage."""
        try:
            completion, _ = await _ask(
                server, self._body(problem, 0, max_tokens=1), self._hide_in_error
            )
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
                self.gave_up = msg(
                    "{failed} {strikes} times in a row; the last: {error}",
                    failed=EndedBy.FAILURES.sentence,
                    strikes=strikes,
                    error=sample.error,
                )
                return False
        return True

    async def _sample(self, server: Connections, slot: Slot) -> Sample:
        body = self._body(self._problems[slot.problem], slot.repeat)
        began, patience = time.monotonic(), self._settings.patience
        errors: list[str] = []
        while True:
            try:
                completion, timed = await _ask(server, body, self._hide_in_error)
            except _Fault as fault:
                errors.append(str(fault))
                if len(errors) >= patience.attempts or not fault.again:
                    return _failed(slot, errors, time.monotonic() - began)
                wait_s = max(fault.wait_s, patience.first_wait_s * 2.0 ** (len(errors) - 1))
            else:
                return _sample_of(slot, completion, timed, tuple(errors))
            await asyncio.sleep(min(wait_s, _LONGEST_WAIT_S))

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


async def _ask(server: Connections, body: bytes, hide: Redact) -> tuple[Completion, Timed]:
    """Send one attempt.

    Raises:
        _Fault: no complete answer came.
    """
    try:
        timed = await server.stream(contract.CHAT_PATH, body)
    except TimeoutError as error:
        raise _Fault(msg("timed out: {error}", error=error), again=False) from error
    except OSError as error:
        words = f"connection: {type(error).__name__}: {error}"[:500]
        raise _Fault(words, again=True) from error
    except TooLargeError as error:
        raise _Fault(str(error), again=False) from error
    completion = timed.reply.completion
    if completion is None:
        raise _refusal(timed.reply, hide)
    if completion.error:
        words = msg(
            "error event inside the stream: {error}", error=beginning(hide(completion.error), 500)
        )
        raise _Fault(words, again=True)
    if not completion.deltas and (completion.faults or not completion.events):
        kind = timed.reply.headers.get("content-type", "none")
        reason = (*completion.faults, msg("nothing at all"))[0]
        words = msg(
            "no chat completion in the answer (content type {kind}): {reason}",
            kind=kind,
            reason=reason,
        )
        raise _Fault(words, again=False)
    return completion, timed


def _refusal(reply: Reply, hide: Redact) -> _Fault:
    text = reply.body[:8000].decode("utf-8", "replace").strip()
    again = reply.status == 429 or reply.status >= 500
    words = f"HTTP {reply.status} {reply.reason}: {beginning(hide(text), 500)}"
    return _Fault(words, again=again, wait_s=_retry_after(reply.headers.get("retry-after", "")))


def _retry_after(asked: str) -> float:
    return float(asked) if asked.isdigit() and len(asked) < 6 else 0.0


def _failed(slot: Slot, errors: Sequence[str], seconds: float) -> Sample:
    return Sample(**asdict(slot), error=errors[-1], retried=tuple(errors[:-1]), seconds=seconds)


def _sample_of(
    slot: Slot, completion: Completion, timed: Timed, retried: tuple[str, ...]
) -> Sample:
    return Sample(
        **asdict(slot),
        text=completion.text,
        reasoning=completion.reasoning,
        finish_reason=completion.finish_reason,
        retried=retried,
        faults=completion.faults
        + (() if completion.done or completion.finish_reason else (msg("the stream did not end"),)),
        prompt_tokens=completion.usage.prompt_tokens if completion.usage else None,
        completion_tokens=completion.usage.completion_tokens if completion.usage else None,
        mean_logprob=completion.mean_logprob,
        first_s=round(timed.first_s, 6),
        seconds=round(timed.seconds, 6),
    )

"""Many streamed completions in flight, each bounded in time and tried again where the fault may pass.

The one user of aiohttp. No proxy, no redirect: the service reaches the port directly.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import aiohttp

from healthcheck import json_text
from healthcheck.contract import CHAT_PATH
from healthcheck.probe.bank import Slot
from healthcheck.probe.problems import Problem, message
from healthcheck.probe.records import Patience, ProbeSettings, Sample
from healthcheck.wire.chat import Completion, Reader, request_body

GAVE_UP = "requests failed"
MAX_ANSWER_BYTES = 64 * 2**20
_FEED_BYTES = 2**16
_LONGEST_WAIT_S = 30.0
_IDLE_S = 2.0
"""A connection that was idle for longer is not used again: uvicorn, and so vLLM, closes it after 5 s, and a process
that got no processor meanwhile would not have noticed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    completion: Completion
    first_s: float
    seconds: float


class _Fault(Exception):  # noqa: N818 - one try went wrong; whether the request did is for the caller
    """One try failed; `again` says whether another may succeed, `wait_s` what the server asked for."""

    def __init__(self, text: str, *, again: bool, wait_s: float = 0.0) -> None:
        super().__init__(text)
        self.again = again
        self.wait_s = wait_s


class Sampler:
    """Sends the slots in their order with a fixed number in flight, and hands every sample to `keep`."""

    def __init__(
        self, settings: ProbeSettings, problems: Sequence[Problem], keep: Callable[[Sample], bool]
    ) -> None:
        """`keep` takes each sample as it arrives, and answers whether to go on."""
        self._settings = settings
        self._problems = problems
        self._keep = keep
        self._strikes = 0
        self.in_flight = 0
        self.gave_up = ""

    async def run(self, session: aiohttp.ClientSession, slots: Sequence[Slot]) -> None:
        """Send until all slots are done, `keep` has enough, or the server fails too often in a row (`gave_up`)."""
        queue = iter(slots)
        workers = [
            asyncio.create_task(self._work(session, queue))
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

    async def _work(self, session: aiohttp.ClientSession, queue: Iterator[Slot]) -> bool:
        for slot in queue:
            self.in_flight += 1
            try:
                sample = await self._sample(session, slot)
            finally:
                self.in_flight -= 1
            self._strikes = self._strikes + 1 if sample.error else 0
            if not self._keep(sample):
                return False
            if self._strikes >= self._settings.patience.strikes:
                self.gave_up = f"{GAVE_UP} {self._strikes} times in a row; the last: {sample.error}"
                return False
        return True

    async def _sample(self, session: aiohttp.ClientSession, slot: Slot) -> Sample:
        patience, errors = self._settings.patience, list[str]()
        body = self._body(self._problems[slot.problem])
        began = time.monotonic()
        for attempt in range(patience.attempts):
            try:
                answer = await _ask(session, self._settings, body)
            except _Fault as fault:  # noqa: PERF203 - each try has its own end
                errors.append(str(fault))
                if not fault.again or attempt + 1 == patience.attempts:
                    break
                wait = max(fault.wait_s, patience.first_wait_s * 2**attempt)
                await asyncio.sleep(min(wait, _LONGEST_WAIT_S))
            else:
                return _sample_of(slot, answer, tuple(errors))
        return Sample(
            order=slot.order,
            problem=slot.problem,
            repeat=slot.repeat,
            error=errors[-1],
            retried=tuple(errors[:-1]),
            seconds=time.monotonic() - began,
        )

    def _body(self, problem: Problem) -> bytes:
        body = request_body(
            [message(problem)],
            model=self._settings.model,
            max_tokens=self._settings.max_tokens,
            temperature=self._settings.temperature,
            samples=self._settings.samples,
        )
        return json_text.dump_line(body | {"logprobs": True} if self._settings.logprobs else body)


def open_session(patience: Patience) -> aiohttp.ClientSession:
    """A session without proxies, cookies or a limit on connections; the caller closes it."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_IDLE_S),
        cookie_jar=aiohttp.DummyCookieJar(),
        trust_env=False,
        timeout=aiohttp.ClientTimeout(
            total=patience.answer_s, sock_connect=patience.connect_s, sock_read=patience.silence_s
        ),
    )


async def _ask(session: aiohttp.ClientSession, settings: ProbeSettings, body: bytes) -> _Answer:
    """One try.

    Raises:
        _Fault: no whole answer came.
    """
    url, began = settings.url.rstrip("/") + CHAT_PATH, time.monotonic()
    headers = {"Content-Type": "application/json"}
    try:
        async with session.post(url, data=body, headers=headers, allow_redirects=False) as response:
            if response.status != 200:
                raise await _refusal(response)
            completion, first = await _fold(response)
    except asyncio.TimeoutError as error:
        text = str(error) or f"no end after {settings.patience.answer_s:g} s"
        raise _Fault(f"timed out: {text}", again=False) from error
    except (aiohttp.ClientError, OSError) as error:
        raise _Fault(f"connection: {type(error).__name__}: {error}"[:500], again=True) from error
    if completion.error:
        raise _Fault(f"error event inside the stream: {completion.error[:500]}", again=True)
    if not completion.deltas and (completion.faults or not completion.events):
        kind, reason = response.headers.get("content-type", "none"), (*completion.faults, "nothing at all")[0]
        raise _Fault(f"no chat completion in the answer (content type {kind}): {reason}", again=False)
    return _Answer(completion=completion, first_s=(first or began) - began, seconds=time.monotonic() - began)


async def _fold(response: aiohttp.ClientResponse) -> tuple[Completion, float]:
    """The stream as a completion, and when its first byte came.

    Bytes are parsed in batches: the probe measures answers; when events arrive is for the endpoint's checks.
    """
    reader, first, held, total = Reader(), 0.0, list[bytes](), 0
    pending = 0
    async for data in response.content.iter_any():
        first = first or time.monotonic()
        held.append(data)
        pending += len(data)
        total += len(data)
        if total > MAX_ANSWER_BYTES:
            raise _Fault(f"more than {MAX_ANSWER_BYTES} bytes in one answer", again=False)
        if pending >= _FEED_BYTES:
            reader.feed(b"".join(held))
            held.clear()
            pending = 0
    reader.feed(b"".join(held))
    return reader.close(), first


async def bounded_body(response: aiohttp.ClientResponse, limit: int) -> bytes:
    """The body of a short answer, at most `limit` bytes of it."""
    held = bytearray()
    async for data in response.content.iter_any():
        held += data
        if len(held) >= limit:
            break
    return bytes(held[:limit])


async def _refusal(response: aiohttp.ClientResponse) -> _Fault:
    text = (await bounded_body(response, 2000)).decode("utf-8", "replace").strip()
    again = response.status == 429 or response.status >= 500
    return _Fault(
        f"HTTP {response.status} {response.reason}: {text[:500]}", again=again, wait_s=_retry_after(response)
    )


def _retry_after(response: aiohttp.ClientResponse) -> float:
    asked = response.headers.get("retry-after", "")
    return float(asked) if asked.isdigit() and len(asked) < 6 else 0.0


def _sample_of(slot: Slot, answer: _Answer, retried: tuple[str, ...]) -> Sample:
    completion = answer.completion
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
        first_s=round(answer.first_s, 6),
        seconds=round(answer.seconds, 6),
    )

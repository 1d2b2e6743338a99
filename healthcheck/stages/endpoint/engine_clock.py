"""The engine's own times, from the metrics that vLLM reports: when did it have the first and the last token?"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass

from healthcheck.stages.endpoint.answers import answered
from healthcheck.stages.endpoint.arrivals import TIMES
from healthcheck.stages.endpoint.asking import Ask
from healthcheck.stages.endpoint.records import Clocked
from healthcheck.wire.client import Client

_METRICS = "/metrics"
_FIRST, _WHOLE = "vllm:time_to_first_token_seconds", "vllm:e2e_request_latency_seconds"
"""Histograms of all requests so far, with their sums and counts."""
_READS, _LATER_S = 5, 0.1
_MOST_BYTES = 2**21


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sums:
    """Seconds of all requests so far, how many ended, and how many had a first token."""

    requests: float
    begun: float
    first_s: float
    whole_s: float


def clocked(client: Client, ask: Ask) -> tuple[Clocked, ...]:
    """Answers that were requested one at a time, with the engine's times; () if it tells none, or serves others."""
    found: list[Clocked] = []
    before = _sums(client)
    while before and len(found) < TIMES:
        exchange = ask()
        after = _until(client, before.requests + 1)
        if after is None or after.begun != before.begun + 1 or not answered(exchange):
            break
        first_s, whole_s = after.first_s - before.first_s, after.whole_s - before.whole_s
        found.append(Clocked(exchange=exchange, first_s=first_s, whole_s=whole_s))
        before = after
    return tuple(found)


def _until(client: Client, requests: float) -> _Sums | None:
    """The sums after exactly so many requests: the engine may report a moment after it has answered."""
    for _ in range(_READS):
        sums = _sums(client)
        if sums is None or sums.requests >= requests:
            return sums if sums and sums.requests == requests else None
        time.sleep(_LATER_S)
    return None


def _sums(client: Client) -> _Sums | None:
    told = client.send(_METRICS, None)
    text = told.body[:_MOST_BYTES].decode("utf-8", "replace") if told.status == 200 else ""
    names = [f"{name}_{kind}" for kind in ("count", "sum") for name in (_WHOLE, _FIRST)]
    known = [value for name in names if (value := _value(text, name)) is not None]
    if len(known) < len(names):
        return None
    requests, begun, whole_s, first_s = known
    return _Sums(requests=requests, begun=begun, first_s=first_s, whole_s=whole_s)


def _value(text: str, name: str) -> float | None:
    """The sum of a metric over its labels (Prometheus' text format); None if it is not there."""
    found = re.findall(
        rf"^{re.escape(name)}(?:{{[^}}\n]*}})? ([0-9.eE+-]{{1,40}})$", text, re.MULTILINE
    )
    try:
        return sum(map(float, found)) if found else None
    except ValueError:
        return None

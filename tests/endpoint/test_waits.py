"""How long an answer is waited for, by what a server has taken so far."""

from __future__ import annotations

from healthcheck.stages.endpoint.waits import FIRST, LEAST_S, learnt
from healthcheck.wire.chat import Completion, Usage
from healthcheck.wire.client import Exchange


def answer(first_s: float, seconds: float) -> Exchange:
    completion = Completion(
        text="a b",
        finish_reason="stop",
        usage=Usage(prompt_tokens=60, completion_tokens=16),
        deltas=2,
    )
    return Exchange(
        status=200,
        completion=completion,
        arrivals_s=(first_s, seconds),
        seconds=seconds,
        sent={"max_tokens": 16},
    )


def test_a_stream_may_pause_for_as_long_as_a_first_text_may_take() -> None:
    """A long prompt beside it may hold the whole engine up."""
    slow = learnt(FIRST, [answer(40, 48)] * 16, queued_tokens=1568, least_s=LEAST_S)
    assert slow.first_event_s == slow.between_events_s > FIRST.between_events_s
    quick = learnt(FIRST, [answer(0.1, 0.5)] * 16, queued_tokens=1568, least_s=LEAST_S)
    assert quick.between_events_s == FIRST.between_events_s

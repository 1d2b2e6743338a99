"""Whether a server streams, judged by when the texts of short and long answers arrive."""

from __future__ import annotations

import pytest

from healthcheck.core.records import Outcome
from healthcheck.stages.endpoint import checks
from healthcheck.stages.endpoint.arrivals import Streaming, streaming
from healthcheck.stages.endpoint.records import Turn
from healthcheck.wire.chat import Usage
from tests.endpoint.by_hand import interview, streamed

EVEN = tuple(0.1 + 0.5 * n for n in range(11))
BURST = (5.0, 5.01)
HALVES = (2.6, 2.61, 5.1, 5.11)
TORN = (5.0, 9.0, 13.0)
"""One burst that a busy machine read in three pieces."""


def in_turn(short: tuple[float, ...], long: tuple[tuple[float, ...], ...]) -> tuple[Turn, ...]:
    """Turns with the first texts of short answers, three each, and the arrivals of long ones."""
    threes = (short[3 * n : 3 * n + 3] for n in range(len(long)))
    return tuple(
        Turn(
            short=tuple(streamed(seconds=(first, first + 0.01)) for first in firsts),
            long=streamed(seconds=each),
        )
        for firsts, each in zip(threes, long, strict=True)
    )


@pytest.mark.parametrize(
    ("opening", "streams", "outcome"),
    [
        (0.1, (EVEN, EVEN), Outcome.PASS),
        (3.0, (tuple(2.9 + each for each in EVEN),) * 2, Outcome.PASS),
        (0.1, (EVEN, BURST), None),
        (0.1, (TORN, TORN), None),
        (0.1, (HALVES, HALVES), None),
        (0.1, ((2.0, *(2.0 + each for each in EVEN)),) * 2, None),
    ],
)
def test_two_streams_without_a_long_silence_tell_that_a_server_holds_nothing_back(
    opening: float, streams: tuple[tuple[float, ...], ...], outcome: Outcome | None
) -> None:
    """Otherwise the turns have to tell."""
    first = streamed(seconds=(opening, opening + 0.01))
    asked = tuple(streamed(seconds=each) for each in streams)
    facts = interview(first, stories=asked, long=streamed(seconds=BURST))
    assert (streaming(facts) is Streaming.UNCLEAR) is (outcome is None)
    if outcome:
        assert checks.stream_incremental.judge(facts).outcome is outcome


PROMPT = (0.2,) * 12
BUSY = (0.2, 1.9, 0.3, 2.5, 0.2, 6.0, 0.3, 0.4, 1.8, 0.2, 0.3, 0.2)
"""First texts of a machine that stalls."""


@pytest.mark.parametrize(
    ("short", "long", "outcome", "settled"),
    [
        pytest.param(PROMPT, (BURST,) * 4, Outcome.FAIL, True, id="all at the end"),
        pytest.param(PROMPT, (HALVES,) * 4, Outcome.FAIL, True, id="in two bursts"),
        pytest.param(
            PROMPT,
            (BURST, TORN, BURST, (5.0, 7.0)),
            Outcome.FAIL,
            True,
            id="at the end, and read late",
        ),
        pytest.param(PROMPT[:9], (BURST,) * 3, Outcome.SKIP, False, id="three prove nothing"),
        pytest.param(BUSY, (BURST,) * 4, Outcome.SKIP, False, id="at the end, on a busy machine"),
        pytest.param(
            BUSY,
            ((0.3, 4.9, 5.0), (3.8, 5.0), (0.2, 5.0), (0.4, 5.0)),
            Outcome.PASS,
            True,
            id="streamed, read late",
        ),
        pytest.param(
            (1.2,) * 12, ((1.3, 9.0),) * 4, Outcome.PASS, True, id="every first text is late"
        ),
        pytest.param(PROMPT, ((0.4, 0.45),) * 4, Outcome.SKIP, True, id="too quick"),
        pytest.param(
            (9.0,) * 11 + (0.2,),
            (BURST,) * 4,
            Outcome.SKIP,
            False,
            id="short answers later than long ones",
        ),
    ],
)
def test_what_delays_a_long_answers_first_text_and_no_short_one_holds_text_back(
    short: tuple[float, ...],
    long: tuple[tuple[float, ...], ...],
    outcome: Outcome,
    *,
    settled: bool,
) -> None:
    facts = interview(
        streamed(seconds=(0.2, 0.21)), long=streamed(seconds=BURST), turns=in_turn(short, long)
    )
    result = checks.stream_incremental.judge(facts)
    assert (result.outcome, result.settled) == (outcome, settled)


@pytest.mark.parametrize(("short_s", "last_s"), [(0.2, 0.55), (4.9, 5.01), (90.0, 92.3)])
def test_a_long_answer_that_is_hardly_longer_than_a_short_one_needs_no_turns(
    short_s: float, last_s: float
) -> None:
    facts = interview(streamed(seconds=(short_s,)), long=streamed(seconds=(last_s - 0.01, last_s)))
    result = checks.stream_incremental.judge(facts)
    assert (result.outcome, result.settled) == (Outcome.SKIP, True)


@pytest.mark.parametrize(
    ("tokens", "events", "outcome"),
    [
        pytest.param(450, 450, Outcome.FAIL, id="slow enough for any proxy"),
        pytest.param(600, 600, Outcome.SKIP, id="a proxy may be slower"),
        pytest.param(450, 2500, Outcome.FAIL, id="a wrapper that sends each character"),
    ],
)
def test_what_is_held_back_of_quick_answers_may_be_a_slow_proxys(
    tokens: int, events: int, outcome: Outcome
) -> None:
    """An answer of 5 s: 100 tokens a second are 500."""
    usage = Usage(prompt_tokens=9, completion_tokens=tokens)
    turns = tuple(
        Turn(short=turn.short, long=streamed(seconds=BURST, deltas=events, usage=usage))
        for turn in in_turn(PROMPT, (BURST,) * 4)
    )
    result = checks.stream_incremental.judge(
        interview(streamed(), long=streamed(seconds=BURST), turns=turns)
    )
    assert (result.outcome, result.settled) == (outcome, True)

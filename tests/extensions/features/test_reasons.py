"""What is said where the answers settle nothing: the cause that holds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from healthcheck.core.check import NotApplicable
from healthcheck.core.records import Finding, Level
from healthcheck.extensions.features.checks.long_context import long_context
from healthcheck.extensions.features.checks.reasoning import reasoning
from healthcheck.extensions.features.records import (
    BEYOND,
    CODES,
    FIRST,
    PLAIN,
    SHORT,
    STREAMED,
    THINKING,
    Answer,
    FeaturesRun,
)

REFUSED, CUT = (
    Answer(status=400, said="too long"),
    Answer(text="", finish="length", tokens=1024, read=90),
)
RUN = FeaturesRun(model="m", vllm=True, asked={}, answers={}, trials=(), length=6000, tried=5800)


def judged(beyond: Answer) -> list[Finding]:
    found = {SHORT: Answer(text=CODES[SHORT]), FIRST: Answer(text=CODES[FIRST]), BEYOND: beyond}
    return list(long_context.run(replace(RUN, answers=found)))


@pytest.mark.parametrize(
    ("beyond", "level"),
    [
        (Answer(status=0, said="timed out"), Level.UNSETTLED),
        (Answer(status=502, said="bad gateway"), Level.UNSETTLED),
        (Answer(text="Hello"), Level.FAIL),
        (REFUSED, Level.NOTE),
    ],
    ids=str,
)
def test_an_unanswered_text_beyond_the_length_is_open(beyond: Answer, level: Level) -> None:
    assert judged(beyond)[0].level is level


@pytest.mark.parametrize(
    ("length", "answers", "words"),
    [
        (
            400,
            {SHORT: Answer(text=CODES[SHORT])},
            "the context has no room for a long text: 400 tokens",
        ),
        (6000, {SHORT: CUT, BEYOND: REFUSED}, "cut off after 1024 tokens: ''"),
    ],
)
def test_a_skip_says_what_is_true(length: int, answers: dict[str, Answer], words: str) -> None:
    with pytest.raises(NotApplicable, match=words):
        list(long_context.run(replace(RUN, length=length, tried=0, answers=answers)))


@pytest.mark.parametrize(("of_plain", "warnings"), [(50, 0), (52, 2)])
def test_a_stream_without_usage_is_no_other_count(of_plain: int, warnings: int) -> None:
    thought = Answer(text="42", reasoning="17 and 25", finish="stop", read=50)
    plain, streamed = replace(thought, read=of_plain), replace(thought, read=None)
    answers = {
        THINKING: thought,
        THINKING + STREAMED: streamed,
        PLAIN: plain,
        PLAIN + STREAMED: streamed,
    }
    found = list(reasoning.run(replace(RUN, answers=answers)))
    assert [each.level for each in found] == [Level.WARN] * warnings

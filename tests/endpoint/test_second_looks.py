"""What one answer does not show: the same stream alone, a prompt that grows, the engine's clock, the other images."""

from __future__ import annotations

import json

import pytest

from healthcheck.contract import Task
from healthcheck.core.records import Outcome
from healthcheck.extensions.simulator import Behaviour
from healthcheck.stages.endpoint import checks
from healthcheck.stages.endpoint.records import Clocked, Pairs, Sampling, Shown
from healthcheck.wire.chat import Usage
from healthcheck.wire.client import Exchange
from tests.endpoint.by_hand import interview, streamed
from tests.support.interviews import judged

TALE = "The old keeper climbed the stairs, lit the lamp and listened to the sea until the morning."
OTHER_TALE = (
    "A fox crossed the frozen river and found the village asleep under snow, far from any light."
)


REASONED = "We need to write a long story. Once upon a time there was a lamp."


@pytest.mark.parametrize("mark", ["analysis", "[THINK]", "<seed:think>"])
def test_a_plain_answer_with_the_marks_of_thoughts_is_the_streamed_one(mark: str) -> None:
    thought = streamed("", reasoning=REASONED, finish_reason="length", deltas=9)
    facts = interview(thought, streams=(thought,) * 4, plains=(plain(mark + REASONED),) * 4)
    assert checks.stream_equals_plain.judge(facts).outcome is Outcome.PASS


def plain(text: str) -> Exchange:
    return Exchange(
        status=200, body=json.dumps({"choices": [{"message": {"content": text}}]}).encode()
    )


TWICE = TALE.replace("lit ", "lit lit ")
SWAPPED = TALE.replace("lamp and", "and lamp")


@pytest.mark.parametrize(
    ("streams", "plains", "outcome"),
    [
        pytest.param((TALE, TWICE, SWAPPED), (TALE, TALE), Outcome.FAIL, id="changed in two ways"),
        pytest.param((TWICE, TWICE), (TALE, TALE), Outcome.FAIL, id="always changed in one way"),
        pytest.param((TALE.replace(" ", ""),) * 2, (TALE, TALE), Outcome.FAIL, id="no space"),
        pytest.param((TALE, TWICE, TALE), (TALE, TALE), Outcome.SKIP, id="once: a near tie"),
        pytest.param((TALE, OTHER_TALE), (TALE, TALE), Outcome.SKIP, id="another path"),
        pytest.param((TWICE, SWAPPED), (TALE, OTHER_TALE), Outcome.SKIP, id="the model varies"),
    ],
)
def test_a_stream_alone_that_comes_back_to_the_plain_answer_was_changed(
    streams: tuple[str, ...], plains: tuple[str, ...], outcome: Outcome
) -> None:
    lone = Pairs(streams=tuple(map(streamed, streams)), plains=tuple(map(plain, plains)))
    asked = {"streams": (streamed(TALE), streamed(OTHER_TALE)), "plains": (plain(TALE),) * 2}
    assert (
        checks.stream_equals_plain.judge(interview(streamed(TALE), lone=lone, **asked)).outcome
        is outcome
    )


@pytest.mark.parametrize(
    ("tokens", "outcome"),
    [((30, 30, 31), Outcome.SKIP), ((30, 90, 150), Outcome.FAIL), ((30,), Outcome.SKIP)],
)
def test_a_prompt_that_grows_has_the_text_of_others(
    tokens: tuple[int, ...], outcome: Outcome
) -> None:
    counted = tuple(
        streamed(usage=Usage(prompt_tokens=count, completion_tokens=10)) for count in tokens
    )
    facts = interview(counted[0], streams=counted[:1], sampling=Sampling(warm=counted[1:]))
    assert checks.isolation.judge(facts).outcome is outcome


@pytest.mark.parametrize(
    ("first_text_s", "outcome"),
    [
        pytest.param((0.1, 0.12, 0.2, 0.11), Outcome.PASS, id="with the engine's first token"),
        pytest.param((0.98, 0.95, 1.0, 1.3), Outcome.WARN, id="with its last"),
        pytest.param((0.1, 0.95, 1.0, 1.3), Outcome.SKIP, id="now and then"),
        pytest.param((0.98, 0.95, 1.0), Outcome.SKIP, id="too few"),
    ],
)
def test_the_engines_own_clock_tells_where_arrivals_prove_nothing(
    first_text_s: tuple[float, ...], outcome: Outcome
) -> None:
    answers = (streamed(seconds=(first_s, first_s + 0.1)) for first_s in first_text_s)
    clocked = tuple(Clocked(exchange=each, first_s=0.05, whole_s=1.0) for each in answers)
    quick = streamed(seconds=(0.2, 0.25))
    assert (
        checks.stream_incremental.judge(interview(quick, long=quick, clocked=clocked)).outcome
        is outcome
    )


@pytest.mark.process
def test_a_fast_server_that_reports_its_times_is_judged_by_them() -> None:
    result = judged(Behaviour(tokens_per_second=900, first_token_s=0.05))[
        "endpoint/stream-incremental"
    ]
    assert result.outcome is Outcome.PASS


@pytest.mark.parametrize(
    ("answers", "outcome"),
    [
        (("Red.", "Blue.", "Black and white squares.", "Green"), Outcome.PASS),
        (("A dog.", "A cat.", "A red dog.", "A fox."), Outcome.PASS),
        (("It is blue.", "It is red.", "Red", "Green"), Outcome.WARN),
        (("A black screen.", "A black square.", "Black and white.", "Black"), Outcome.PASS),
        (("红色和蓝色", "红色", "蓝色", "绿色"), Outcome.WARN),
    ],
)
def test_answers_about_other_images(answers: tuple[str, ...], outcome: Outcome) -> None:
    shown = Shown(streams=tuple(map(streamed, answers)), plain=(), without=streamed("?"))
    facts = interview(streamed(), task=Task.IMAGE_TEXT_TO_TEXT, shown=shown)
    assert checks.image.judge(facts).outcome is outcome

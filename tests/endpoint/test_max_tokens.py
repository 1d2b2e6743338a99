"""endpoint/max-tokens: what cut an answer, and what the server says of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from healthcheck.core.records import Outcome
from healthcheck.stages.endpoint import checks
from healthcheck.wire.chat import Usage
from healthcheck.wire.client import Exchange
from tests.endpoint.by_hand import PROSE, WORDS, interview, streamed


def test_truncation_by_the_servers_own_limit_and_by_the_end_of_the_context() -> None:
    asked = {"stream": True, "max_tokens": 520}
    cut = replace(streamed(WORDS, finish_reason="length"), sent=asked)
    full = replace(
        cut, completion=replace(cut.completion, usage=Usage(prompt_tokens=54, completion_tokens=10))
    )  # type: ignore[type-var]
    for long, outcome in ((cut, Outcome.FAIL), (full, Outcome.PASS)):
        facts = interview(streamed(), streams=(streamed(),), limited=streamed("one two"), long=long)
        assert checks.max_tokens.judge(facts).outcome is outcome


def cut_at(
    made: int, *, limit: int, prompt: int = 40, text: str = "15 + 2 = 17. The answer is 17."
) -> Exchange:
    usage = Usage(prompt_tokens=prompt, completion_tokens=made)
    return replace(
        streamed(text, finish_reason="length", usage=usage),
        sent={"stream": True, "max_tokens": limit},
    )


FULL = cut_at(264, limit=264, text="word " * 264)


@pytest.mark.parametrize(
    ("solved", "long", "outcome"),
    [
        (cut_at(15, limit=264), FULL, Outcome.FAIL),
        (cut_at(264, limit=264), FULL, Outcome.PASS),
        (cut_at(15, limit=264, text="数学 " * 80), FULL, Outcome.PASS),
        (cut_at(15, limit=264, prompt=497), cut_at(242, limit=264, prompt=270), Outcome.PASS),
        (
            replace(
                cut_at(15, limit=264),
                completion=streamed(finish_reason="length", usage=None).completion,
            ),
            FULL,
            Outcome.PASS,
        ),
    ],
    ids=[
        "ended by itself",
        "filled",
        "counted by words",
        "the end of the context",
        "not counted",
    ],
)
def test_an_answer_that_nothing_cut_does_not_say_length(
    solved: Exchange, long: Exchange, outcome: Outcome
) -> None:
    facts = interview(
        streamed(),
        streams=(streamed(),),
        limited=streamed("one two"),
        long=long,
        stories=(streamed(), solved),
    )
    result = checks.max_tokens.judge(facts)
    assert result.outcome is outcome
    assert all(
        "17." in finding.seen and "15 of max_tokens=264" in finding.seen
        for finding in result.findings
    )


def test_a_limit_of_the_servers_own_is_told_from_an_answer_that_nothing_cut() -> None:
    capped = cut_at(15, limit=264)
    facts = interview(
        streamed(),
        streams=(streamed(),),
        limited=streamed("one two"),
        long=capped,
        stories=(capped,),
    )
    assert "which seems to be 15" in checks.max_tokens.judge(facts).findings[0].fix


def test_thoughts_that_are_kept_back_and_not_counted_fill_max_tokens() -> None:
    thoughts = cut_at(0, limit=16, text="")
    facts = interview(
        streamed(),
        streams=(thoughts,),
        limited=thoughts,
        long=FULL,
        stories=(streamed(), cut_at(15, limit=264)),
    )
    assert checks.max_tokens.judge(facts).outcome is Outcome.PASS


def long_answer(text: str, tokens: int) -> Exchange:
    usage = Usage(prompt_tokens=9, completion_tokens=tokens)
    return replace(streamed(text, usage=usage), sent={"stream": True, "max_tokens": 264})


@pytest.mark.parametrize(
    ("lengths", "outcome"),
    [
        ((128, 128, 128), Outcome.FAIL),
        ((128, 128, 90), Outcome.PASS),
        ((264, 264, 264), Outcome.PASS),
    ],
)
def test_three_long_answers_of_one_length_were_cut(
    lengths: tuple[int, int, int], outcome: Outcome
) -> None:
    roomy, story, another = (long_answer(f"{PROSE} {n}", made) for n, made in enumerate(lengths))
    facts = interview(
        streamed(), streams=(streamed(),), limited=streamed(), long=roomy, roomy=roomy,
        stories=(story, streamed()), another=another,
    )  # fmt: skip
    assert checks.max_tokens.judge(facts).outcome is outcome

"""numerics/own-answers: what a server says of answers, read and judged."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from healthcheck.core.records import CheckResult
from healthcheck.extensions.numerics.checks import CHECKS
from healthcheck.extensions.numerics.own_answers import scored
from healthcheck.extensions.numerics.records import NumericsRun, NumericsSettings, Scored, Server

ANSWER = "17 + 25 = 42. The answer is 42."
TOKENS = (
    "<user>",
    "17 + 25",
    "<model>",
    "17",
    " +",
    " 25",
    " =",
    " 42",
    ".",
    " The",
    " answer",
    " is",
    " 42",
    ".",
    "<end>",
)


def told(tokens: Sequence[str], behind: dict[int, float]) -> bytes:
    """A response in vLLM's form, in which these places have a likelier token, "other"."""
    places: list[object] = [None]
    for number, token in enumerate(tokens):
        lag = behind.get(number, 0.0)
        own = {str(number): {"logprob": -0.1 - lag, "rank": 1 + (lag > 0), "decoded_token": token}}
        places.append(
            own | ({"999": {"logprob": -0.1, "rank": 1, "decoded_token": "other"}} if lag else {})
        )
    return json.dumps({"choices": [], "prompt_logprobs": places}).encode()


def test_the_token_that_is_furthest_behind_is_kept() -> None:
    found = scored(told(TOKENS, {6: 1.5, 7: 9.0}), ANSWER)
    assert found
    assert (found.behind, found.token, found.likeliest) == (pytest.approx(9.0), " 42", "other")


@pytest.mark.parametrize("place", [0, 1, 2, 3, 13, 14])
def test_the_problem_the_template_and_both_ends_are_not_judged(place: int) -> None:
    found = scored(told(TOKENS, {place: 20.0}), ANSWER)
    assert found
    assert found.behind == 0.0


def test_text_that_is_cut_into_other_tokens_is_not_judged() -> None:
    whole = told(TOKENS, {6: 9.0}).replace(b'"other"', b'" = 4"')
    found = scored(whole, ANSWER)
    assert found
    assert found.behind == 0.0


@pytest.mark.parametrize("value", ['"inf"', '"nan"', "1" + "0" * 400, "5.0", "1e999"])
def test_what_is_no_log_probability_is_refused(value: str) -> None:
    assert scored(told(TOKENS, {}).replace(b"-0.1", value.encode(), 1), ANSWER) is None


def test_an_answer_that_is_not_there_has_no_score() -> None:
    assert scored(told(TOKENS, {}), "17 + 25 = 43.") is None


@given(st.one_of(st.binary(max_size=200), st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(
        ["prompt_logprobs", "logprob", "decoded_token", "1", "2"]), inner, max_size=4), max_leaves=20,
).map(lambda value: json.dumps(value).encode())))  # fmt: skip
def test_any_response_is_read_or_refused(data: bytes) -> None:
    found = scored(data, ANSWER)
    assert found is None or found.answer == ANSWER


def judged(behind: Sequence[float]) -> CheckResult:
    answers = tuple(Scored(answer=ANSWER, behind=each, token="3", likeliest="2") for each in behind)
    run = NumericsRun(
        server=Server(model="m", logprobs=1, context=None),
        settings=NumericsSettings(url="http://127.0.0.1:1"),
        pairs=(),
        alone=(),
        own_answers=answers,
    )
    return next(check for check in CHECKS if check.id == "numerics/own-answers").judge(run)


@pytest.mark.parametrize(
    ("behind", "outcome"),
    [([], "skip"), ([1.9] * 20, "pass"), ([9.0, *[0.0] * 19], "warn"), ([9.0] * 3, "fail")],
)
def test_three_answers_with_an_unlikely_token_are_a_fault(
    behind: Sequence[float], outcome: str
) -> None:
    assert judged(behind).outcome.value == outcome


def test_the_worst_token_is_quoted_with_its_answer() -> None:
    seen = judged([3.0, 9.1, 0.0]).findings[0].seen
    assert "2 of 3 answers" in seen
    assert "'3' is 9.1 nats behind '2' in 17 + 25 = 42." in seen

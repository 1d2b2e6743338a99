"""Requests, and answers of completions and of chat, whole and as streams."""

from __future__ import annotations

import json

import pytest

from healthcheck.core.records import JsonValue
from healthcheck.extensions.numerics.dialect import Dialect, read
from healthcheck.extensions.numerics.records import Prompt

DIALECT = Dialect(model="m", logprobs=2)
OF_COMPLETIONS = {
    "tokens": ["a"],
    "token_logprobs": [-0.1],
    "top_logprobs": [{"a": -0.1, "b": -2.5}],
}
OF_CHAT = {"content": [{"token": "a", "logprob": -0.1, "top_logprobs": [
    {"token": "a", "logprob": -0.1}, {"token": "b", "logprob": -2.5}]}]}  # fmt: skip


def whole(**choice: JsonValue) -> bytes:
    return json.dumps({"choices": [{"index": 0, "finish_reason": "length", **choice}]}).encode()


def stream(*choices: dict[str, JsonValue]) -> bytes:
    events = [
        *(json.dumps({"choices": [each]}) for each in choices),
        json.dumps({"choices": [], "usage": {}}),
        "[DONE]",
    ]
    return "".join(f"data: {event}\n\n" for event in events).encode()


@pytest.mark.parametrize(
    "data",
    [
        whole(text="a", logprobs=OF_COMPLETIONS),
        whole(text="a", logprobs=OF_CHAT),  # as llama.cpp's server answers
        stream({"text": "a", "logprobs": OF_COMPLETIONS}, {"text": "", "finish_reason": "length"}),
        stream({"text": "a", "logprobs": OF_COMPLETIONS}, {"finish_reason": "length"}),
        whole(message={"content": "a"}, logprobs=OF_CHAT),
    ],
)
def test_the_same_is_read_in_every_form(data: bytes) -> None:
    (place,) = read(200, data)[0].positions
    assert (place.token, dict(place.top)) == ("a", {"a": -0.1, "b": -2.5})


@pytest.mark.parametrize(
    "said",
    [
        {"tokens": ["a"], "token_logprobs": [-0.1], "top_logprobs": None},
        {"content": [{"token": "a", "logprob": -0.1, "top_logprobs": []}]},
    ],
)
def test_a_server_may_give_the_chosen_token_alone(said: JsonValue) -> None:
    (place,) = read(200, whole(text="a", logprobs=said))[0].positions
    assert dict(place.top) == {"a": -0.1}


@pytest.mark.parametrize(
    "data",
    [
        whole(text="a", logprobs=None),
        whole(text="a"),
        whole(
            text="a", logprobs={"tokens": ["a"], "token_logprobs": [None], "top_logprobs": [None]}
        ),
        whole(
            text="a", logprobs={"tokens": ["a"], "token_logprobs": [3.5], "top_logprobs": [None]}
        ),
        whole(text="a", logprobs={"tokens": [], "top_logprobs": []}),
        whole(text="a", logprobs={**OF_COMPLETIONS, "top_logprobs": [{"a": -0.1, "b": "-inf"}]}),
        whole(text="a", logprobs={**OF_COMPLETIONS, "top_logprobs": [{"a": -0.1, "b": "-2.5"}]}),
        whole(
            text="a", logprobs={**OF_COMPLETIONS, "top_logprobs": [{"a": -0.1, "b": -(10**400)}]}
        ),
        whole(text="a", logprobs={**OF_COMPLETIONS, "top_logprobs": [{"a": True}]}),
        whole(text="a", logprobs=OF_COMPLETIONS).replace(b"-2.5", b"-1e999"),
        stream({"text": "a", "logprobs": None}),
        b"data: {",
        b"[]",
    ],
)
def test_an_answer_without_sound_log_probabilities_is_no_reading(data: bytes) -> None:
    assert read(200, data)[0].error


def test_the_choices_of_several_prompts_are_read_in_their_order() -> None:
    choices = [
        {"index": at, "text": "a", "logprobs": {**OF_COMPLETIONS, "tokens": [str(at)]}}
        for at in (1, 0)
    ]
    readings = read(200, json.dumps({"choices": choices}).encode())
    assert [reading.positions[0].token for reading in readings] == ["0", "1"]


def test_several_prompts_are_one_request() -> None:
    body = DIALECT.body([Prompt(ids=(1, 2)), Prompt(ids=(3,))], tokens=1, salt="s")
    assert body["prompt"] == [[1, 2], [3]]
    assert DIALECT.body([Prompt(ids=(1, 2))], tokens=1, salt="s")["prompt"] == [1, 2]

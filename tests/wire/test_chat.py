"""The reader takes what the evaluation client takes, breaks off at nothing, and says what that client would not survive."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from healthcheck.wire.chat import Completion, Reader, request_body, user

DELTA = '{"choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": null}]}'


def read(*parts: bytes | str) -> Completion:
    reader = Reader()
    for part in parts:
        reader.feed(part.encode() if isinstance(part, str) else part)
    return reader.close()


def test_the_body_is_the_evaluation_clients_to_the_byte() -> None:
    body = request_body([user("hi")], model="/weights", max_tokens=512, temperature=0.01)
    assert json.dumps(body) == (
        '{"stream": true, "messages": [{"content": "hi", "role": "user"}], '
        '"stream_options": {"include_usage": true}, "ignore_eos": false, "num_return_sequences": 5, '
        '"temperature": 0.01, "max_tokens": 512, "model": "/weights"}'
    )


READABLE = {
    "plain": f"data: {DELTA}\n\n",
    "no space": f"data:{DELTA}\n\n",
    "no prefix": f"{DELTA}\n\n",
    "carriage returns": f"data: {DELTA}\r\n\r\n",
    "only carriage returns": f"data: {DELTA}\r\r",
    "no blank line at the end": f"data: {DELTA}",
    "a comment before": f": ping\n\ndata: {DELTA}\n\n",
    "more blank lines": f"\n\n\n\ndata: {DELTA}\n\n\n\n",
    "spaces around": f"  data:   {DELTA}  \n\n",
    "json over several lines": "data: " + json.dumps(json.loads(DELTA), indent=1) + "\n\n",
    "NaN, as Python reads it": f'data: {DELTA[:-1]}, "x": NaN}}\n\n',
    "null content": 'data: {"choices": [{"delta": {"content": null, "role": "assistant"}}]}\n\n' + f"data: {DELTA}\n\n",
    "an empty choices object": 'data: {"choices": {}}\n\n' + f"data: {DELTA}\n\n",
    "usage alone": f'data: {DELTA}\n\ndata: {{"choices": [], "usage": {{"prompt_tokens": 1, "completion_tokens": 1}}}}\n\n',
    "anything after done": f"data: {DELTA}\n\ndata: [DONE]\n\ndata: garbage\n\n",
}  # fmt: skip
UNREADABLE = {
    "event line": f"event: message\ndata: {DELTA}\n\n",
    "id line": f"id: 1\ndata: {DELTA}\n\n",
    "retry line": "retry: 100\n\n",
    "two data lines": f"data: {DELTA}\ndata: {DELTA}\n\n",
    "single quotes": "data: {'choices': []}\n\n",
    "cut json": 'data: {"choices": [\n\n',
    "a list": "data: []\n\n",
    "null choices": 'data: {"choices": null}\n\n',
    "no delta": 'data: {"choices": [{"message": {"content": "a"}}]}\n\n',
    "null delta": 'data: {"choices": [{"delta": null}]}\n\n',
    "content that is a list": 'data: {"choices": [{"delta": {"content": ["a"]}}]}\n\n',
    "usage that is a number": 'data: {"choices": [], "usage": 5}\n\n',
    "not UTF-8": b"data: {\xff}\n\n",
    "a comment that is not UTF-8": b": \xff\n\n",
    "a byte order mark": b"\xef\xbb\xbfdata: {}\n\n",
    "a plain body": '{"choices": [{"message": {"content": "a"}}]}',
}  # fmt: skip


@pytest.mark.parametrize("name", READABLE)
def test_what_the_client_accepts_is_read(name: str) -> None:
    completion = read(READABLE[name])
    assert (completion.text, completion.faults, completion.swallowed) == ("a", (), ())


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_the_client_breaks_off_at_is_a_fault(name: str) -> None:
    assert read(UNREADABLE[name]).faults


def test_an_error_event_which_the_client_swallows_is_kept() -> None:
    completion = read('data: {"error": {"message": "out of memory"}}\n\n', "data: [DONE]\n\n")
    assert "out of memory" in completion.error
    assert completion.faults == ()


def test_data_behind_a_comment_is_swallowed_by_the_client() -> None:
    completion = read(f": ping\ndata: {DELTA}\n\n")
    assert completion.text == ""
    assert completion.swallowed


def test_the_texts_of_several_choices_are_joined_as_the_client_does() -> None:
    completion = read(
        'data: {"choices": [{"index": 0, "delta": {"content": "a"}}, {"index": 4, "delta": {"content": "b"}}]}\n\n'
    )
    assert (completion.text, completion.choices) == ("ab", 5)


def test_a_character_cut_between_two_deltas_is_counted() -> None:
    halves = [
        f'data: {{"choices": [{{"delta": {{"content": "{text}"}}}}]}}\n\n' for text in ("x�", "�y")
    ]
    assert read(*halves).torn == 1


def test_half_a_surrogate_pair_cannot_reach_a_file() -> None:
    completion = read('data: {"choices": [{"delta": {"content": "\\ud83d"}}]}\n\n')
    completion.text.encode()
    assert completion.swallowed


@pytest.mark.parametrize(("count", "counted"), [("7", True), ("9" * 400, False), ("true", False)])
def test_a_count_that_is_no_number_of_tokens_is_none(count: str, *, counted: bool) -> None:
    completion = read(
        f'data: {{"choices": [], "usage": {{"prompt_tokens": {count}, "completion_tokens": 1}}}}\n\n'
    )
    assert (completion.usage is not None) is counted
    assert completion.usage_sent is not None


def test_nothing_is_read_after_done() -> None:
    assert read("data: [DONE]\n\n", f"data: {DELTA}\n\n").text == ""


def test_an_endless_answer_is_bounded() -> None:
    reader = Reader(max_characters=100)
    for _ in range(1000):
        reader.feed(f"data: {DELTA}\n\n".encode())
    completion = reader.close()
    assert len(completion.text) == 100
    assert any("more than 100 characters" in fault for fault in completion.faults)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["choices", "delta", "content", "usage", "error", "index", "id", "finish_reason", "reasoning"]),
        inner, max_size=4),
    max_leaves=10,
)  # fmt: skip


@given(
    st.lists(JSON, max_size=4), st.binary(max_size=20), st.lists(st.integers(0, 400), max_size=5)
)
def test_no_json_and_no_bytes_make_it_raise_and_no_split_changes_it(
    events: list[object], junk: bytes, cuts: list[int]
) -> None:
    data = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events) + junk
    places = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    assert read(*[data[a:b] for a, b in itertools.pairwise(places)]) == read(data)


@pytest.mark.parametrize("depth", [100, 1000, 100_000])
def test_deep_nesting_is_a_fault_or_nothing_and_no_exception(depth: int) -> None:
    read("data: " + "[" * depth + "]" * depth + "\n\n")
    read('data: {"choices": [{"delta": ' + '{"a":' * depth + "1" + "}" * depth + "}]}\n\n")
    read('data: {"error": ' + "[" * depth + "]" * depth + "}\n\n")


def test_a_number_of_thousands_of_digits_is_no_exception() -> None:
    read('data: {"error": ' + "9" * 10_000 + "}\n\n", 'data: {"choices": ' + "9" * 10_000 + "}\n\n")


def test_the_mean_log_probability_is_that_of_all_tokens() -> None:
    reader = Reader()
    for logprobs in ([-0.5, -1.5], [-1.0]):
        content = [{"token": "x", "logprob": value} for value in logprobs]
        event = {
            "choices": [{"index": 0, "delta": {"content": "x"}, "logprobs": {"content": content}}]
        }
        reader.feed(b"data: " + json.dumps(event).encode() + b"\n\n")
    assert reader.close().mean_logprob == pytest.approx(-1.0)
    assert Reader().close().mean_logprob is None


@pytest.mark.parametrize(
    "logprobs", [5, [], {"content": 3}, {"content": [1, {"logprob": "x"}, {"logprob": 7}]}]
)
def test_strange_log_probabilities_are_no_log_probabilities(logprobs: object) -> None:
    reader = Reader()
    event = {"choices": [{"index": 0, "delta": {"content": "x"}, "logprobs": logprobs}]}
    reader.feed(b"data: " + json.dumps(event).encode() + b"\n\n")
    completion = reader.close()
    assert (completion.mean_logprob, completion.text) == (None, "x")


def test_text_is_joined_in_order() -> None:
    reader = Reader()
    for word in ("The", " answer", " is", " 18", "."):
        event = {
            "id": "x",
            "choices": [{"index": 0, "delta": {"content": word}, "finish_reason": None}],
        }
        reader.feed(f"data: {json.dumps(event)}\n\n".encode())
    reader.feed(
        b'data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'
    )
    completion = reader.close()
    assert completion.text == "The answer is 18."
    assert (completion.finish_reason, completion.done, completion.deltas) == ("stop", True, 5)
    assert completion.faults == ()

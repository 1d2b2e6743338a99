"""Responses as bytes: what is whole, what is broken, and that no split of the bytes changes it."""

from __future__ import annotations

import contextlib
import gzip
import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from healthcheck.wire.answer import MAX_BODY_BYTES, MAX_STREAM_BYTES, Answer, Reply
from healthcheck.wire.chat import Reader
from healthcheck.wire.response import TooLargeError
from tests.wire.talks import OK

EVENTS = [
    *(
        b"data: %s\n\n" % json.dumps({"choices": [{"delta": {"content": word}}]}).encode()
        for word in ("a", "b ", "我")
    ),
    b"data: [DONE]\n\n",
]
STREAM = b"".join(EVENTS)


def chunked(*parts: bytes) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (*parts, b""))


def sized(body: bytes) -> bytes:
    return b"content-length: %d\r\n\r\n%s" % (len(body), body)


def fed(answer: Answer, *parts: bytes) -> Answer:
    for part in parts:
        answer.feed(part)
    return answer


WHOLE = {
    "chunks": OK + b"transfer-encoding: chunked\r\n\r\n" + chunked(*EVENTS),
    "a length": OK + sized(STREAM),
    "spaces after the size of a chunk": OK + b"transfer-encoding: chunked\r\n\r\n"
    + chunked(STREAM).replace(b"\r\ndata", b" \r\ndata", 1),
    "bare newlines": b"HTTP/1.1 200 OK\ncontent-length: %d\n\n%s" % (len(STREAM), STREAM),
    "continue first": b"HTTP/1.1 100 Continue\r\nx: 1\r\n\r\n" + OK + sized(STREAM),
    "gzip": OK + b"content-encoding: gzip\r\n" + sized(gzip.compress(STREAM)),
    "trailers": OK + b"transfer-encoding: chunked\r\n\r\n" + chunked(STREAM)[:-2] + b"x-after: 1\r\n\r\n",
}  # fmt: skip
UNTIL_CLOSED = {
    "close": OK + b"connection: close\r\n\r\n" + STREAM,
    "HTTP/1.0": b"HTTP/1.0 200 OK\r\n\r\n" + STREAM,
}


@pytest.mark.parametrize("data", WHOLE.values(), ids=WHOLE)
def test_a_whole_stream_is_folded_and_the_connection_stays(data: bytes) -> None:
    answer = fed(Answer(Reader()), data)
    assert answer.ended
    assert answer.reusable
    completion = answer.reply().completion
    assert completion
    assert (completion.text, completion.done, completion.faults) == ("ab 我", True, ())


@pytest.mark.parametrize("data", UNTIL_CLOSED.values(), ids=UNTIL_CLOSED)
def test_a_stream_may_end_with_its_connection(data: bytes) -> None:
    answer = fed(Answer(Reader()), data)
    assert not answer.ended
    assert answer.done, "its text is whole before"
    answer.close()
    assert answer.ended
    assert not answer.reusable
    assert answer.reply().completion == fed(Answer(Reader()), WHOLE["chunks"]).reply().completion


@given(
    st.sampled_from(
        [
            *WHOLE.values(),
            *UNTIL_CLOSED.values(),
            b"HTTP/1.1 503 Busy\r\nretry-after: 3\r\n" + sized(b"x"),
        ]
    ),
    st.lists(st.integers(0, 600), max_size=30),
)
def test_no_split_changes_the_reply(data: bytes, cuts: list[int]) -> None:
    at = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    pieces = [data[start:end] for start, end in itertools.pairwise(at) if start < end]
    whole, split = fed(Answer(Reader()), data), fed(Answer(Reader()), *pieces)
    for answer in (whole, split):
        if not answer.ended:
            answer.close()
    assert split.reply() == whole.reply()
    assert (split.reusable, split.done) == (whole.reusable, whole.done)


@given(
    st.binary(max_size=400),
    st.sampled_from([b"", OK, OK + b"transfer-encoding: chunked\r\n\r\n", OK + b"\r\n"]),
)
def test_no_bytes_make_it_raise_anything_else(data: bytes, head: bytes) -> None:
    answer = Answer(Reader())
    with contextlib.suppress(ConnectionError):
        answer.feed(head + data)
        if not answer.ended:
            answer.close()
        assert answer.reply().status >= 200


def test_a_refusal_keeps_its_words() -> None:
    answer = fed(
        Answer(Reader()),
        b"HTTP/1.1 429 Too Many\r\nRetry-After: 7\r\n" + sized(b'{"error": "later"}'),
    )
    assert answer.reply() == Reply(
        status=429,
        reason="Too Many",
        headers={"retry-after": "7", "content-length": "18"},
        body=b'{"error": "later"}',
    )


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "before it answered"),
        (b"HTTP/1.1 200", "before it answered"),
        (OK + b"content-length: 50\r\n\r\nshort", "in the middle"),
        (OK + b"transfer-encoding: chunked\r\n\r\n5\r\nab", "in the middle"),
        (OK + b"transfer-encoding: chunked\r\n\r\nzz\r\nab", "no HTTP/1.1 response"),
        (b"SSH-2.0-OpenSSH\r\n", "no HTTP/1.1 response"),
        (
            b"HTTP/1.1 101 Switching\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n",
            "another protocol",
        ),
        (OK + b"content-encoding: br\r\n" + sized(b"xx"), "was not offered"),
        (OK + b"content-encoding: gzip\r\n" + sized(b"plain"), "cannot be opened"),
    ],
)
def test_what_is_broken_is_named(data: bytes, words: str) -> None:
    answer = Answer(Reader())
    with pytest.raises(ConnectionError, match=words):
        fed(answer, data).close()


def test_a_second_response_is_dropped_and_the_connection_not_used_again() -> None:
    answer = fed(Answer(), OK + sized(b"first") + OK + sized(b"second"))
    assert answer.reply().body == b"first"
    assert not answer.reusable


@pytest.mark.parametrize(
    "head", [b"HTTP/1.1 200 " + b"x" * 2**20, OK + b"a: b\r\n" * 2**15, OK + b"a: " + b"b" * 2**20]
)
def test_a_head_without_end_is_given_up(head: bytes) -> None:
    with pytest.raises(TooLargeError, match=r"without one of the body|more than 128 headers"):
        fed(Answer(), *[head[start : start + 2**14] for start in range(0, len(head), 2**14)])


def test_a_stream_without_end_is_given_up() -> None:
    comments = b": " + b"x" * 2**20 + b"\n\n"
    with pytest.raises(TooLargeError, match="bytes in one answer"):
        fed(Answer(Reader()), OK + b"\r\n", *[comments] * (MAX_STREAM_BYTES // len(comments) + 1))


def test_a_bomb_is_opened_up_to_the_bound_only() -> None:
    bomb = gzip.compress(b": " + b"\0" * (2 * MAX_STREAM_BYTES))
    with pytest.raises(TooLargeError, match="bytes in one answer"):
        fed(Answer(Reader()), OK + b"content-encoding: gzip\r\n" + sized(bomb))
    short = fed(Answer(), OK + b"content-encoding: gzip\r\n" + sized(bomb))
    assert len(short.reply().body) == MAX_BODY_BYTES

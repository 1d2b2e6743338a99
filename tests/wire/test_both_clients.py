"""The client of one exchange and the one of many: what they send is the same, and what they make of a response."""

from __future__ import annotations

import asyncio
import json
import socket
from contextlib import aclosing

import pytest

from healthcheck.wire.answer import Reply, TooLargeError
from healthcheck.wire.chat import request_body, user
from healthcheck.wire.client import Client, Limits
from healthcheck.wire.many import Connections, Waits
from tests.wire.talks import OK, says, server

BODY = request_body([user("hello 你好")], model="m", max_tokens=40, temperature=0)
EVENT = b'data: {"choices": [{"delta": {"content": "a"}}]}\n\n'
STREAM = EVENT + b"data: [DONE]\n\n"
CHUNK = b"%x\r\n%s\r\n0\r\n\r\n" % (len(STREAM), STREAM)
CHUNKED = OK + b"transfer-encoding: chunked\r\n"


def of_one(url: str) -> Reply | None:
    exchange = Client(url, Limits(total_s=20)).chat(BODY)
    return None if exchange.error else exchange


def of_many(url: str) -> Reply | None:
    async def talk() -> Reply | None:
        async with aclosing(
            Connections(url, Waits(connect_s=10, silence_s=10, answer_s=20))
        ) as connections:
            try:
                return (
                    await connections.stream("/v1/chat/completions", json.dumps(BODY).encode())
                ).reply
            except (OSError, TooLargeError):
                return None

    return asyncio.run(talk())


RESPONSES = {
    "plain": OK + b"\r\n" + STREAM,
    "counted": OK + b"content-length: %d\r\n\r\n" % len(STREAM) + STREAM,
    "chunked": CHUNKED + b"\r\n" + CHUNK,
    "chunk extension": CHUNKED + b"\r\n" + CHUNK.replace(b"\r\n", b";x=1\r\n", 1),
    "space behind a chunk's size": CHUNKED + b"\r\n" + CHUNK.replace(b"\r\n", b" \r\n", 1),
    "trailer": CHUNKED + b"\r\n" + CHUNK[:-2] + b"x-sum: 1\r\n\r\n",
    "no end of chunks": CHUNKED + b"\r\n" + CHUNK[:-5],
    "bad size": CHUNKED + b"\r\nzz\r\n" + STREAM,
    "short": OK + b"content-length: 9999\r\n\r\n" + EVENT,
    "line feeds alone": (OK + b"content-type: text/event-stream\r\n\r\n").replace(b"\r", b"")
    + STREAM,
    "no words behind the status": b"HTTP/1.1 200\r\n\r\n" + STREAM,
    "old version": b"HTTP/1.0 200 OK\r\n\r\n" + STREAM,
    "two lengths": OK + b"content-length: 5\r\ncontent-length: 6\r\n\r\n" + STREAM,
    "length and chunks": CHUNKED + b"content-length: 5\r\n\r\n" + CHUNK,
    "space before a colon": OK + b"x-a : b\r\n\r\n" + STREAM,
    "folded header": OK + b"x-a: b\r\n  c\r\n\r\n" + STREAM,
    "header without a colon": OK + b"nonsense\r\n\r\n" + STREAM,
    "Latin header": OK + "x-a: é\r\n\r\n".encode("latin-1") + STREAM,
    "continue first": b"HTTP/1.1 100 Continue\r\n\r\n" + OK + b"\r\n" + STREAM,
    "early hints first": b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n" + OK + b"\r\n" + STREAM,
    "refusal": b"HTTP/1.1 400 Bad Request\r\ncontent-length: 4\r\n\r\nno  ",
    "refusal without length": b"HTTP/1.1 503 Later\r\nretry-after: 3\r\n\r\nbusy",
    "redirect": b"HTTP/1.1 307 Elsewhere\r\nlocation: /x\r\ncontent-length: 0\r\n\r\n",
    "no content": b"HTTP/1.1 204 No Content\r\n\r\n",
    "status of another kind": b"HTTP/1.1 299 Odd\r\n\r\nbody",
    "very many headers": OK + b"a: b\r\n" * 200 + b"\r\n" + STREAM,
    "a long header": OK + b"x: " + b"a" * 9000 + b"\r\n\r\n" + STREAM,
    "nothing": b"",
    "no HTTP": b"garbage\r\n\r\n",
    "unknown encoding": OK + b"content-encoding: br\r\n\r\n" + STREAM,
    "not compressed": OK + b"content-encoding: gzip\r\n\r\n" + STREAM,
}


@pytest.mark.process
@pytest.mark.parametrize("name", RESPONSES)
def test_both_read_the_same(name: str) -> None:
    with server(says(RESPONSES[name])) as url:
        one = of_one(url)
    with server(says(RESPONSES[name])) as url:
        many = of_many(url)
    assert told(one) == told(many)


REFUSED_BY_AIOHTTP = {
    "length and chunks", "space before a colon", "header without a colon", "two lengths", "very many headers",
    "a long header", "bad size", "short", "nothing", "no HTTP",
}  # fmt: skip
"""Tried with aiohttp 3.14.5, as the evaluation client uses it."""


@pytest.mark.process
@pytest.mark.parametrize("name", sorted(REFUSED_BY_AIOHTTP))
def test_what_the_evaluation_client_refuses_is_refused(name: str) -> None:
    with server(says(RESPONSES[name])) as url:
        assert of_one(url) is None


def told(reply: Reply | None) -> tuple[object, ...]:
    if reply is None:
        return ()
    completion = reply.completion
    said = (
        (completion.reasoning, completion.text, completion.faults, completion.done)
        if completion
        else reply.body
    )
    return (reply.status, reply.reason, dict(reply.headers), said)


@pytest.mark.process
def test_both_send_the_same() -> None:
    heard: list[bytes] = []

    def hears(connection: socket.socket) -> None:
        heard.append(connection.recv(2**16))
        connection.sendall(OK + b"\r\n" + STREAM)

    for ask in (of_one, of_many):
        with server(hears, reads=False) as url:
            assert ask(url)
    heads = [data.partition(b"\r\n\r\n")[0].lower().split(b"\r\n") for data in heard]
    one, many = ({line for line in head if not line.startswith(b"host:")} for head in heads)
    assert one == many
    assert b"accept-encoding: gzip, deflate" in one


@pytest.mark.parametrize(
    "address", ["http://me:secret@127.0.0.1:1", "ftp://127.0.0.1", "http://", "http://[bad"]
)
def test_both_refuse_what_is_not_the_address_of_a_server(address: str) -> None:
    with pytest.raises(ValueError, match=r".") as refused:
        Client(address)
    assert "secret" not in str(refused.value)
    with pytest.raises(ValueError, match=r"."):
        Connections(address, Waits(connect_s=1, silence_s=1, answer_s=1))

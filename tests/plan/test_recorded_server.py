"""What a recorded server says to the script that started it: all is well, but for a model that it does not have."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise

import pytest

from healthcheck.sandbox.answers import Served, listen

LIMIT_S = 20.0
PAUSE_S = 0.05
"""Between two parts of a request, so that they are mostly read one by one."""
CHAT = b"POST /v1/chat/completions HTTP/1.1\r\n"


def posted(body: bytes, head: bytes = CHAT, name: bytes = b"Content-Length") -> bytes:
    return b"%sHost: localhost\r\n%s: %d\r\n\r\n%s" % (head, name, len(body), body)


def chat(model: object) -> bytes:
    return posted(json.dumps({"model": model, "messages": []}).encode())


@pytest.fixture
def asked() -> list[str]:
    """The models that were asked for in vain, "" for whoever asked something."""
    return []


def serving(asked: list[str], *, strict: bool) -> tuple[str, int]:
    port = listen(
        Served(ports=frozenset({8000}), names=("/w", "second"), strict=strict),
        ("127.0.0.1", 0),
        asked.append,
    )
    assert port
    return "127.0.0.1", port


@pytest.fixture
def place(asked: list[str]) -> tuple[str, int]:
    return serving(asked, strict=True)


def answer(place: tuple[str, int], *parts: bytes) -> tuple[int, dict]:
    """The status and the body of the answer to a request that is sent in these parts."""
    with closing(socket.create_connection(place, LIMIT_S)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for number, part in enumerate(parts):
            time.sleep(PAUSE_S if number else 0)
            connection.sendall(part)
        data = b"".join(_read(connection))
    head, _, body = data.partition(b"\r\n\r\n")
    first, *fields = head.split(b"\r\n")
    headers = dict(field.split(b": ", 1) for field in fields)
    assert headers[b"Content-Type"] == b"application/json"
    assert (int(headers[b"Content-Length"]), headers[b"Connection"]) == (len(body), b"close")
    protocol, status, _ = first.split(b" ", 2)
    assert protocol == b"HTTP/1.1"
    return int(status), json.loads(body)


def _read(connection: socket.socket) -> Iterator[bytes]:
    while part := connection.recv(65536):
        yield part


@pytest.mark.process
@pytest.mark.parametrize("path", [b"/health", b"/v1/models", b"/"])
def test_it_is_well_and_lists_its_models(
    path: bytes, place: tuple[str, int], asked: list[str]
) -> None:
    status, said = answer(place, b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % path)
    assert (status, said["status"], said["object"]) == (200, "ok", "list")
    models = [{"id": name, "object": "model", "root": name} for name in ("/w", "second")]
    assert said["data"] == models
    assert set(asked) == {""}


@pytest.mark.process
@pytest.mark.parametrize("model", ["/w", "second"])
def test_it_answers_for_its_models(model: str, place: tuple[str, int], asked: list[str]) -> None:
    status, said = answer(place, chat(model))
    assert status == 200
    assert said["choices"] == [
        {"index": 0, "message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}
    ]
    assert set(asked) == {""}


@pytest.mark.process
def test_another_model_does_not_exist(place: tuple[str, int], asked: list[str]) -> None:
    status, said = answer(place, chat("warm-up"))
    assert (status, said["error"]["code"], said["error"]["type"]) == (404, 404, "NotFoundError")
    assert "`warm-up`" in said["error"]["message"]
    assert asked[-1] == "warm-up"


@pytest.mark.process
def test_a_server_whose_names_are_unknown_takes_any(asked: list[str]) -> None:
    status, said = answer(serving(asked, strict=False), chat("warm-up"))
    assert (status, "choices" in said, set(asked)) == (200, True, {""})


@pytest.mark.process
@pytest.mark.parametrize(
    "request_",
    [
        posted(b""),
        posted(b'{"messages": []}'),
        posted(b'["model"]'),
        posted(b'{"model": '),
        posted(b"[" * 100_000),
        posted(b"\xff"),
        chat(None),
        chat(["warm-up"]),
        posted(b'{"model": "warm-up"}', b"POST /tokenize HTTP/1.1\r\n"),
        posted(b'{"model": "warm-up"}', b"GET /v1/models HTTP/1.1\r\n"),
        posted(b'{"model": "warm-up"}', b"POST / HTTP/1.1\r\nReferer: /v1/chat\r\n"),
    ],
)
def test_what_names_no_model_is_answered(
    request_: bytes, place: tuple[str, int], asked: list[str]
) -> None:
    assert answer(place, request_)[0] == 200
    assert set(asked) == {""}


@pytest.mark.process
@pytest.mark.parametrize("name", [b"content-length", b"CONTENT-LENGTH", b"Content-Length"])
@pytest.mark.parametrize("cuts", [(10,), (60, 80), (-1,), ()])
def test_a_request_is_read_whole_however_it_arrives(
    name: bytes, cuts: tuple[int, ...], place: tuple[str, int]
) -> None:
    body = b'{"messages": ["%s"],\r\n\r\n"model": "warm-up"}' % (b"x" * 200_000)
    whole = posted(body, name=name)
    edges = [0, *(cut % len(whole) for cut in cuts), len(whole)]
    parts = (whole[start:end] for start, end in pairwise(edges))
    assert answer(place, *parts)[0] == 404


@pytest.mark.process
def test_who_says_nothing_keeps_nobody_waiting(place: tuple[str, int], asked: list[str]) -> None:
    with (
        closing(socket.create_connection(place, LIMIT_S)),
        closing(socket.create_connection(place, LIMIT_S)) as gone,
    ):
        gone.sendall(b"POST /v1/")
        gone.close()
        assert [answer(place, chat(model))[0] for model in ("/w", "third")] == [200, 404]
    assert "third" in asked


@pytest.mark.process
def test_a_place_that_is_taken_is_no_port(place: tuple[str, int], asked: list[str]) -> None:
    server = Served(ports=frozenset(), names=(), strict=False)
    assert listen(server, place, asked.append) == 0

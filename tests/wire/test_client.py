"""Exchanges over real sockets: deadlines hold, bodies are bounded, nothing is followed and nothing is repaired."""

from __future__ import annotations

import gzip
import os
import signal
import socket
import subprocess
import sys
import time
import zlib
from concurrent.futures import Future
from typing import TypeVar

import pytest

from healthcheck.extensions.simulator import DIALECTS, Behaviour, Simulator
from healthcheck.wire.chat import request_body, user
from healthcheck.wire.client import Client, Limits, is_loopback, proxies_for
from tests.wire.talks import OK, Talk, listens, says, server

BODY = request_body([user("hello 你好")], model="m", max_tokens=40, temperature=0)
T = TypeVar("T")


@pytest.mark.process
@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_reads_the_same(dialect: str) -> None:
    with (
        Simulator(Behaviour(model="m")) as plain,
        Simulator(Behaviour(model="m", dialect=dialect)) as other,
    ):
        body = BODY | {"temperature": 0.01}  # one of them refuses 0
        expected, exchange = Client(plain.url).chat(body), Client(other.url).chat(body)
    assert expected.completion
    assert exchange.completion
    assert exchange.completion.text == expected.completion.text != ""
    assert exchange.completion.finish_reason == "stop"
    assert (exchange.error, exchange.completion.faults, exchange.completion.swallowed) == (
        "",
        (),
        (),
    )


def trickle(data: bytes) -> Talk:
    return says(*(bytes([byte]) for byte in data), pause_s=0.05)


@pytest.mark.process
@pytest.mark.parametrize(
    "data",
    [OK + b"x-slow: " + b"a" * 200, OK + b"\r\n" + b"x" * 200],
    ids=["in the headers", "in the body"],
)
def test_the_total_deadline_holds_while_bytes_trickle(data: bytes) -> None:
    with server(trickle(data)) as url:
        exchange = Client(url, Limits(total_s=0.6)).chat(BODY)
    assert exchange.error == "not finished after 0.6 s"


@pytest.mark.process
def test_the_deadline_to_the_first_event_holds_while_comments_come() -> None:
    with server(says(OK + b"\r\n", *[b": wait\n\n"] * 50, pause_s=0.05)) as url:
        exchange = Client(url, Limits(first_event_s=0.4)).chat(BODY)
    assert exchange.error == "no event within 0.4 s"


@pytest.mark.process
def test_the_deadline_between_events_holds() -> None:
    with Simulator(Behaviour(model="m", faults=("stalls",))) as simulator:
        exchange = Client(simulator.url, Limits(between_events_s=0.4)).chat(BODY)
    assert exchange.error == "no further event within 0.4 s"
    assert exchange.completion
    assert exchange.completion.deltas > 0


@pytest.mark.process
def test_a_server_that_never_answers_meets_the_deadline() -> None:
    with server(listens) as url:
        exchange = Client(url, Limits(first_event_s=0.3)).chat(BODY)
    assert (exchange.status, exchange.error) == (0, "no event within 0.3 s")


@pytest.mark.process
def test_time_in_which_this_process_got_no_processor_does_not_count() -> None:
    """An answer comes to a process that was stopped for longer than it would wait."""
    asks = (
        "import sys; from healthcheck.wire.client import Client, Limits\n"
        "exchange = Client(sys.argv[1], Limits(total_s=2)).models()\n"
        "print(exchange.status, exchange.error)"
    )
    known: Future[int] = Future()

    def stops_the_client(connection: socket.socket) -> None:
        os.kill(known.result(), signal.SIGSTOP)
        time.sleep(3)
        os.kill(known.result(), signal.SIGCONT)
        time.sleep(0.1)
        connection.sendall(OK + b"content-length: 2\r\n\r\nok")

    with server(stops_the_client) as url:
        child = subprocess.Popen(
            [sys.executable, "-c", asks, url], stdout=subprocess.PIPE, text=True
        )
        known.set_result(child.pid)
        said, _ = child.communicate(timeout=60)
    assert said == "200 \n"


@pytest.mark.process
@pytest.mark.parametrize("encoding", ["gzip", "deflate", "bare deflate"])
def test_a_compressed_bomb_is_opened_up_to_the_bound_only(encoding: str) -> None:
    wbits = {"gzip": 31, "deflate": 15, "bare deflate": -15}[encoding]
    packer = zlib.compressobj(wbits=wbits)
    bomb = b"".join(packer.compress(b"\0" * 2**20) for _ in range(200)) + packer.flush()
    head = OK + f"content-encoding: {encoding.rsplit(maxsplit=1)[-1]}\r\n\r\n".encode()
    with server(says(head, bomb)) as url:
        exchange = Client(url, Limits(max_bytes=2**16)).models()
    assert len(exchange.body) == 2**16
    assert exchange.error == "more than 65536 bytes in one answer"


@pytest.mark.process
def test_a_compressed_stream_is_read() -> None:
    data = gzip.compress(b'data: {"choices": [{"delta": {"content": "a"}}]}\n\n') + gzip.compress(
        b"data: [DONE]\n\n"
    )
    with server(says(OK + b"content-encoding: gzip\r\n\r\n", data[:30], data[30:])) as url:
        exchange = Client(url).chat(BODY)
    assert exchange.completion
    assert (exchange.completion.text, exchange.completion.done, exchange.error) == ("a", True, "")


@pytest.mark.process
@pytest.mark.parametrize(
    ("head", "words"),
    [
        (b"content-encoding: br\r\n\r\nxx", "was not offered"),
        (b"content-encoding: gzip\r\n\r\nplain", "cannot be opened"),
        (b"content-length: 50\r\n\r\nshort", "in the middle of its answer"),
        (b"transfer-encoding: chunked\r\n\r\n5\r\nab", "in the middle of its answer"),
        (
            b"transfer-encoding: chunked\r\n\r\nzz\r\nab",
            "no HTTP/1.1 response: Invalid character in chunk size",
        ),
    ],
)
def test_a_broken_body_is_an_error_in_words(head: bytes, words: str) -> None:
    with server(says(OK + head)) as url:
        exchange = Client(url).chat(BODY)
    assert exchange.status == 200
    assert words in exchange.error


@pytest.mark.process
@pytest.mark.parametrize(
    "answer", [b"", b"garbage\r\n\r\n", OK + b"a: b\r\n" * 200 + b"\r\n", b"\0" * 1000]
)
def test_what_is_no_http_is_an_error_in_words(answer: bytes) -> None:
    with server(says(answer)) as url:
        exchange = Client(url).chat(BODY)
    assert exchange.status == 0
    assert exchange.error


@pytest.mark.process
def test_nothing_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    exchange = Client(f"http://127.0.0.1:{port}").models()
    assert exchange.status == 0
    assert "refused" in exchange.error


@pytest.mark.process
@pytest.mark.parametrize("address", [b"http://[bad", b"/\xff\xfe"])
def test_a_redirect_to_no_address_is_reported(address: bytes) -> None:
    redirect = b"HTTP/1.1 307 Elsewhere\r\ncontent-length: 0\r\nlocation: " + address + b"\r\n\r\n"
    with server(says(redirect)) as url:
        exchange = Client(url).chat(BODY)
    assert exchange.status == 307
    assert exchange.headers["location"] == address.decode("latin-1")


@pytest.mark.process
def test_a_redirect_is_reported_and_not_followed() -> None:
    with Simulator(Behaviour(model="m", faults=("redirect",))) as simulator:
        exchange = Client(simulator.url).chat(BODY)
    assert exchange.status == 307
    assert exchange.headers["location"]


@pytest.mark.process
def test_events_are_bounded() -> None:
    with Simulator(Behaviour(model="m", dialect="split")) as simulator:
        exchange = Client(simulator.url, Limits(max_events=5)).chat(BODY)
    assert exchange.error == "more than 5 events in one answer"


@pytest.mark.process
def test_a_stream_is_left_after_its_first_text() -> None:
    with Simulator(Behaviour(model="m", tokens_per_second=50)) as simulator:
        exchange = Client(simulator.url).abandon(BODY)
    assert exchange.abandoned
    assert exchange.completion
    assert exchange.completion.deltas == 1


@pytest.mark.process
def test_a_proxy_is_not_used_on_this_host(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [*os.environ]:
        if name.lower() in {"no_proxy", "all_proxy"}:
            monkeypatch.delenv(name)
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert proxies_for("http://127.0.0.1:8000") == {}
    assert proxies_for("http://server.example:8000")["http"] == "http://127.0.0.1:9"
    with Simulator(Behaviour(model="m")) as simulator:
        assert Client(simulator.url).models().status == 200


@pytest.mark.process
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_that_says_nothing_meets_the_deadlines(
    scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [*os.environ]:
        if name.lower() in {"no_proxy", "all_proxy"}:
            monkeypatch.delenv(name)
    with server(listens) as url:
        monkeypatch.setenv(f"{scheme}_proxy", url)
        exchange = Client(f"{scheme}://server.example", Limits(connect_s=0.5, total_s=0.5)).models()
    assert exchange.status == 0
    assert "no event within 0.5 s" in exchange.error or "timed out" in exchange.error


@pytest.mark.parametrize(
    "host", ["localhost", "127.0.0.1", "127.1.2.3", "::1", "0.0.0.0", "a.localhost"]
)
def test_names_of_this_host(host: str) -> None:
    assert is_loopback(host)
    assert not is_loopback("192.0.2.1")

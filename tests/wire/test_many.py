"""Many exchanges over real sockets: deadlines hold, connections are used again where that is safe."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import aclosing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TypeVar

import pytest

from healthcheck.extensions.simulator import DIALECTS, Behaviour, Simulator
from healthcheck.wire.chat import Completion, request_body, user
from healthcheck.wire.client import Client
from healthcheck.wire.many import Connections, Timed, Waits
from tests.wire.talks import OK, listens, says, server

BODY = request_body([user("hello 你好")], model="m", max_tokens=40, temperature=0)
DATA = json.dumps(BODY).encode()
CHAT = "/v1/chat/completions"
WAITS = Waits(connect_s=10, silence_s=20, answer_s=60)
T = TypeVar("T")


def with_connections(
    url: str, talk: Callable[[Connections], Awaitable[T]], waits: Waits = WAITS
) -> T:
    async def run() -> T:
        async with aclosing(Connections(url, waits)) as connections:
            return await talk(connections)

    return asyncio.run(run())


def streamed(url: str, waits: Waits = WAITS) -> Timed:
    return with_connections(url, lambda server: server.stream(CHAT, DATA), waits)


@pytest.mark.process
@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_reads_as_the_other_client_reads_it(dialect: str) -> None:
    with Simulator(Behaviour(model="m", dialect=dialect)) as simulator:
        timed, exchange = streamed(simulator.url), Client(simulator.url).chat(BODY)
    assert timed.reply.status == exchange.status
    assert _told(timed.reply.completion) == _told(exchange.completion)
    assert 0 < timed.first_s <= timed.seconds


def _told(completion: Completion | None) -> tuple[str, str, tuple[str, ...]]:
    return (
        (completion.reasoning, completion.text, completion.faults) if completion else ("", "", ())
    )


@pytest.mark.process
def test_requests_in_a_row_share_a_connection_and_those_at_a_time_do_not() -> None:
    async def talk(connections: Connections) -> None:
        for _ in range(3):
            await connections.get("/v1/models")
        await asyncio.gather(*[connections.get("/v1/models") for _ in range(4)])

    counting = ThreadedServer()
    with counting.running() as url:
        with_connections(url, talk)
    assert 4 <= counting.accepted < 7, "a machine that stands still for seconds costs a connection"


@pytest.mark.process
@pytest.mark.parametrize("turns", range(12))
def test_a_request_can_be_cancelled_at_any_moment(turns: int) -> None:
    async def talk(connections: Connections) -> bool:
        asking = asyncio.create_task(connections.stream(CHAT, DATA))
        for _ in range(turns):
            await asyncio.sleep(0)
        asking.cancel()
        await asyncio.wait({asking})
        return asking.cancelled()

    with Simulator(Behaviour(model="m", tokens_per_second=5)) as simulator:
        assert with_connections(simulator.url, talk)


@pytest.mark.process
def test_silence_ends_an_answer() -> None:
    with server(listens) as url, pytest.raises(TimeoutError, match=r"nothing came for 0\.3 s"):
        streamed(url, Waits(connect_s=30, silence_s=0.3, answer_s=60))


@pytest.mark.process
def test_an_answer_that_trickles_ends_too() -> None:
    head = OK + b"\r\n"
    with (
        server(says(head, *[b": wait\n\n"] * 400, pause_s=0.05)) as url,
        pytest.raises(TimeoutError, match="no end after 1 s"),
    ):
        streamed(url, Waits(connect_s=30, silence_s=30, answer_s=1))


@pytest.mark.process
def test_nothing_is_waited_for_after_done() -> None:
    """The evaluation client reads no further: a server that never ends its response is not a fault."""
    event = b'data: {"choices": [{"delta": {"content": "a"}}]}\n\ndata: [DONE]\n\n'

    def never_ends(connection: socket.socket) -> None:
        connection.sendall(
            OK + b"transfer-encoding: chunked\r\n\r\n%x\r\n%s\r\n" % (len(event), event)
        )
        listens(connection)

    with server(never_ends) as url:
        completion = streamed(url).reply.completion
    assert completion
    assert (completion.text, completion.done) == ("a", True)


@pytest.mark.process
def test_signs_of_life_after_done_do_not_keep_an_answer_open() -> None:
    def pings(connection: socket.socket) -> None:
        connection.sendall(OK + b"\r\ndata: [DONE]\n\n")
        for _ in range(100):
            connection.sendall(b": ping\n\n")
            time.sleep(0.1)

    with server(pings) as url:
        timed = streamed(url, Waits(connect_s=30, silence_s=30, answer_s=60))
    assert timed.reply.completion
    assert timed.reply.completion.done


@pytest.mark.process
def test_nobody_there_is_the_systems_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(ConnectionRefusedError):
        streamed(f"http://127.0.0.1:{port}")


@pytest.mark.parametrize(
    "url", ["", "http://", "ftp://host/", "http://host:99999", "http://" + "a" * 70 + ".example"]
)
def test_what_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        Connections(url, WAITS)


class ThreadedServer(ThreadingHTTPServer):
    """Counts its connections, and closes those that were idle for two seconds, as uvicorn does after five."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.accepted = 0

    def get_request(self) -> tuple[socket.socket, object]:
        self.accepted += 1
        return super().get_request()

    @contextmanager
    def running(self) -> Iterator[str]:
        thread = threading.Thread(target=self.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{self.server_port}"
        finally:
            self.shutdown()
            thread.join()
            self.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 2
    asked = 0

    def do_GET(self) -> None:
        self.asked += 1
        time.sleep(0.05)  # so that requests of one moment meet
        if self.path == "/never" or (self.asked > 1 and self.path in {"/once", "/half"}):
            self.close_connection = True
            self.wfile.write(b"HTTP/1.1 2" if self.path == "/half" else b"")
            return
        self.send_response(200)
        body = self.headers["host"].encode() if self.path == "/host" else b"yes"
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.slow
@pytest.mark.parametrize(
    "pauses", [[], [0.2]], ids=["in the middle of answers", "between requests"]
)
def test_a_stall_costs_no_request(pauses: list[float]) -> None:
    """The server closes connections while this process gets no processor, before it has seen that."""
    counting = ThreadedServer()

    async def talk(connections: Connections) -> list[bytes]:
        async def twice() -> bytes:
            await connections.get("/")
            for pause in pauses:
                await asyncio.sleep(pause)
            return (await connections.get("/")).reply.body

        answers = asyncio.gather(*[twice() for _ in range(8)])
        while counting.accepted < 8:  # noqa: ASYNC110 - another thread counts
            await asyncio.sleep(0)
        await asyncio.sleep(sum(pauses) / 2 or 0.02)
        time.sleep(3.5)  # noqa: ASYNC251 - the whole process stands still
        return await answers

    with counting.running() as url:
        assert with_connections(url, talk) == [b"yes"] * 8


@pytest.mark.process
def test_a_request_that_crosses_the_end_of_an_idle_connection_is_sent_on_a_new_one() -> None:
    async def talk(connections: Connections) -> list[bytes]:
        return [(await connections.get("/once")).reply.body for _ in range(3)]

    counting = ThreadedServer()
    with counting.running() as url:
        assert with_connections(url, talk) == [b"yes"] * 3
    assert counting.accepted == 3


@pytest.mark.process
@pytest.mark.parametrize(("path", "accepted"), [("/never", 2), ("/half", 1)])
def test_a_request_that_a_server_took_is_not_sent_again_in_silence(
    path: str, accepted: int
) -> None:
    """A new connection that ends is a fault, and so is an answer that began."""

    async def talk(connections: Connections) -> None:
        await connections.get("/half")
        await connections.get(path)

    counting = ThreadedServer()
    with counting.running() as url, pytest.raises(ConnectionError):
        with_connections(url, talk)
    assert counting.accepted == accepted


@pytest.mark.process
@pytest.mark.parametrize(
    ("url", "header"),
    [
        ("http://127.0.0.1:{port}", "127.0.0.1:{port}"),
        ("http://localhost:{port}/", "localhost:{port}"),
    ],
)
def test_the_host_is_named_as_in_the_url(url: str, header: str) -> None:
    counting = ThreadedServer()
    with counting.running():
        timed = with_connections(
            url.format(port=counting.server_port), lambda server: server.get("/host")
        )
    assert timed.reply.body.decode() == header.format(port=counting.server_port)

"""The container healthcheck against real sockets: ready only after a whole streamed completion."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from adapter import ready

CHUNK = {"choices": [{"delta": {"content": "2"}, "finish_reason": None}]}
LAST = {"choices": [{"delta": {}, "finish_reason": "length"}]}
WHOLE = f"data: {json.dumps(CHUNK)}\n\ndata: {json.dumps(LAST)}\n\ndata: [DONE]\n\n".encode()


@pytest.fixture
def serve():
    servers = []

    def start(stream, models=b'{"data": [{"id": "/weights"}]}', status=200):
        asked = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                self.answer(200, models)

            def do_POST(self):
                asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.answer(status, stream)

            def answer(self, code, body):
                self.send_response(code)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        return f"http://127.0.0.1:{server.server_port}", asked

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def status_of(monkeypatch, address):
    monkeypatch.setattr("sys.argv", ["ready", address])
    return ready.main()


@pytest.mark.process
def test_a_whole_completion_is_ready(serve, monkeypatch):
    address, asked = serve(WHOLE)
    assert status_of(monkeypatch, address) == 0
    assert (asked[0]["model"], asked[0]["stream"]) == ("/weights", True)


@pytest.mark.process
@pytest.mark.parametrize(
    "answers",
    [
        {"stream": b""}, {"stream": WHOLE.replace(b"data: [DONE]\n\n", b"")}, {"stream": b"data: [DONE]\n\n"},
        {"stream": WHOLE, "status": 500}, {"stream": WHOLE, "models": b"[]"}, {"stream": WHOLE, "models": b"{"},
        {"stream": b"data: {broken\n\n"}, {"stream": b"\xff\xfe\n"},
        {"stream": b'data: {"choices": [[1]]}\n\ndata: [DONE]\n\n'},
    ],
)  # fmt: skip
def test_anything_less_is_not(serve, monkeypatch, capsys, answers):
    address, _ = serve(**answers)
    assert status_of(monkeypatch, address) == 1
    assert len(capsys.readouterr().out.splitlines()) == 1


@pytest.fixture
def hostile():
    """A server that answers each connection with what a function writes to it, for as long as it likes."""
    sockets = []

    def start(answer):
        listening = socket.create_server(("127.0.0.1", 0))
        sockets.append(listening)

        def each():
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listening.accept()
                    sockets.append(connection)
                    threading.Thread(target=one, args=(connection,), daemon=True).start()

        def one(connection):
            with contextlib.suppress(OSError):
                request = connection.recv(65536)
                if request.startswith(b"GET") and answer is not silent:
                    body = b'{"data": [{"id": "m"}]}'
                    connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + body)
                else:
                    answer(connection)
                connection.close()

        threading.Thread(target=each, daemon=True).start()
        return f"http://127.0.0.1:{listening.getsockname()[1]}"

    yield start
    for each in sockets:
        each.close()


def silent(connection):
    connection.recv(1)


def dripping(connection):
    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        connection.sendall(b": ping\n")
        time.sleep(0.05)


def dripping_headers(connection):
    connection.sendall(b"HTTP/1.1 200 OK\r\n")
    while True:
        connection.sendall(b"X")
        time.sleep(0.05)


def endless_line(connection):
    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\ndata: ")
    while True:
        connection.sendall(b"x" * 65536)


def endless_events(connection):
    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        connection.sendall(f"data: {json.dumps(CHUNK)}\n\n".encode() * 1000)


def deep(connection):
    connection.sendall(b'HTTP/1.1 200 OK\r\n\r\ndata: {"choices": ' + b"[" * 100_000 + b"\n\n")


def redirecting(connection):
    connection.sendall(
        b"HTTP/1.1 307 x\r\nLocation: /v1/chat/completions\r\nContent-Length: 0\r\n\r\n"
    )


def broken_off(connection):
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n" + WHOLE[:40])


def no_http(connection):
    connection.sendall(b"\x15\x03\x01" * 100)


@pytest.mark.process
@pytest.mark.parametrize(
    "answer",
    [
        silent, dripping, dripping_headers, endless_line, endless_events, deep, redirecting, broken_off, no_http,
    ],
)  # fmt: skip
def test_a_hostile_server_is_left_in_time_and_said_so_in_a_line(hostile, answer):
    script = "import sys; from adapter import ready; ready.DEADLINE_S = 2; sys.exit(ready.main())"
    done = subprocess.run(
        [sys.executable, "-c", script, hostile(answer)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, "")
    assert len(done.stdout.splitlines()) == 1
    assert done.stdout.startswith("not ready: ")
    assert len(done.stdout) < 1000


def test_no_server_is_not_ready_either(monkeypatch):
    assert status_of(monkeypatch, "http://127.0.0.1:1") == 1


@pytest.mark.process
def test_a_proxy_of_the_environment_is_not_asked(serve, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    assert status_of(monkeypatch, serve(WHOLE)[0]) == 0

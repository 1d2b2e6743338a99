"""The container healthcheck against real sockets: ready only after a whole streamed completion."""

from __future__ import annotations

import json
import threading
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
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{server.server_port}", asked

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def status_of(monkeypatch, address):
    monkeypatch.setattr("sys.argv", ["ready", address])
    return ready.main()


def test_a_whole_completion_is_ready(serve, monkeypatch):
    address, asked = serve(WHOLE)
    assert status_of(monkeypatch, address) == 0
    assert (asked[0]["model"], asked[0]["stream"]) == ("/weights", True)


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


def test_no_server_is_not_ready_either(monkeypatch):
    assert status_of(monkeypatch, "http://127.0.0.1:1") == 1


def test_a_proxy_of_the_environment_is_not_asked(serve, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    assert status_of(monkeypatch, serve(WHOLE)[0]) == 0

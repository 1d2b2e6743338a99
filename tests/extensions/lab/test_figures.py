"""Log-probabilities: figures that are there when they are asked for."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from healthcheck.core.progress import Silent
from healthcheck.stages.probe.facts import measure, stored_metrics
from healthcheck.stages.probe.records import ProbeSettings

pytestmark = pytest.mark.process

LOGPROB = -0.25


class Server(ThreadingHTTPServer):
    request_queue_size = 128  # a probe opens its connections at one moment


class Sure(BaseHTTPRequestHandler):
    """Answers 7 to everything, each token with the same log-probability where one is asked for."""

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self._send("application/json", json.dumps({"data": [{"id": "sure"}]}))

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        choice = {"index": 0, "delta": {"content": "The answer is 7."}, "finish_reason": "stop"}
        if asked.get("logprobs"):
            choice["logprobs"] = {"content": [{"token": "7", "logprob": LOGPROB}]}
        self._send(
            "text/event-stream", f"data: {json.dumps({'choices': [choice]})}\n\ndata: [DONE]\n\n"
        )

    def _send(self, kind: str, text: str) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())


@pytest.fixture
def url() -> Iterator[str]:
    server = Server(("127.0.0.1", 0), Sure)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def figures(url: str, folder: Path, **settings: object) -> dict:
    return stored_metrics(
        measure(
            ProbeSettings(url=url, problems=12, samples=2, full=True, **settings), Silent(), folder
        )
    )


def test_likelihood_weighs_votes_where_it_is_known(url: str, tmp_path: Path) -> None:
    seen = figures(url, tmp_path / "run", logprobs=True)
    assert (
        seen["weighted maj@2 (likelihood)"]["value"] == seen["all"]["figures"]["maj@2"]["value"]
    )  # all agree
    assert seen["tiers"]["easy"]["figures"]["weighted maj@1 (likelihood)"]
    assert not any("weighted" in name for name in figures(url, tmp_path / "plain"))

"""Real servers of other projects, each in its own environment, and a replay of their recorded streams."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import openai
import requests

from healthcheck.core.records import JsonValue
from healthcheck.wire.client import Client
from tests.service.launching import free_port

START_S = 400


@contextmanager
def serving(
    command: Sequence[str | Path],
    *,
    environment: Mapping[str, str],
    log: Path,
    sign: str = "/health",
) -> Iterator[str]:
    """The address of a server that `command --port PORT` starts and that answers 200 at `sign`."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    whole = [*command, "--host", "127.0.0.1", "--port", str(port)]
    with running(whole, url + sign, environment=environment, log=log):
        yield url


@contextmanager
def running(
    command: Sequence[str | Path], sign: str, *, environment: Mapping[str, str], log: Path
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server from its first 200 at the address `sign`; at the end, its process group is killed."""
    with log.open("wb") as out:
        process = subprocess.Popen(
            list(map(str, command)),
            stdout=out, stderr=out, stdin=subprocess.DEVNULL, start_new_session=True,
            env={**os.environ, **environment},
        )  # fmt: skip
    try:
        _await(sign, process, log)
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _await(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + START_S
    with requests.Session() as session:
        session.trust_env = False
        while time.monotonic() < end:
            assert process.poll() is None, log.read_text("utf-8", "replace")[-4000:]
            try:
                if session.get(address, timeout=5).status_code == 200:
                    return
            except requests.RequestException:
                pass
            time.sleep(0.3)
    raise AssertionError(
        f"no server within {START_S} s:\n{log.read_text('utf-8', 'replace')[-4000:]}"
    )


@dataclass(frozen=True)
class Heard:
    """What a client made of a stream."""

    text: str
    finish_reason: str | None
    tokens: tuple[int, int] | None
    model: str


def heard_by_kit(url: str, body: Mapping[str, JsonValue]) -> Heard:
    completion = Client(url).chat(body).completion
    assert completion
    usage = completion.usage
    tokens = (usage.prompt_tokens, usage.completion_tokens) if usage else None
    return Heard(completion.text, completion.finish_reason, tokens, completion.model)


def heard_by_openai(url: str, body: Mapping[str, JsonValue]) -> Heard:
    """Read a stream with the openai client; every field is sent unchanged, as extra_body."""
    with (
        openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client,
        client.chat.completions.create(
            model="", messages=[], stream=True, extra_body=body
        ) as stream,
    ):
        chunks = list(stream)
    choices = [choice for chunk in chunks for choice in chunk.choices]
    reasons = [choice.finish_reason for choice in choices if choice.finish_reason]
    usage = next((chunk.usage for chunk in reversed(chunks) if chunk.usage), None)
    return Heard(
        "".join(choice.delta.content or "" for choice in choices),
        reasons[-1] if reasons else None,
        (usage.prompt_tokens, usage.completion_tokens) if usage else None,
        chunks[0].model,
    )


@contextmanager
def replaying(streams: Sequence[bytes]) -> Iterator[str]:
    """Answers a POST below ADDRESS/N with the N-th of the recorded streams, byte for byte."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream; charset=utf-8")
            self.end_headers()
            self.wfile.write(streams[int(self.path.split("/")[1])])

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()

"""The probe's sampling beside a raw-socket client, on one fast server: 600 streams of 66 events, 64 at a time.

Both clients run in processes of their own, in turn. The raw client sends the same bodies, reads to the end of each
stream, and parses every event with the standard library; it grades nothing and writes nothing. What is compared is
the sampling: from the first request to the last answer.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from measure import Bound, Section, main, ratios, spread, timed

from healthcheck.core.progress import Silent
from healthcheck.stages.probe.facts import measure
from healthcheck.stages.probe.problems import message
from healthcheck.stages.probe.records import ProbeSettings
from healthcheck.stages.probe.run.bank import bank, schedule
from healthcheck.wire.chat import request_body

ROUNDS = 7
MOST_TIMES, MOST_MB = 1.6, 150
EVENTS = 66
SETTINGS = ProbeSettings(url="", model="fast", max_tokens=256)
WORDS = ["The", " answer", " is", " 7", "."]
MODELS = b'{"object":"list","data":[{"id":"fast"}]}'
WHOLE = json.dumps(
    {"id": "chatcmpl-0", "object": "chat.completion", "created": 1, "model": "fast", "choices": [
        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "The answer is 7."}}],
     "usage": {"prompt_tokens": 9, "completion_tokens": 60, "total_tokens": 69}}
).encode()  # fmt: skip


def stream() -> list[bytes]:
    """The chunks of one answer: a role event, text events, a finish event, usage, [DONE]."""
    base = {"id": "chatcmpl-0", "object": "chat.completion.chunk", "created": 1, "model": "fast"}
    deltas = [
        {"role": "assistant", "content": ""},
        *({"content": " so"} for _ in range(EVENTS - 3 - len(WORDS))),
    ]
    deltas += [{"content": word} for word in WORDS]
    events = [
        {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        for delta in deltas
    ]
    events.append({**base, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    events.append(
        {
            **base,
            "choices": [],
            "usage": {"prompt_tokens": 9, "completion_tokens": 60, "total_tokens": 69},
        }
    )
    blocks = [f"data: {json.dumps(event)}\n\n".encode() for event in events] + [b"data: [DONE]\n\n"]
    return [b"%x\r\n%s\r\n" % (len(block), block) for block in blocks]


class Server(asyncio.Protocol):
    """Answers every POST with the same stream, an event a write, or the same text in one piece where no stream is
    asked for; every GET with the list of models.
    """

    chunks = stream()
    answered = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.held = b""

    def data_received(self, data: bytes) -> None:
        self.held += data
        head, blank, rest = self.held.partition(b"\r\n\r\n")
        if not blank:
            return
        length = next(
            (
                int(line[15:])
                for line in head.split(b"\r\n")
                if line.lower().startswith(b"content-length:")
            ),
            0,
        )
        if len(rest) < length:
            return
        self.held = b""
        if head.startswith(b"GET") or not json.loads(rest).get("stream"):
            body = WHOLE
            if head.startswith(b"GET"):
                body = b"%d" % Server.answered if head.startswith(b"GET /answered") else MODELS
            Server.answered += body is WHOLE
            self.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n")
            self.write(b"content-length: %d\r\n\r\n" % len(body) + body)
            return
        Server.answered += 1
        self.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
        )
        for chunk in self.chunks:
            self.write(chunk)
        self.write(b"0\r\n\r\n")

    def write(self, data: bytes) -> None:
        self.transport.write(data)


async def serve() -> None:
    """Serve for ever; the port is the first line of the output."""
    server = await asyncio.get_running_loop().create_server(Server, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@dataclass(slots=True)
class Stopwatch(Silent):
    """The CPU time between the first and the last word of a run about its progress: the sampling alone."""

    began: float = 0.0
    ended: float = 0.0

    def update(self, text: str, *, done: int = 0, total: int = 0) -> None:
        del text, done, total
        self.ended = time.process_time()
        self.began = self.began or self.ended


class Raw:
    """The requests of a run over plain connections, each answer parsed with the standard library, and kept."""

    def __init__(self, settings: ProbeSettings, port: int) -> None:
        problems = bank(settings)
        self.settings, self.port, self.answers = settings, port, list[str]()
        self.queue = iter(
            [
                problems[slot.problem]
                for slot in schedule(len(problems), settings.samples, settings.seed)
            ]
        )

    async def run(self) -> None:
        await asyncio.gather(*(self._work() for _ in range(self.settings.concurrency)))

    async def _work(self) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        for problem in self.queue:
            body = json.dumps(
                request_body([message(problem)], model=self.settings.model, max_tokens=self.settings.max_tokens,
                             temperature=self.settings.temperature, samples=self.settings.samples)
            ).encode()  # fmt: skip
            writer.write(
                b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
                b"content-length: %d\r\n\r\n" % len(body) + body
            )
            head = await reader.readuntil(b"\r\n\r\n")
            assert b" 200 " in head[:20], head
            text = []
            while size := int(await reader.readuntil(b"\r\n"), 16):
                for event in (await reader.readexactly(size + 2)).split(b"\n\n"):
                    if event.startswith(b"data: {"):
                        text += [
                            choice["delta"].get("content") or ""
                            for choice in json.loads(event[6:])["choices"]
                        ]
            await reader.readuntil(b"\r\n")
            self.answers.append("".join(text))
        writer.close()


def client(who: str, port: int) -> None:
    """One client, in this process: seconds and CPU seconds of its sampling as a line of JSON."""
    began, cpu = time.perf_counter(), time.process_time()
    if who == "raw":
        raw = Raw(SETTINGS, port)
        asyncio.run(raw.run())
        sampling, cpu = time.perf_counter() - began, time.process_time() - cpu
        assert sum(answer.endswith("The answer is 7.") for answer in raw.answers) == 600
    else:
        watch = Stopwatch()
        with tempfile.TemporaryDirectory() as folder:
            run = measure(
                replace(SETTINGS, url=f"http://127.0.0.1:{port}"), watch, Path(folder) / "run"
            )
        assert len(run.samples) == 600
        assert not run.failed
        sampling, cpu = run.seconds, watch.ended - watch.began
    print(json.dumps({"sampling_s": sampling, "sampling_cpu_s": cpu}))


@contextmanager
def server() -> Iterator[int]:
    process = subprocess.Popen(
        [sys.executable, __file__, "--serve"], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    try:
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.wait()


def sampling() -> Section:
    seen: dict[str, list[dict[str, float]]] = {"raw": [], "probe": []}
    with server() as port:
        for _ in range(ROUNDS):
            for who, results in seen.items():
                usage = timed([sys.executable, __file__, "--client", who, str(port)])
                assert usage.status == 0, usage.output
                figures = json.loads(usage.output.splitlines()[-1])
                results.append({**figures, "peak_mb": usage.peak_mb})
    column = {
        who: {key: [r[key] for r in results] for key in results[0]} for who, results in seen.items()
    }
    wall, cpu = (
        ratios(column["probe"][key], column["raw"][key]) for key in ("sampling_s", "sampling_cpu_s")
    )
    peak = max(column["probe"]["peak_mb"])
    return Section(
        title="Sampling, beside a raw-socket client",
        about=f"600 streams of {EVENTS} events, 64 in flight, one fast server; {ROUNDS} rounds in turn: "
        "median (range).",
        header=("client", "sampling, s", "its CPU, s", "peak MB"),
        rows=[
            [who, spread(figures["sampling_s"]), spread(figures["sampling_cpu_s"]),
             f"{max(figures['peak_mb']):.0f}"]
            for who, figures in column.items()
        ],
        bounds=[
            Bound(promise=f"the probe samples in at most {MOST_TIMES} times the raw client's time",
                  seen=f"{spread(wall)} times (CPU of the client: {spread(cpu)} times)",
                  kept=statistics.median(wall) <= MOST_TIMES),
            Bound(promise=f"in less than {MOST_MB} MB", seen=f"{peak:.0f} MB", kept=peak < MOST_MB),
        ],
    )  # fmt: skip


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        asyncio.run(serve())
    elif sys.argv[1:2] == ["--client"]:
        client(sys.argv[2], int(sys.argv[3]))
    else:
        main(sampling)

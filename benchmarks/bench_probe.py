"""The probe against a raw-socket client, on one fast server: 600 streams of 66 events, 64 at a time.

    python benchmarks/bench_probe.py [--runs 5]

Both clients run in processes of their own. The raw client sends the same bodies, reads to the end of each stream,
and parses every event with the standard library; it grades nothing and writes nothing. What is compared is the
sampling: from the first request to the last answer.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from healthcheck.probe.bank import bank, schedule
from healthcheck.probe.facts import measure
from healthcheck.probe.problems import message
from healthcheck.probe.records import ProbeSettings
from healthcheck.progress import Silent
from healthcheck.wire.chat import request_body

if TYPE_CHECKING:
    from collections.abc import Iterator

EVENTS = 66
SETTINGS = ProbeSettings(url="", model="fast", max_tokens=256)
WORDS = ["The", " answer", " is", " 7", "."]


def stream() -> list[bytes]:
    """The chunks of one answer: a role event, text events, a finish event, usage, [DONE]."""
    base = {"id": "chatcmpl-0", "object": "chat.completion.chunk", "created": 1, "model": "fast"}
    deltas = [{"role": "assistant", "content": ""}, *({"content": " so"} for _ in range(EVENTS - 3 - len(WORDS)))]
    deltas += [{"content": word} for word in WORDS]
    events = [{**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    events.append({**base, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    events.append(
        {**base, "choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 60, "total_tokens": 69}}
    )
    blocks = [f"data: {json.dumps(event)}\n\n".encode() for event in events] + [b"data: [DONE]\n\n"]
    return [b"%x\r\n%s\r\n" % (len(block), block) for block in blocks]


class Server(asyncio.Protocol):
    """Answers every POST with the same stream, an event a write; every GET with the list of models."""

    chunks = stream()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.held = b""

    def data_received(self, data: bytes) -> None:
        self.held += data
        head, blank, rest = self.held.partition(b"\r\n\r\n")
        if not blank:
            return
        length = next(
            (int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0
        )
        if len(rest) < length:
            return
        self.held = b""
        if head.startswith(b"GET"):
            body = b'{"object":"list","data":[{"id":"fast"}]}'
            self.write(
                b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body)
                + body
            )
            return
        self.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
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


async def raw_client(port: int) -> None:
    """The same requests over plain connections, parsed with the standard library."""
    problems = bank(SETTINGS)
    queue = iter(schedule(len(problems), SETTINGS.samples, SETTINGS.seed))

    async def work() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for slot in queue:
            body = json.dumps(
                request_body([message(problems[slot.problem])], model="fast", max_tokens=256, temperature=0.7)
            ).encode()
            writer.write(
                b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
                b"content-length: %d\r\n\r\n" % len(body) + body
            )
            await reader.readuntil(b"\r\n\r\n")
            text = []
            while size := int(await reader.readuntil(b"\r\n"), 16):
                event = (await reader.readexactly(size + 2))[6:-4]
                if event != b"[DONE]":
                    text += [choice["delta"].get("content", "") for choice in json.loads(event)["choices"]]
            await reader.readuntil(b"\r\n")
            assert "".join(text).endswith("The answer is 7.")
        writer.close()

    await asyncio.gather(*(work() for _ in range(SETTINGS.concurrency)))


def timed(who: str, port: int) -> None:
    """One client, in this process: seconds, CPU seconds and peak memory as a line of JSON."""
    began, cpu = time.perf_counter(), time.process_time()
    if who == "raw":
        asyncio.run(raw_client(port))
    else:
        with tempfile.TemporaryDirectory() as folder:
            run = measure(replace(SETTINGS, url=f"http://127.0.0.1:{port}"), Silent(), Path(folder) / "run")
            assert len(run.samples) == 600
            assert not run.failed
            sampling = run.seconds
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"sampling_s": seconds if who == "raw" else sampling, "whole_s": seconds,
                      "cpu_s": time.process_time() - cpu, "peak_mib": peak}))  # fmt: skip


@contextmanager
def server() -> Iterator[int]:
    process = subprocess.Popen([sys.executable, __file__, "--serve"], stdout=subprocess.PIPE, text=True)
    assert process.stdout
    try:
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--client", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        asyncio.run(serve())
    elif options.client:
        timed(options.client[0], int(options.client[1]))
    else:
        compare(options.runs)


def compare(runs: int) -> None:
    """Both clients in turn, several times; medians."""
    seen: dict[str, list[dict[str, float]]] = {"raw": [], "probe": []}
    with server() as port:
        for _ in range(runs):
            for who, results in seen.items():
                command = [sys.executable, __file__, "--client", who, str(port)]
                results.append(
                    json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
                )
    medians = {
        who: {key: statistics.median(r[key] for r in results) for key in results[0]}
        for who, results in seen.items()
    }
    for who, figures in medians.items():
        print(f"{who:6}", "  ".join(f"{name} {value:.3f}" for name, value in figures.items()))
    ratio = medians["probe"]["sampling_s"] / medians["raw"]["sampling_s"]
    print(f"sampling: {ratio:.2f} times the raw-socket client (at most 1.6)")
    print(f"peak memory: {medians['probe']['peak_mib']:.0f} MiB (below 150)")


if __name__ == "__main__":
    main()

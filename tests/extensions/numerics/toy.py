"""A toy language model behind HTTP, with exact log-probabilities and one fault at a time.

The distribution after some tokens depends on the last four of them, so that a prompt prefilled and the same tokens
decoded agree. Faults move the log-probabilities where a real engine's would move.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import random
import select
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

WORDS = 50


@dataclass
class Toy:
    """What the server does; a test changes it between two runs.

    Attributes:
        fault: "", or the name of one.
        noise: standard deviation of each log-probability, in nats: kernels that round differently.
        scale: of all logits: other weights.
        most_logprobs: a request for more is refused.
        salted, token_ids, negative: whether a cache salt, prompts of token ids, and a negative top_k are not refused.
        processed: whether it tells what it draws from, and not the model's distribution at temperature 1.
        penalty: of tokens in the prompt, in nats, unless a request sets one.
        top_k: of draws, unless a request sets it.
        min_p: whether tokens less than half as likely as the likeliest are neither drawn nor told above temperature 0.
        one_by_one: whether the prompts of a list wait for each other.
        begins_s: seconds before an answer begins, in which requests that are sent at once meet.
    """

    fault: str = ""
    noise: float = 0.0
    scale: float = 1.0
    most_logprobs: int = 20
    salted: bool = True
    token_ids: bool = True
    negative: bool = True
    logprobs: bool = True
    vocabulary: str = ""
    context: int = 512
    processed: bool = False
    penalty: float = 0.0
    top_k: int = 0
    min_p: bool = False
    one_by_one: bool = False
    begins_s: float = 0.004
    asked: Counter[tuple[int, ...]] = field(default_factory=Counter)
    short: int = 0
    long: int = 0
    cache: set[tuple[str, int]] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def logits(self, ids: Sequence[int]) -> list[float]:
        known = () if self.fault == "deaf" else tuple(ids[-4:])
        digest = hashlib.sha512(repr(known).encode()).digest()
        return [
            self.scale * 8 * digest[word % 64] / 255 * (1 + (word * 7 + digest[0]) % 5) / 5
            for word in range(WORDS)
        ]

    def broken(
        self, ids: Sequence[int], salt: str, decoded: int, beside: int, draw: random.Random
    ) -> bool:
        match self.fault:
            case "repeat":
                return draw.random() < 0.5
            case "batch":
                return beside == 3
            case "prefix":
                return (salt, hash(tuple(ids[:30]))) in self.cache
            case "decode":
                return decoded > 0
            case "edge":
                return decoded > 0 and 126 <= len(ids) - decoded <= 129
            case "neighbours":
                return self.long >= 3 and not decoded and len(ids) > 128
        return False

    def draw(
        self, told: list[float], ids: Sequence[int], asked: dict[str, Any], draw: random.Random
    ) -> int:
        """A token of the distribution, by the server's own parameters where the request has none."""
        temperature = asked.get("temperature", 1.0)
        penalty = 0.0 if "repetition_penalty" in asked else self.penalty
        weights = [value - penalty * (word in ids) for word, value in enumerate(told)]
        if not temperature or (self.top_k == 1 and "top_k" not in asked):
            return max(range(WORDS), key=weights.__getitem__)
        return draw.choices(range(WORDS), [math.exp(value / temperature) for value in weights])[0]

    def complete(
        self,
        ids: list[int],
        tokens: int,
        most: int,
        asked: dict[str, Any],
        gone: Callable[[], bool],
    ) -> list[dict[str, Any]]:
        said, salt, temperature = [], asked.get("cache_salt", ""), asked.get("temperature", 1.0)
        with self.lock:
            self.short += tokens <= 24
            self.long += tokens > 24  # such a request may have been left by its client
            draw = random.Random(
                repr((ids, self.asked[tuple(ids)]))
            )  # whichever request comes first
            self.asked[tuple(ids)] += 1
        time.sleep(self.begins_s)
        beside = self.short
        try:
            for decoded in range(tokens):
                if tokens > 24 and gone():
                    break
                logits = self.logits(ids)
                if self.broken(ids, salt, decoded, beside, draw):
                    logits = logits[::-1]
                total = math.log(sum(map(math.exp, logits)))
                noisy = [value - total + draw.gauss(0, self.noise) for value in logits]
                if self.fault == "uniform":
                    noisy = [-math.log(WORDS)] * WORDS
                elif self.fault == "flat":
                    noisy = [draw.gauss(-math.log(WORDS), 0.001) for _ in noisy]
                elif self.fault == "made-up":
                    order = sorted(range(WORDS), key=noisy.__getitem__, reverse=True)
                    noisy = [-0.5 - order.index(word) for word in range(WORDS)]
                if self.fault == "overflow" and len(ids) > 300:
                    noisy = [math.nan for _ in noisy]
                if temperature and self.min_p:
                    noisy = [
                        value if value >= max(noisy) - math.log(2) else -9999.0 for value in noisy
                    ]
                best = self.draw(noisy, ids, asked, draw)
                if self.processed and temperature:
                    total = math.log(sum(math.exp(value / temperature) for value in noisy))
                    noisy = [value / temperature - total for value in noisy]
                top = {*sorted(range(WORDS), key=noisy.__getitem__, reverse=True)[:most], best}
                said.append({"token": best, "top": {word: noisy[word] for word in top}})
                ids = [*ids, best]
                time.sleep(0.004 if tokens > 24 else 0.0005)
        finally:
            with self.lock:
                self.short -= tokens <= 24
                self.long -= tokens > 24
                self.cache.add((salt, hash(tuple(ids[:30]))))
        return said


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    toy: Toy

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        if self.path == "/v1/models":
            self.answer(200, {"data": [{"id": "toy", "max_model_len": self.toy.context}]})
        else:
            self.answer(404, {})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        toy = self.toy
        if self.path == "/tokenize":
            self.answer(
                200,
                {"tokens": tokens_of(toy, body["prompt"])} if toy.token_ids else {"detail": "no"},
            )
            return
        chat = self.path.endswith("/chat/completions")
        most = body.get("top_logprobs") if chat else body.get("logprobs")
        prompt = body["messages"][0]["content"] if chat else body["prompt"]
        refused = (
            ("cache_salt" in body and not toy.salted)
            or (isinstance(prompt, list) and not toy.token_ids)
            or (most or 0) > toy.most_logprobs
            or (body.get("top_k", 0) < 0 and not toy.negative)
        )
        if refused:
            self.answer(400, {"error": {"message": "refused"}})
            return
        prompts = prompt if isinstance(prompt, list) and isinstance(prompt[0], list) else [prompt]
        asked = [each if isinstance(each, list) else tokens_of(toy, each) for each in prompts]
        with ThreadPoolExecutor(1 if toy.one_by_one else len(asked)) as pool:
            answers = [
                *pool.map(
                    lambda ids: toy.complete(ids, body["max_tokens"], most or 1, body, self.gone),
                    asked,
                )
            ]
        choices = [
            self.choice(said, chat=chat) | {"index": place} for place, said in enumerate(answers)
        ]
        self.answer(200, {"choices": choices, "prompt_token_ids": asked[0]})

    def choice(self, said: list[dict[str, Any]], *, chat: bool) -> dict[str, Any]:
        names = [str(each["token"]) for each in said]
        tops = [{f"token_id:{word}": value for word, value in each["top"].items()} for each in said]
        if chat:
            shown: Any = {"content": [{"token": f"token_id:{name}", "top_logprobs": [
                {"token": word, "logprob": value} for word, value in top.items()]}
                for name, top in zip(names, tops, strict=True)]}  # fmt: skip
        else:
            shown = {"tokens": [f"token_id:{name}" for name in names], "top_logprobs": tops}
        shown = shown if self.toy.logprobs else None
        return {"text": " ".join(names), "message": {"content": " ".join(names)}, "logprobs": shown}

    def gone(self) -> bool:
        """Whether the client has left."""
        readable, _, _ = select.select([self.connection], [], [], 0)
        return bool(readable) and not self.connection.recv(1, socket.MSG_PEEK)

    def answer(self, status: int, body: object) -> None:
        text = json.dumps(body)
        if "NaN" in text:
            status, text = (
                400,
                json.dumps(
                    {"error": {"message": "Out of range float values are not JSON compliant"}}
                ),
            )
        data = text.encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        with contextlib.suppress(ConnectionError):  # a client that left
            self.end_headers()
            self.wfile.write(data)


class _Server(ThreadingHTTPServer):
    request_queue_size = 128  # a whole batch connects at once


def tokens_of(toy: Toy, text: str) -> list[int]:
    return [
        hashlib.md5(f"{toy.vocabulary}{word}".encode()).digest()[0] % WORDS for word in text.split()
    ]


@contextmanager
def serving(toy: Toy) -> Iterator[str]:
    """The URL of a server with this model."""
    handler = type("Handler", (_Handler,), {"toy": toy})
    server = _Server(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

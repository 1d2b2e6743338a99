"""A small server that obeys every request of `npu-adapter features`, but for the faults that it is given."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

RIGHT = {"get_weather": {"city": "Paris", "days": 2}, "get_time": {"zone": "UTC"}}
THING = '{"colour": "teal-42", "size": 5}'
SENTENCE = "Hello, I hope that you are well today."
FAULTS = (
    "arguments-not-json", "arguments-as-object", "wrong-type", "missing-argument", "unknown-tool", "no-ids", "same-id",
    "finish-stop", "markup", "moonshot-markup", "stream-differs", "stream-repeats-name", "stream-finish-stop",
    "stream-breaks", "required-ignored", "none-ignored", "named-ignored", "no-calls", "half-wrong", "errors",
    "triggers-inverted", "schema-ignored", "stream-schema-ignored", "object-ignored", "choice-ignored", "regex-ignored",
    "guided-swallowed", "endless", "max-tokens-ignored", "stop-ignored", "n-ignored", "seed-ignored", "content-lost",
    "temperature-ignored", "top-p-ignored", "cut-says-stop", "thoughts-differ",
    "no-tools", "no-formats", "not-json", "unsteady", "marks-in-content", "answer-among-thoughts",
    "stream-without-thoughts", "thinks-always", "thinks-for-ever", "no-thoughts", "no-length", "uncounted", "middle-lost",
    "too-long-taken", "too-long-breaks", "overlooks", "stream-one-index", "promises-too-much",
)  # fmt: skip
MANNERS = ("terse",)
LENGTH = 6000
THOUGHTS = "17 and 25 make 42."


class Fake:
    """What it answers. `vllm` is whether it says that it is one; the path `hangs` has no answer while it serves."""

    def __init__(self, *faults: str, vllm: bool = True, hangs: str = "") -> None:
        assert set(faults) <= {*FAULTS, *MANNERS}
        self.faults, self.vllm, self.count, self.lock = set(faults), vllm, 0, threading.Lock()
        self.hangs, self.ended = hangs, threading.Event()
        self.bodies: list[dict[str, Any]] = []

    def has(self, *names: str) -> bool:
        return bool(self.faults & set(names))

    def answer(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """The status, and a plain answer."""
        with self.lock:
            self.count += 1
            self.bodies.append(body)
            number = self.count
        if "tools" in body and self.has("no-tools"):
            return 400, {
                "error": {"message": '"auto" tool choice requires --enable-auto-tool-choice'}
            }
        if self.has("no-formats") and (
            {"response_format", "structured_outputs", "guided_json"} & body.keys()
        ):
            return 422, {"detail": "unknown field"}
        if self.has("errors") and "seed" in body and "tools" in body:
            return 500, {"error": {"message": "EngineCore encountered an issue"}}
        read = sum(len(str(message["content"])) for message in body["messages"]) // 4
        most = LENGTH // 2 if self.has("promises-too-much") else LENGTH
        if read > most and not self.has("too-long-taken"):
            return 500 if self.has("too-long-breaks") else 400, {
                "error": {"message": f"{read} are too many"}
            }
        name = self.called(body)
        message, finish = self.call(name, number, body) if name else self.text(body, number)
        endless = (
            self.has("endless")
            and {"response_format", "structured_outputs", "guided_json"} & body.keys()
        )
        finish = "length" if endless else finish
        tokens = 1 if finish == "stop" and len(str(message["content"])) < 2 else 8
        if body.get("max_tokens") == 5:
            tokens, finish = (64, "stop") if self.has("max-tokens-ignored") else (5, "length")
            tokens, finish = (3, "stop") if self.has("terse") else (tokens, finish)
            finish = "stop" if self.has("cut-says-stop") else finish
        choice = {"index": 0, "message": message, "finish_reason": finish}
        choices = (
            [choice, choice | {"index": 1}]
            if body.get("n") == 2 and not self.has("n-ignored")
            else [choice]
        )
        if body.get("max_tokens") == 48 and self.has("thoughts-differ"):
            choice["message"] = {"content": None, "reasoning_content": f"{THOUGHTS} {number}"}
        if self.has("content-lost") and "tools" not in body:
            choice["message"] = {"content": None, "reasoning_content": SENTENCE}
            tokens = 9
        usage = {"prompt_tokens": read, "completion_tokens": tokens}
        if "chat_template_kwargs" in body:
            self.think(choice, body)
            usage["prompt_tokens"] += not body["chat_template_kwargs"]["enable_thinking"]
        return 200, {"choices": choices, "usage": {} if self.has("uncounted") else usage}

    def think(self, choice: dict[str, Any], body: dict[str, Any]) -> None:
        if self.has("no-thoughts"):
            return
        message = choice["message"]
        if body["chat_template_kwargs"]["enable_thinking"] or self.has("thinks-always"):
            message["reasoning"] = THOUGHTS
        if self.has("marks-in-content"):
            message["content"] = f"{message.pop('reasoning', '')}</think>{message['content']}"
        if self.has("answer-among-thoughts"):
            message |= {"reasoning": f"{THOUGHTS} {message['content']}", "content": ""}
        if self.has("stream-without-thoughts") and body.get("stream"):
            message.pop("reasoning", None)
        if self.has("thinks-for-ever"):
            choice |= {
                "message": {"content": None, "reasoning": THOUGHTS},
                "finish_reason": "length",
            }

    def called(self, body: dict[str, Any]) -> str:
        """The tool that is called, "" for none."""
        choice, text = body.get("tool_choice", "auto"), body["messages"][-1]
        if "tools" not in body or (choice == "none" and not self.has("none-ignored")):
            return ""
        if isinstance(choice, dict):
            return "get_weather" if self.has("named-ignored") else "get_time"
        if choice == "required":
            return "" if self.has("required-ignored") else "get_time"
        wanted = (
            text["role"] == "user" and re.search("Use (the|both) tool", text["content"]) is not None
        )
        wanted = wanted is not (self.has("triggers-inverted") and "seed" in body)
        return "get_weather" if wanted and not self.has("no-calls") else ""

    def call(self, name: str, number: int, body: dict[str, Any]) -> tuple[dict[str, Any], str]:
        arguments: Any = dict(RIGHT[name])
        seed, asked = body.get("seed", 0), str(body["messages"][-1]["content"])
        if self.has("wrong-type") or (self.has("half-wrong") and seed % 2):
            arguments["days"] = str(arguments.get("days"))
        if self.has("missing-argument"):
            arguments.popitem()
        if self.has("unsteady") and name == "get_weather":
            arguments["city"] = ("Paris", "Oslo", "Lima")[number % 3]
        text: Any = json.dumps(arguments)
        text = text[:-1] if self.has("arguments-not-json") else text
        text = arguments if self.has("arguments-as-object") else text
        name = "get_whether" if self.has("unknown-tool") else name
        content = None
        if self.has("markup"):
            return {"content": f'<tool_call>\n{{"name": "{name}"}}\n</tool_call>'}, "stop"
        if self.has("moonshot-markup"):
            content = "<|tool_calls_section_begin|><|tool_call_begin|>"
        called = {
            "id": f"call_{number}",
            "type": "function",
            "function": {"name": name, "arguments": text},
        }
        called |= {"id": None} if self.has("no-ids") else {}
        calls = [called, called] if self.has("same-id") else [called]
        if "Use both tools" in asked:
            time = {"name": "get_time", "arguments": json.dumps(RIGHT["get_time"])}
            calls.append({"id": f"other_{number}", "type": "function", "function": time})
        return {"content": content, "tool_calls": calls}, "stop" if self.has(
            "finish-stop"
        ) else "tool_calls"

    def text(self, body: dict[str, Any], number: int) -> tuple[dict[str, Any], str]:
        text = SENTENCE
        form = body.get("response_format", {}).get("type")
        if form == "json_schema":
            bad = self.has("schema-ignored") or (
                self.has("stream-schema-ignored") and body.get("stream")
            )
            text = '{"colour": "red", "size": "large"}' if bad else THING
        elif form == "json_object":
            text = "[1, 2]" if self.has("object-ignored") else THING
        elif "choice" in body.get("structured_outputs", {}):
            text = SENTENCE if self.has("choice-ignored") else "umber-17"
        elif "regex" in body.get("structured_outputs", {}):
            text = SENTENCE if self.has("regex-ignored") else "Z012-red"
        elif "guided_json" in body:
            text = SENTENCE if self.has("guided-swallowed") else THING
        asked = body["messages"][-1]["content"]
        if code := re.search(r"code number is (\d+)", asked):
            lost = self.has("overlooks") or (
                self.has("middle-lost")
                and 0.4 < code.start() / len(asked) < 0.6
                and len(asked) > 999
            )
            text = SENTENCE if lost else code[1]
        drawn = (
            (body.get("seed") and self.has("seed-ignored"))
            or (body.get("top_p") and self.has("top-p-ignored"))
            or (
                body.get("max_tokens") == 48
                and self.has("temperature-ignored")
                and not body["temperature"]
            )
        )
        if drawn:
            text = f"{text} {number}"
        text = text[:8] if self.has("endless") and text == THING else text
        for stop in () if self.has("stop-ignored") else body.get("stop", ()):
            text = text.partition(stop)[0]
        return {"content": text}, "stop"

    def events(self, answer: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """The answer as a stream: texts and arguments in pieces of four characters."""
        (choice,) = answer["choices"]
        message = choice["message"]
        yield self.event({"role": "assistant", "content": ""})
        if message.get("reasoning"):
            yield self.event({"reasoning": message["reasoning"]})
        for piece in pieces(message.get("content") or ""):
            yield self.event({"content": piece})
        for place, call in enumerate(message.get("tool_calls") or ()):
            index = 0 if self.has("stream-one-index") else place
            name, text = call["function"]["name"], call["function"]["arguments"]
            text = (
                text.replace("2", "3").replace("UTC", "local")
                if self.has("stream-differs")
                else text
            )
            head = call | {"index": index, "function": {"name": name, "arguments": ""}}
            yield self.event({"tool_calls": [head]})
            for piece in pieces(text):
                more = {"name": name} if self.has("stream-repeats-name") else {}
                yield self.event(
                    {"tool_calls": [{"index": index, "function": more | {"arguments": piece}}]}
                )
        finish = "stop" if self.has("stream-finish-stop") else choice["finish_reason"]
        yield self.event({}, finish) | {"usage": answer["usage"]}

    def event(self, delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def pieces(text: Any) -> list[Any]:
    return [text[at : at + 4] for at in range(0, len(text), 4)] if isinstance(text, str) else [text]


@contextmanager
def serving(fake: Fake) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def send(self, status: int, kind: str, data: bytes) -> None:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def do_GET(self) -> None:
            card: dict[str, Any] = {"id": "fake", "owned_by": "vllm" if fake.vllm else "somebody"}
            card |= {} if fake.has("no-length") else {"max_model_len": LENGTH}
            there = self.path in ("/v1/models", "/health")
            self.send(
                200 if there else 404, "application/json", json.dumps({"data": [card]}).encode()
            )

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            if self.path == fake.hangs:
                fake.ended.wait(30)
            if self.path != "/v1/chat/completions":
                self.send(404, "application/json", b"{}")
                return
            status, answer = fake.answer(body)
            if fake.has("not-json") and "tools" in body:
                self.send(200, "application/json", b"<html>busy</html>")
            elif status != 200 or not body.get("stream"):
                self.send(status, "application/json", json.dumps(answer).encode())
            else:
                data = [f"data: {json.dumps(event)}\n\n" for event in fake.events(answer)]
                if fake.has("stream-breaks"):
                    data[1:] = ['data: {"error": {"message": "parser died"}}\n\n']
                self.send(200, "text/event-stream", "".join([*data, "data: [DONE]\n\n"]).encode())

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        fake.ended.set()
        server.shutdown()
        server.server_close()
        thread.join()

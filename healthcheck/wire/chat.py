"""Chat completions: the evaluation client's request body, and how it reads the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from healthcheck.records import JsonValue
from healthcheck.wire.sse import Block, Decoder, StreamError

Message = dict[str, JsonValue]


def user(text: str) -> Message:
    """One user message; its keys in the evaluation client's order."""
    return {"content": text, "role": "user"}


def request_body(
    messages: Sequence[Message],
    *,
    model: str,
    max_tokens: int,
    temperature: float,
    samples: int = 5,
) -> dict[str, JsonValue]:
    """The body that the evaluation client sends, its extra fields included, keys in its order.

    Source: AISBench VLLMCustomAPIChat, run against a recording server. `num_return_sequences` and `ignore_eos` are
    not OpenAI fields, and they are sent all the same: a server that refuses them fails on the service.
    """
    return {
        "stream": True,
        "messages": list(messages),
        "stream_options": {"include_usage": True},
        "ignore_eos": False,
        "num_return_sequences": samples,
        "temperature": temperature,
        "max_tokens": max_tokens,
        "model": model,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Token counts as the server reports them."""

    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """One streamed answer, folded.

    Attributes:
        text: every choice's delta.content in order, as the evaluation client concatenates it.
        reasoning: every choice's delta.reasoning_content or delta.reasoning.
        finish_reason: the last one that was sent, "" where none was.
        done: `[DONE]` was seen.
        deltas: how many events carried text or reasoning.
        events: how many JSON events there were.
        faults: what the evaluation client would misread or swallow, in words, in order.
        error: the text of an error event inside the stream, "" where there was none.
    """

    text: str = ""
    reasoning: str = ""
    finish_reason: str = ""
    done: bool = False
    deltas: int = 0
    events: int = 0
    model: str = ""
    usage: Usage | None = None
    faults: tuple[str, ...] = ()
    error: str = ""


@dataclass(slots=True)
class Reader:
    """Folds a byte stream into a Completion. Feed it bytes; it does no I/O."""

    decoder: Decoder = field(default_factory=Decoder)
    _text: list[str] = field(default_factory=list)
    _reasoning: list[str] = field(default_factory=list)
    _faults: list[str] = field(default_factory=list)
    _finish: str = ""
    _done: bool = False
    _deltas: int = 0
    _events: int = 0
    _model: str = ""
    _usage: Usage | None = None
    _error: str = ""

    def feed(self, data: bytes) -> int:
        """Take bytes; returns how many events with text they completed."""
        before = self._deltas
        try:
            blocks = self.decoder.feed(data)
        except StreamError as error:
            self._fault(str(error))
            blocks = []
        for block in blocks:
            self._take(block)
        return self._deltas - before

    def close(self) -> Completion:
        """The stream ended: the completion as far as it came."""
        for block in self.decoder.close():
            self._take(block)
        return Completion(
            text="".join(self._text),
            reasoning="".join(self._reasoning),
            finish_reason=self._finish,
            done=self._done,
            deltas=self._deltas,
            events=self._events,
            model=self._model,
            usage=self._usage,
            faults=tuple(self._faults),
            error=self._error,
        )

    def _fault(self, text: str) -> None:
        if len(self._faults) < 20:
            self._faults.append(text)

    def _take(self, block: Block) -> None:
        if self._done or block.text.startswith(":"):
            return
        data = block.text.removeprefix("data:").strip()
        if data == "[DONE]":
            self._done = True
            return
        if block.replaced:
            self._fault("an event that is not UTF-8")
        try:
            event = msgspec.json.decode(data)
        except msgspec.DecodeError as error:
            self._fault(f"not JSON after `data:` ({error}): {block.text[:120]!r}")
            return
        if not isinstance(event, dict):
            self._fault(f"an event that is no JSON object: {data[:120]!r}")
            return
        self._events += 1
        self._event(event)

    def _event(self, event: dict[str, JsonValue]) -> None:
        if event.get("error") and not self._error:
            self._error = str(event["error"])[:2000]
        self._model = self._model or str(event.get("model") or "")
        usage = event.get("usage")
        if isinstance(usage, dict):
            prompt, completion = usage.get("prompt_tokens"), usage.get("completion_tokens")
            if isinstance(prompt, int) and isinstance(completion, int):
                self._usage = Usage(prompt_tokens=prompt, completion_tokens=completion)
        choices = event.get("choices")
        for choice in choices if isinstance(choices, list) else []:
            if not isinstance(choice, dict):
                self._fault(f"a choice that is no object: {str(choice)[:120]!r}")
                continue
            self._finish = str(choice.get("finish_reason") or self._finish)
            self._delta(choice.get("delta"))

    def _delta(self, delta: JsonValue) -> None:
        if not isinstance(delta, dict):
            self._fault(f"`delta` is no object: {str(delta)[:120]!r}")
            return
        text = delta.get("content")
        reasoning = delta.get("reasoning_content") or delta.get("reasoning")
        if isinstance(text, str) and text:
            self._text.append(text)
        if isinstance(reasoning, str) and reasoning:
            self._reasoning.append(reasoning)
        if text or reasoning:
            self._deltas += 1

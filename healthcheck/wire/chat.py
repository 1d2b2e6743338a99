"""Chat completions: the evaluation client's request body, and how it reads the answer."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from healthcheck.core.records import JsonValue
from healthcheck.text.messages import msg
from healthcheck.wire.sse import Block, Decoder

Message = dict[str, JsonValue]
_DATA_LINE = re.compile(r"[\r\n]data:")
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_FEW, _MANY = 8, 20
_LEAST_LOGPROB = 10_000.0
"""vLLM writes -9999 for minus infinity."""
_QUOTED_CHARACTERS = 120
_ERROR_CHARACTERS = 8000
_MOST_TOKENS = 2**53
"""The largest count that all JSON readers agree on; larger counts are ignored."""


def user(text: str) -> Message:
    """One user message, with its keys in the evaluation client's order."""
    return {"content": text, "role": "user"}


def request_body(
    messages: Sequence[Message],
    *,
    model: str,
    max_tokens: int,
    temperature: float,
    samples: int = 5,
) -> dict[str, JsonValue]:
    """The request body of the evaluation client, with its extra fields and its order of keys.

    Source: AISBench VLLMCustomAPIChat, run against a recording server. `num_return_sequences` and `ignore_eos` are
    not OpenAI fields, but the client sends them: a server that refuses them fails on the service.
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
        finish_reason: the last one that was sent, "" if none was.
        done: `[DONE]` was sent.
        deltas: the number of events with text or reasoning.
        events: the number of JSON events.
        usage: token counts, None if none were sent or they are not whole numbers.
        usage_sent: the last usage object as it was sent.
        faults: where the evaluation client breaks off, in words, in order.
        swallowed: what the client drops silently.
        error: the text of an error event inside the stream, "" if there was none.
        choices: one more than the highest choice index: the client joins the texts of all choices.
        identities: the different `id`s of the events, the first eight.
        mean_logprob: the mean log-probability of the tokens, None if the server gave none.
        late: the number of deltas after an event with finish_reason.
        torn: the number of deltas that end with U+FFFD before one that begins with it: a character was split there.
    """

    text: str = ""
    reasoning: str = ""
    finish_reason: str = ""
    done: bool = False
    deltas: int = 0
    events: int = 0
    model: str = ""
    usage: Usage | None = None
    usage_sent: JsonValue = None
    faults: tuple[str, ...] = ()
    swallowed: tuple[str, ...] = ()
    error: str = ""
    choices: int = 0
    identities: tuple[str, ...] = ()
    torn: int = 0
    late: int = 0
    mean_logprob: float | None = None


@dataclass(slots=True)
class Reader:
    """Folds a byte stream into a Completion. Feed it bytes; it does no I/O and raises nothing.

    It continues where the evaluation client would break off, so that a report can show the rest.
    """

    decoder: Decoder = field(default_factory=Decoder)
    max_characters: int = 64 * 2**20
    events: int = 0
    _text: list[str] = field(default_factory=list)
    _reasoning: list[str] = field(default_factory=list)
    _faults: list[str] = field(default_factory=list)
    _swallowed: list[str] = field(default_factory=list)
    _identities: dict[str, None] = field(default_factory=dict)
    _identity: JsonValue = None
    _characters: int = 0
    _choices: int = 0
    _torn: int = 0
    _late: int = 0
    _finish: str = ""
    _done: bool = False
    _deltas: int = 0
    _model: str = ""
    _usage: JsonValue = None
    _error: str = ""
    _logprobs: float = 0.0
    _tokens: int = 0

    def feed(self, data: bytes) -> int:
        """Process bytes; returns the number of events with text that they completed."""
        before = self._deltas
        for block in self.decoder.feed(data):
            self._take(block)
        return self._deltas - before

    @property
    def done(self) -> bool:
        """Whether `[DONE]` was sent: the evaluation client stops reading there."""
        return self._done

    def close(self) -> Completion:
        """End the stream; returns the completion so far."""
        for block in self.decoder.close():
            self._take(block)
        return Completion(
            text="".join(self._text),
            reasoning="".join(self._reasoning),
            finish_reason=self._finish,
            done=self._done,
            deltas=self._deltas,
            events=self.events,
            model=self._model,
            usage=_usage(self._usage),
            usage_sent=self._usage,
            faults=tuple(self._faults) + self.decoder.faults,
            swallowed=tuple(self._swallowed),
            error=self._error,
            choices=self._choices,
            identities=tuple(self._identities),
            torn=self._torn,
            late=self._late,
            mean_logprob=self._logprobs / self._tokens if self._tokens else None,
        )

    def _take(self, block: Block) -> None:
        if self._done:
            return
        if block.replaced:
            _note(
                self._faults,
                msg("an event that is not UTF-8: {quoted}", quoted=_quoted(block.text)),
            )
        if block.text.startswith(":"):
            if _DATA_LINE.search(block.text):
                _note(
                    self._swallowed,
                    msg(
                        "data in the same block as a comment: {quoted}", quoted=_quoted(block.text)
                    ),
                )
            return
        data = block.text.removeprefix("data:").strip()
        if data == "[DONE]":
            self._done = True
            return
        try:
            event = _parse(data)
        except ValueError as error:
            _note(
                self._faults,
                msg(
                    "not JSON after `data:` ({error}): {quoted}",
                    error=error,
                    quoted=_quoted(block.text),
                ),
            )
            return
        if not isinstance(event, dict):
            _note(
                self._faults,
                msg("an event that is not a JSON object: {quoted}", quoted=_quoted(data)),
            )
            return
        self.events += 1
        self._event(event)

    def _event(self, event: dict[str, JsonValue]) -> None:
        if event.get("error") or event.get("object") == "error":
            self._error = (
                self._error
                or _words(event.get("error") or event.get("message") or event)[:_ERROR_CHARACTERS]
            )
        self._model = self._model or _words(event.get("model") or "")
        self._name(event.get("id"))
        usage = event.get("usage")
        if usage and not isinstance(usage, dict):
            _note(self._faults, msg("`usage` is not an object: {quoted}", quoted=_quoted(usage)))
        self._usage = usage or self._usage
        choices = event.get("choices", [])
        if not isinstance(choices, list) and choices not in ({}, ""):
            _note(self._faults, msg("`choices` is not a list: {quoted}", quoted=_quoted(choices)))
        for choice in choices if isinstance(choices, list) else []:
            self._choice(choice)

    def _name(self, identity: JsonValue) -> None:
        if identity and identity != self._identity and len(self._identities) < _FEW:
            self._identities[_words(identity)] = None
            self._identity = identity

    def _choice(self, choice: JsonValue) -> None:
        if not isinstance(choice, dict):
            _note(
                self._faults,
                msg("a choice that is not an object: {quoted}", quoted=_quoted(choice)),
            )
            return
        index = choice.get("index")
        self._choices = max(self._choices, index + 1 if isinstance(index, int) else 1)
        finished = bool(self._finish) and self._choices == 1
        if finish := choice.get("finish_reason"):
            self._finish = _words(finish)
        delta = choice.get("delta")
        if not isinstance(delta, dict):
            kind = (
                msg("a choice without `delta`")
                if "delta" not in choice
                else msg("`delta` is not an object")
            )
            _note(self._faults, msg("{kind}: {quoted}", kind=kind, quoted=_quoted(choice)))
            return
        self._weigh(choice.get("logprobs"))
        text = self._append(self._text, delta.get("content"), "content")
        reasoning = delta.get("reasoning_content") or delta.get("reasoning")
        if self._append(self._reasoning, reasoning, "reasoning") or text:
            self._deltas += 1
            self._late += finished

    def _weigh(self, logprobs: JsonValue) -> None:
        tokens = logprobs.get("content") if isinstance(logprobs, dict) else None
        for token in tokens if isinstance(tokens, list) else []:
            value = token.get("logprob") if isinstance(token, dict) else None
            if isinstance(value, int | float) and -_LEAST_LOGPROB <= value <= 0:
                self._logprobs += value
                self._tokens += 1

    def _append(self, pieces: list[str], piece: JsonValue, name: str) -> bool:
        if not piece:
            return False
        if not isinstance(piece, str):
            _note(
                self._faults,
                msg("`{name}` is not text: {quoted}", name=name, quoted=_quoted(piece)),
            )
            return False
        plain = _plain(piece)
        if plain != piece:
            _note(
                self._swallowed,
                msg("half of a surrogate pair in the text: {quoted}", quoted=_quoted(plain)),
            )
        if self._characters + len(plain) > self.max_characters:
            _note(
                self._faults,
                msg(
                    "an answer of more than {max_characters} characters",
                    max_characters=self.max_characters,
                ),
            )
            return False
        self._characters += len(plain)
        self._torn += bool(pieces) and pieces[-1][-1] == _REPLACEMENT == plain[0]
        pieces.append(plain)
        return True


def _note(notes: list[str], text: str) -> None:
    if len(notes) < _MANY and text not in notes:
        notes.append(text)


def _quoted(value: JsonValue) -> str:
    return repr(_words(value)[:_QUOTED_CHARACTERS])


def _words(value: JsonValue) -> str:
    """Any JSON value as text that a file can hold."""
    try:
        return _plain(str(value))
    except (
        RecursionError,
        ValueError,
    ):  # nested too deeply to print, or a number of thousands of digits
        return msg("a {name} too large to print", name=type(value).__name__)


def _plain(text: str) -> str:
    """The text with lone surrogates replaced, which no file can hold."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _parse(text: str) -> JsonValue:
    """Parse JSON as the evaluation client does, by Python's own reader; msgspec is faster where both agree.

    Raises:
        ValueError: the client could not read it.
    """
    try:
        value: JsonValue = msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        try:
            value = json.loads(text)
        except RecursionError as error:
            raise ValueError("nested too deeply") from error
    return value


def _usage(sent: JsonValue) -> Usage | None:
    if not isinstance(sent, dict):
        return None
    prompt, completion = sent.get("prompt_tokens"), sent.get("completion_tokens")
    if (
        type(prompt) is int
        and type(completion) is int
        and max(abs(prompt), abs(completion)) < _MOST_TOKENS
    ):
        return Usage(prompt_tokens=prompt, completion_tokens=completion)
    return None

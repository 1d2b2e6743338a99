"""Requests for log-probabilities, and their answers, in the forms that servers support."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from healthcheck import contract
from healthcheck.core.records import JsonValue
from healthcheck.extensions.numerics.records import Api, Position, Prompt, Reading
from healthcheck.system import json_text
from healthcheck.system.json_text import JsonError
from healthcheck.text.messages import msg
from healthcheck.wire.sse import Decoder

COMPLETIONS_PATH = "/v1/completions"
MOST_LOGPROBS = (20, 5, 1)
"""The limits of vLLM (--max-logprobs) and of OpenAI's completions, and the minimum."""
WITHOUT = msg("no log-probabilities in the answer")
_WORD = re.compile(r"\s*\S+|\s+")
_THOUGHTS = ("reasoning_content", "reasoning")


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """The form of requests to a server.

    Attributes:
        logprobs: the number of tokens with log-probabilities; 0 requests text alone.
        extras: whether to send vLLM's fields beyond OpenAI's, which some servers refuse.
    """

    model: str
    api: Api
    logprobs: int
    extras: bool

    @property
    def path(self) -> str:
        return contract.CHAT_PATH if self.api is Api.CHAT else COMPLETIONS_PATH

    def body(self, prompts: Sequence[Prompt], *, tokens: int, salt: str) -> dict[str, JsonValue]:
        """A greedy request for one completion of each prompt; chat takes one prompt."""
        body: dict[str, JsonValue] = {"model": self.model, "max_tokens": tokens, "temperature": 0}
        if self.api is Api.CHAT:
            body["messages"] = [{"role": "user", "content": prompts[0].text}]
            body |= {"logprobs": True, "top_logprobs": self.logprobs} if self.logprobs else {}
        else:
            body["prompt"] = prompts[0].sent if len(prompts) == 1 else [prompt.sent for prompt in prompts]
            body |= {"logprobs": self.logprobs} if self.logprobs else {}
        if self.extras:
            body |= {"cache_salt": salt, "ignore_eos": True, "return_tokens_as_token_ids": True}
        return body

    def read(self, status: int, data: bytes) -> Reading:
        """The reading in an answer, which may be a stream."""
        if status != 200:
            return Reading(error=f"HTTP {status}: {data[:300].decode('utf-8', 'replace')}")
        try:
            choices = [_choice(each) for each in _answers(data)]
            positions = [place for choice in choices if choice for place in self._positions(choice)]
        except (JsonError, KeyError, TypeError, ValueError, IndexError) as error:
            return Reading(error=msg("{without} ({error})", WITHOUT, f"{type(error).__name__}: {error}"))
        if not self.logprobs:
            words = _WORD.findall("".join(place.token for place in positions))
            positions = [Position(token=word, top={}) for word in words or [""]]
        wrong = [value for each in positions for value in each.top.values() if not value <= 1e-3]
        if wrong:
            return Reading(error=msg("{wrong} is given as a log-probability", wrong[0]))
        return Reading(positions=tuple(positions)) if positions else Reading(error=msg("an answer without a token"))

    def _positions(self, choice: Mapping[str, JsonValue]) -> Sequence[Position]:
        if not self.logprobs:
            return [Position(token=_text(choice), top={})]
        if choice.get("logprobs") is None and _ends_a_stream(choice):
            return ()
        fields = _object(choice["logprobs"])
        return _of_chat(fields) if "content" in fields else _of_completions(fields)


def candidates(model: str) -> Sequence[Dialect]:
    """The forms of requests, the most informative first."""
    return [
        Dialect(model=model, api=api, logprobs=logprobs, extras=extras)
        for most in (MOST_LOGPROBS, (0,))
        for api in Api
        for extras in (True, False)
        for logprobs in most
    ]


def prompt_tokens(data: bytes) -> tuple[int, ...]:
    """The prompt tokens in an answer (`return_token_ids`); () without them."""
    try:
        answer = json_text.load(data)
    except JsonError:
        return ()
    ids = answer.get("prompt_token_ids") if isinstance(answer, dict) else None
    return tuple(each for each in ids if isinstance(each, int)) if isinstance(ids, list) else ()


def _answers(data: bytes) -> Iterator[JsonValue]:
    """The answer, or the events of a stream."""
    if not data.lstrip().startswith((b"data:", b":")):
        yield json_text.load(data)
        return
    decoder = Decoder()
    for block in (*decoder.feed(data), *decoder.close()):
        for line in block.text.splitlines():
            text = line.removeprefix("data:").strip()
            if line.startswith("data:") and text != "[DONE]":
                yield json_text.load(text)


def _choice(answer: JsonValue) -> Mapping[str, JsonValue]:
    """The first choice; {} for an event without one, such as that of the usage."""
    if not isinstance(answer, dict) or not isinstance(answer.get("choices"), list):
        raise TypeError(msg("no choices"))
    choices = _list(answer["choices"])
    choice = _object(choices[0]) if choices else {}
    delta = choice.get("delta")
    opening = isinstance(delta, dict) and not _said(delta) and choice.get("logprobs") is None
    return {} if opening and not choice.get("finish_reason") else choice


def _ends_a_stream(choice: Mapping[str, JsonValue]) -> bool:
    """Whether the event has only a finish_reason, and so possibly no log-probabilities."""
    delta = choice.get("delta")
    empty = not _said(delta) if isinstance(delta, dict) else not choice.get("text") and "message" not in choice
    return bool(choice.get("finish_reason")) and empty


def _text(choice: Mapping[str, JsonValue]) -> str:
    message = choice.get("message", choice.get("delta"))
    if isinstance(message, dict):
        return _said(message)
    return "" if _ends_a_stream(choice) else str(choice["text"])


def _said(message: Mapping[str, JsonValue]) -> str:
    return "".join(str(message[name]) for name in (*_THOUGHTS, "content") if message.get(name))


def _of_completions(said: Mapping[str, JsonValue]) -> Sequence[Position]:
    """The form with parallel lists `tokens` and `top_logprobs`."""
    tokens = _list(said["tokens"])
    tops = said.get("top_logprobs") or [None] * len(tokens)
    own = said.get("token_logprobs") or [None] * len(tokens)
    return [
        _position(str(token), _object(top).items() if top else (), value)
        for token, top, value in zip(tokens, _list(tops), _list(own), strict=True)
    ]


def _of_chat(said: Mapping[str, JsonValue]) -> Sequence[Position]:
    """The form with one object per token; llama.cpp also answers completions in this form."""
    entries = map(_object, _list(said["content"] or []))
    return [
        _position(
            str(entry["token"]),
            [(top["token"], top["logprob"]) for top in map(_object, _list(entry.get("top_logprobs") or []))],
            entry.get("logprob"),
        )
        for entry in entries
    ]


def _position(token: str, items: object, own: JsonValue) -> Position:
    """A position of a completion; if the server names no other tokens, with the chosen one alone.

    Raises:
        ValueError: a value is missing or not a number.
    """
    top: dict[str, float] = {}
    for name, value in items or ((token, own),):  # type: ignore[attr-defined]
        number = math.nan if value is None else float(value)
        if math.isnan(number):
            raise ValueError(msg("{value} is given as a log-probability", value))
        top[str(name)] = number
    return Position(token=token, top=top)


def _object(value: JsonValue) -> Mapping[str, JsonValue]:
    if not isinstance(value, dict):
        raise TypeError(msg("{value:.50} instead of an object", repr(value)))
    return value


def _list(value: JsonValue) -> Sequence[JsonValue]:
    if not isinstance(value, list):
        raise TypeError(msg("{value:.50} instead of a list", repr(value)))
    return value

"""Requests for log-probabilities in vLLM's form, and their answers, which may be streams."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from healthcheck.core.records import JsonValue
from healthcheck.extensions.numerics.records import Position, Prompt, Reading
from healthcheck.system import json_text
from healthcheck.system.json_text import JsonError
from healthcheck.text.messages import msg
from healthcheck.wire.sse import Decoder

COMPLETIONS_PATH = "/v1/completions"
MOST_LOGPROBS = (20, 5, 1)
"""The limits of vLLM (--max-logprobs) and of OpenAI's completions, and the minimum."""
NEUTRAL: Mapping[str, JsonValue] = {
    "top_p": 1, "top_k": -1, "min_p": 0, "repetition_penalty": 1, "presence_penalty": 0, "frequency_penalty": 0,
}  # fmt: skip
"""Parameters that leave the model's distribution as it is: a server may have other ones by default."""
_LARGEST = 3.0
"""Nats. A wrong normaliser may tell more than 0, which numerics/sampler names; what is larger is a logit."""
WITHOUT = msg("no log-probabilities in the answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """Requests to a server for this model, with `logprobs` log-probabilities per token.

    Attributes:
        neutral: NEUTRAL, or nothing if the server refuses it.
    """

    model: str
    logprobs: int
    neutral: Mapping[str, JsonValue] = field(default_factory=lambda: NEUTRAL)

    def body(
        self,
        prompts: Sequence[Prompt],
        *,
        tokens: int,
        salt: str,
        sampling: Mapping[str, JsonValue] | None = None,
    ) -> dict[str, JsonValue]:
        """A request for one completion of each prompt, greedy unless `sampling` says how."""
        prompt = prompts[0].sent if len(prompts) == 1 else [each.sent for each in prompts]
        return {
            "prompt": prompt,
            "logprobs": self.logprobs,
            **self._common(tokens, salt),
            **(sampling or self._greedy),
        }

    def chat_body(self, prompt: Prompt, *, tokens: int, salt: str) -> dict[str, JsonValue]:
        """A request for the answer to a message with the text of the prompt."""
        message: JsonValue = {"role": "user", "content": prompt.text}
        asked: dict[str, JsonValue] = {
            "logprobs": True,
            "top_logprobs": self.logprobs,
            "return_token_ids": True,
        }
        return {"messages": [message], **asked, **self._common(tokens, salt), **self._greedy}

    @property
    def _greedy(self) -> Mapping[str, JsonValue]:
        return {"temperature": 0, **self.neutral}

    def _common(self, tokens: int, salt: str) -> dict[str, JsonValue]:
        asked: dict[str, JsonValue] = {
            "model": self.model,
            "max_tokens": tokens,
            "cache_salt": salt,
        }
        return asked | {"ignore_eos": True, "return_tokens_as_token_ids": True}


def read(status: int, data: bytes) -> Sequence[Reading]:
    """The readings in an answer, which may be a stream: one for each prompt, in their order."""
    if status != 200:
        return [Reading(error=f"HTTP {status}: {data[:300].decode('utf-8', 'replace')}")]
    found: dict[int, list[Position]] = {}
    try:
        for choice in itertools.chain.from_iterable(map(_choices, _answers(data))):
            found.setdefault(int(str(choice.get("index", 0))), []).extend(_positions(choice))
    except (JsonError, KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
        return [
            Reading(
                error=msg(
                    "{without} ({error})", without=WITHOUT, error=f"{type(error).__name__}: {error}"
                )
            )
        ]
    return [_reading(positions) for _, positions in sorted(found.items())] or [_reading(())]


def _reading(positions: Sequence[Position]) -> Reading:
    wrong = [value for each in positions for value in each.top.values() if not value <= _LARGEST]
    if wrong:
        return Reading(error=msg("{wrong} is given as a log-probability", wrong=wrong[0]))
    return (
        Reading(positions=tuple(positions))
        if positions
        else Reading(error=msg("an answer without a token"))
    )


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


def _choices(answer: JsonValue) -> Iterator[Mapping[str, JsonValue]]:
    """The choices; none for an event without tokens, such as that of the usage or the end of a stream."""
    if not isinstance(answer, dict) or not isinstance(answer.get("choices"), list):
        raise TypeError(msg("no choices"))
    for choice in map(_object, _list(answer["choices"])):
        ends_a_stream = (
            choice.get("finish_reason") and not choice.get("text") and "message" not in choice
        )
        if not ends_a_stream or choice.get("logprobs") is not None:
            yield choice


def _positions(choice: Mapping[str, JsonValue]) -> Sequence[Position]:
    fields = _object(choice["logprobs"])
    return _of_chat(fields) if "content" in fields else _of_completions(fields)


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
    """The form with one object per token."""
    entries = map(_object, _list(said["content"] or []))
    found = []
    for entry in entries:
        tops = map(_object, _list(entry.get("top_logprobs") or []))
        items = [(top["token"], top["logprob"]) for top in tops]
        found.append(_position(str(entry["token"]), items, entry.get("logprob")))
    return found


def _position(token: str, items: object, own: JsonValue) -> Position:
    """A position of a completion; if the server names no other tokens, with the chosen one alone.

    Raises:
        ValueError: a value is missing or not a finite number.
    """
    top: dict[str, float] = {}
    for name, value in items or ((token, own),):  # type: ignore[attr-defined]
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not math.isfinite(value)
        ):
            raise ValueError(msg("{value} is given as a log-probability", value=value))
        top[str(name)] = float(value)
    return Position(token=token, top=top)


def _object(value: JsonValue) -> Mapping[str, JsonValue]:
    if not isinstance(value, dict):
        raise TypeError(msg("{value:.50} instead of an object", value=repr(value)))
    return value


def _list(value: JsonValue) -> Sequence[JsonValue]:
    if not isinstance(value, list):
        raise TypeError(msg("{value:.50} instead of a list", value=repr(value)))
    return value

"""The dialects of real servers: convert a generation to the blocks of an event stream, or to a plain body.

Modelled on the streams of vLLM, SGLang, llama.cpp, transformers serve, TGI, LMDeploy and MindIE, with the
differences that a reader could trip over, and on further forms that HTTP and server-sent events allow.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace

from healthcheck.core.records import JsonValue
from healthcheck.extensions.simulator.generation import Generation

MARK = "simulated"
"""The system fingerprint of all responses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """The wire format of one server.

    Attributes:
        prefix: the text before the JSON of an event.
        blank: the blank line that ends an event.
        role: "first" sends a chunk with only the role; "every" repeats it in every delta; "joined" puts it into the
            first delta with text.
        finish: "chunk" sends finish_reason in a separate chunk, "last" in the last chunk with text.
        usage: "chunk" after the last choice, "finish" with finish_reason, "every" in every chunk, "none".
        reasoning: the name of the field that carries reasoning, "" for a model without.
        group: tokens in one event.
        framing: "chunked", or "close" if the end of the connection ends the body.
        cut: how the bytes of a stream are written: "event" each event, "bytes" a few bytes at a time, "packed" many
            events at once.
        comments: whether there are comments before the first event and between events.
        any_model: whether the model name of a request is ignored.
        logprobs: whether log-probabilities are sent on request.
        takes_zero: whether temperature 0 is accepted; some servers require a positive one.
        completions: whether /v1/completions and /tokenize exist, too.
        lists_context: whether the list of models has max_model_len.
        empty_opening: the content of a chunk that only begins an answer.
    """

    name: str
    prefix: str = "data: "
    blank: str = "\n\n"
    role: str = "first"
    finish: str = "chunk"
    usage: str = "chunk"
    reasoning: str = ""
    group: int = 1
    framing: str = "chunked"
    cut: str = "event"
    comments: bool = False
    any_model: bool = False
    logprobs: bool = True
    takes_zero: bool = True
    completions: bool = False
    lists_context: bool = False
    empty_opening: str | None = ""
    gzip: bool = False
    content_type: str = "text/event-stream; charset=utf-8"


_VLLM = Dialect(name="vllm", completions=True)
DIALECTS: dict[str, Dialect] = {
    dialect.name: dialect
    for dialect in (
        replace(_VLLM, lists_context=True),
        Dialect(name="sglang", any_model=True, content_type="text/event-stream", lists_context=True),
        Dialect(name="llamacpp", any_model=True, logprobs=False, empty_opening=None),
        Dialect(name="transformers", role="joined", usage="none", any_model=True, logprobs=False),
        Dialect(name="tgi", prefix="data:", role="every", finish="last", any_model=True, logprobs=False),
        Dialect(name="lmdeploy", role="every", finish="last", usage="finish"),
        Dialect(name="mindie", role="every", finish="last", usage="finish", logprobs=False,
                content_type="text/event-stream"),
        replace(_VLLM, name="crlf", blank="\r\n\r\n"),
        replace(_VLLM, name="cr", blank="\r\r", framing="close"),
        replace(_VLLM, name="comments", comments=True),
        replace(_VLLM, name="split", cut="bytes"),
        replace(_VLLM, name="packed", cut="packed"),
        replace(_VLLM, name="grouped", group=8),
        replace(_VLLM, name="close", framing="close", cut="bytes"),
        replace(_VLLM, name="no-usage", usage="none"),
        replace(_VLLM, name="usage-always", usage="every"),
        replace(_VLLM, name="reasoning", reasoning="reasoning_content"),
        replace(_VLLM, name="reasoning-new", reasoning="reasoning", role="joined"),
        replace(_VLLM, name="gzip", gzip=True),
        replace(_VLLM, name="strictly-positive", takes_zero=False),
    )
}  # fmt: skip


def head(kind: str, identity: str, model: str) -> dict[str, JsonValue]:
    """The fields that begin every completion, and every event of one."""
    return {
        "id": identity,
        "object": kind,
        "created": 0,
        "model": model,
        "system_fingerprint": MARK,
    }


def blocks(
    generation: Generation, dialect: Dialect, *, identity: str, model: str, logprobs: bool = False
) -> tuple[list[str], list[str]]:
    """The events of a streamed answer without their blank lines: those with text, then those after the text."""

    def event(*choices: JsonValue) -> dict[str, JsonValue]:
        return {**head("chat.completion.chunk", identity, model), "choices": list(choices)}

    told = [event(choice) for choice in _told(generation, dialect, logprobs=logprobs)]
    opening = (
        [event(_choice({"role": "assistant", "content": dialect.empty_opening}, None))]
        if dialect.role == "first"
        else []
    )
    begun = opening + told
    ended = [] if dialect.finish == "last" and told else [event(_choice({}, generation.finish))]
    usage: dict[str, JsonValue] = {"usage": usage_of(generation)}
    if dialect.usage in {"chunk", "every"}:
        ended.append(event() | usage)
    if dialect.usage == "every":
        begun = [each | usage for each in begun]
    elif dialect.usage == "finish" and dialect.finish == "last" and begun:
        begun[-1] |= usage
    texts = [dialect.prefix + json.dumps(each, ensure_ascii=False) for each in begun]
    if dialect.comments:
        texts = [block for text in texts for block in (": keep-alive", text)]
    lines = [*(json.dumps(each, ensure_ascii=False) for each in ended), "[DONE]"]
    return texts, [dialect.prefix + line for line in lines]


def _told(
    generation: Generation, dialect: Dialect, *, logprobs: bool
) -> Iterator[dict[str, JsonValue]]:
    """The choices with text; the last one has finish_reason if the dialect puts it there."""
    groups = list(_groups(generation, dialect))
    for index, (field, start, tokens) in enumerate(groups):
        role = (
            {"role": "assistant"}
            if dialect.role == "every" or (dialect.role == "joined" and not index)
            else {}
        )
        ends = index == len(groups) - 1 and dialect.finish == "last"
        choice = _choice({**role, field: "".join(tokens)}, generation.finish if ends else None)
        if logprobs and dialect.logprobs:
            choice["logprobs"] = _logprobs(generation, start, tokens)
        yield choice


def plain(
    generation: Generation, dialect: Dialect, *, identity: str, model: str, logprobs: bool
) -> dict[str, JsonValue]:
    """The body of a plain answer."""
    message: dict[str, JsonValue] = {"role": "assistant", "content": generation.text}
    if generation.reasoning:
        message[dialect.reasoning or "reasoning_content"] = "".join(generation.reasoning)
    choice: dict[str, JsonValue] = {
        "index": 0,
        "message": message,
        "finish_reason": generation.finish,
    }
    if logprobs and dialect.logprobs:
        choice["logprobs"] = _logprobs(generation, 0, (*generation.reasoning, *generation.tokens))
    return {
        **head("chat.completion", identity, model),
        "choices": [choice],
        "usage": usage_of(generation),
    }


def usage_of(generation: Generation) -> dict[str, JsonValue]:
    counts = {
        "prompt_tokens": generation.prompt_tokens,
        "completion_tokens": generation.completion_tokens,
    }
    return {**counts, "total_tokens": sum(counts.values())}


def _groups(generation: Generation, dialect: Dialect) -> Iterator[tuple[str, int, tuple[str, ...]]]:
    """The tokens of each event: their field, the index of the first one, and their texts."""
    before = 0
    thoughts = (dialect.reasoning or "reasoning_content", generation.reasoning)
    for field, tokens in (thoughts, ("content", generation.tokens)):
        for start in range(0, len(tokens), dialect.group):
            yield field, before + start, tokens[start : start + dialect.group]
        before += len(tokens)


def _logprobs(generation: Generation, start: int, tokens: tuple[str, ...]) -> JsonValue:
    entries: list[JsonValue] = [
        {
            "token": token,
            "logprob": generation.logprob(place),
            "bytes": list(token.encode()),
            "top_logprobs": [],
        }
        for place, token in enumerate(tokens, start)
    ]
    return {"content": entries}


def _choice(delta: dict[str, JsonValue], finish: str | None) -> dict[str, JsonValue]:
    return {"index": 0, "delta": delta, "finish_reason": finish}

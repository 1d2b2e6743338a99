"""What each request of a run has beside the problem: the prompt around it, the fields of the body, the headers."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from healthcheck.json_text import plain
from healthcheck.probe.options.kinds import quoted
from healthcheck.probe.problems import Problem, instruction, message, prompt
from healthcheck.records import JsonValue
from healthcheck.wire.chat import Message, user

QUESTION = "{question}"
INSTRUCTION = "{instruction}"
_EMPTY: tuple[object, ...] = (None, "", (), {})
_NOT_COMPARED = {"headers", "headers_env", "api_key_env"}
"""They open a door, and move no accuracy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A problem that is shown with its answer before one that is asked: any, or one of the data set `source`."""

    question: str
    answer: str
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestOptions:
    """What a request has beside the problem. What is empty or None is not sent.

    Attributes:
        system: the system message.
        prompt: the user message, with {question} and maybe {instruction} in it; "" for the kit's own.
        examples: shown before the problem, each as a user and an assistant message.
        request_seed: the seed of the first sample of a problem; the next has the next number.
        chat_template_kwargs: variables of the chat template, such as enable_thinking.
        extra_body: further fields of the body.
        headers: headers whose values are not secrets.
        headers_env: headers, each with the environment variable that has its value.
        api_key_env: the environment variable that has the API key.
    """

    system: str = ""
    prompt: str = ""
    examples: tuple[Example, ...] = ()
    top_p: float | None = None
    top_k: int | None = None
    stop: tuple[str, ...] = ()
    request_seed: int | None = None
    chat_template_kwargs: Mapping[str, Any] = field(default_factory=dict)
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    headers_env: Mapping[str, str] = field(default_factory=dict)
    api_key_env: str = ""


def prompt_of(problem: Problem, options: RequestOptions) -> str:
    """The text of the user message that asks a problem."""
    if not options.prompt:
        return prompt(problem)
    return options.prompt.replace(INSTRUCTION, instruction(problem)).replace(QUESTION, problem.question)


def messages(problem: Problem, options: RequestOptions) -> list[Message]:
    """All messages of a request: the system message, the examples, the problem."""
    around: list[Message] = [{"content": options.system, "role": "system"}] if options.system else []
    for example in options.examples:
        if example.source and not problem.id.startswith(f"{example.source}/"):
            continue
        around += [user(example.question), {"content": example.answer, "role": "assistant"}]
    return [*around, message(problem, prompt_of(problem, options))]


def text_bytes(problem: Problem, options: RequestOptions) -> int:
    """How many bytes of text the messages of a request have."""
    said = messages(replace(problem, images=()), options)
    return sum(len(str(turn["content"]).encode()) for turn in said)


def fields(options: RequestOptions, repeat: int) -> dict[str, JsonValue]:
    """The further fields of the body of a problem's sample number `repeat`, from 0."""
    sent: dict[str, JsonValue] = {}
    if options.top_p is not None:
        sent["top_p"] = options.top_p
    if options.top_k is not None:
        sent["top_k"] = options.top_k
    if options.stop:
        sent["stop"] = list(options.stop)
    if options.request_seed is not None:
        sent["seed"] = options.request_seed + repeat
    if options.chat_template_kwargs:
        sent["chat_template_kwargs"] = {**options.chat_template_kwargs}
    return {**sent, **options.extra_body}


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """An option that two runs have otherwise: its name, and both values in words."""

    name: str
    before: str
    now: str


def differences(before: RequestOptions, now: RequestOptions) -> Iterator[Difference]:
    """What the requests of two runs have otherwise and moves accuracy; not their headers."""
    for each in dataclasses.fields(RequestOptions):
        first, second = getattr(before, each.name), getattr(now, each.name)
        if each.name not in _NOT_COMPARED and first != second:
            yield Difference(name=each.name, before=_shown(first), now=_shown(second))


def sent(request: RequestOptions) -> dict[str, JsonValue]:
    """What each request had beside the problem: what was set, without secrets, examples by their number."""
    said = {each.name: getattr(request, each.name) for each in dataclasses.fields(request)}
    shown = {**said, "examples": len(request.examples) or None}
    return {name: plain(value) for name, value in shown.items() if value not in _EMPTY}


def _shown(value: object) -> str:
    """A value of a request in words; empty ones are not sent."""
    return "not sent" if value in _EMPTY else quoted(plain(value))

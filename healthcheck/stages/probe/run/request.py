"""The parts of a request besides the problem: the prompt around it, the fields of the body, the headers."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import replace

from healthcheck.core.records import JsonValue
from healthcheck.stages.probe.options.reading import quoted
from healthcheck.stages.probe.problems import Problem, instruction, message, prompt
from healthcheck.stages.probe.records import QUESTION, RequestOptions
from healthcheck.system.json_text import plain
from healthcheck.wire.chat import Message, user

INSTRUCTION = "{instruction}"
_EMPTY: tuple[object, ...] = (None, "", (), {})
_NOT_COMPARED = {"headers", "headers_env", "api_key_env"}
"""They grant access, and do not affect accuracy."""


def prompt_of(problem: Problem, options: RequestOptions) -> str:
    """The text of the user message for a problem."""
    if not options.prompt:
        return prompt(problem)
    return options.prompt.replace(INSTRUCTION, instruction(problem)).replace(
        QUESTION, problem.question
    )


def messages(problem: Problem, options: RequestOptions) -> list[Message]:
    """All messages of a request: the system message, the examples, the problem."""
    around: list[Message] = (
        [{"content": options.system, "role": "system"}] if options.system else []
    )
    for example in options.examples:
        if example.source and not problem.id.startswith(f"{example.source}/"):
            continue
        around += [user(example.question), {"content": example.answer, "role": "assistant"}]
    return [*around, message(problem, prompt_of(problem, options))]


def text_bytes(problem: Problem, options: RequestOptions) -> int:
    """The size in bytes of the text in the messages of a request."""
    said = messages(replace(problem, images=()), options)
    return sum(len(str(turn["content"]).encode()) for turn in said)


def fields(options: RequestOptions, repeat: int) -> dict[str, JsonValue]:
    """The further fields of the body for sample `repeat` of a problem, counted from 0."""
    own = {
        "top_p": options.top_p,
        "top_k": options.top_k,
        "stop": options.stop,
        "seed": None if options.request_seed is None else options.request_seed + repeat,
        "chat_template_kwargs": options.chat_template_kwargs,
    }
    return {
        **{name: plain(value) for name, value in own.items() if value not in _EMPTY},
        **options.extra_body,
    }


def differences(before: RequestOptions, now: RequestOptions) -> Iterator[tuple[str, str, str]]:
    """The options that differ between the requests of two runs and affect accuracy: name, and both in words."""
    for each in dataclasses.fields(RequestOptions):
        first, second = getattr(before, each.name), getattr(now, each.name)
        if each.name not in _NOT_COMPARED and first != second:
            yield each.name, _shown(first), _shown(second)


def sent(request: RequestOptions) -> dict[str, JsonValue]:
    """The options of each request that are set, without secrets; examples by their number."""
    said = {each.name: getattr(request, each.name) for each in dataclasses.fields(request)}
    shown = {**said, "examples": len(request.examples) or None}
    return {name: plain(value) for name, value in shown.items() if value not in _EMPTY}


def _shown(value: object) -> str:
    """A value of a request in words; empty values are not sent."""
    return "not sent" if value in _EMPTY else quoted(plain(value))

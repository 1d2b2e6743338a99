"""Does the model agree with the answers that came? Greedy answers, scored by the server behind their own problems.

Whatever changes a prompt, a token or a text on its way (a front, a replica, a sampler, a draft) leaves tokens
that the model itself calls unlikely. vLLM scores a text behind a problem with `prompt_logprobs`. Prompt and
answer together have few tokens, and one is scored at a time: vLLM keeps the logits of a whole prompt in the
memory of the device.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence

from healthcheck.core.records import JsonValue
from healthcheck.extensions.numerics.bench import Bench
from healthcheck.extensions.numerics.records import Scored
from healthcheck.system import json_text
from healthcheck.system.json_text import JsonError

ANSWERS = 20
_TOKENS = 64
_CHARACTERS = range(12, 32 * _TOKENS)
_MOST_BYTES = 2**22
_LARGEST = 3.0
"""Nats. A wrong normaliser may tell more than 0; what is larger is a logit."""


async def own_answers(bench: Bench) -> tuple[Scored, ...]:
    """Answers to word problems that were asked all at once, as far as the server scores them."""
    asker, problems = bench.asker, bench.messages[-ANSWERS:]
    said = await asyncio.gather(*(asker.answer(problem, tokens=_TOKENS) for problem in problems))
    pairs = [pair for pair in zip(problems, said, strict=True) if len(pair[1]) in _CHARACTERS]
    if not pairs:
        return ()
    problem, answer = pairs[0]
    first = await asker.score(problem, answer)
    if not _joins(await asker.score(problem, ""), first, answer):
        return ()
    responses = [first, *[await asker.score(*pair) for pair in pairs[1:]]]
    found = [scored(data, answer) for data, (_, answer) in zip(responses, pairs, strict=True)]
    return tuple(each for each in found if each)


def _joins(alone: bytes, whole: bytes, answer: str) -> bool:
    """Whether an answer was scored behind what it was generated from.

    A template may put thoughts before an answer that is a turn of the conversation, or leave them out.
    """
    prompt = _text(_places(alone))
    return bool(prompt) and _text(_places(whole)).startswith(prompt + answer)


def scored(data: bytes, answer: str) -> Scored | None:
    """The score of an answer in a response with `prompt_logprobs`; None if its tokens are not there.

    The first and the last token are left out: a template may join them with its own text. So is a token where the
    text goes on with the likeliest one: a text that is read again may be cut into other tokens.
    """
    places = _places(data)
    text = _text(places)
    start = text.rfind(answer)
    if start < 0:
        return None
    worst, at = Scored(answer=answer), 0
    for token, likeliest, behind in places:
        inside = start < at and at + len(token) < start + len(answer)
        another = not (likeliest and text.startswith(likeliest, at))
        if inside and another and behind > worst.behind:
            worst = Scored(answer=answer, behind=behind, token=token, likeliest=likeliest)
        at += len(token)
    return worst


def _text(places: Sequence[tuple[str, str, float]]) -> str:
    return "".join(token for token, _, _ in places)


def _places(data: bytes) -> Sequence[tuple[str, str, float]]:
    """Each token of a prompt, the likeliest in its place, and the nats between; vLLM names the own one first.

    There are none where the response is too large, or not of that form.
    """
    if len(data) > _MOST_BYTES:
        return ()
    try:
        answer = json_text.load(data)
        told = answer["prompt_logprobs"] if isinstance(answer, dict) else None
        return [_place(each) for each in told if each] if isinstance(told, list) else ()
    except (JsonError, KeyError, TypeError, ValueError, OverflowError):
        return ()


def _place(told: JsonValue) -> tuple[str, str, float]:
    if not isinstance(told, dict):
        raise TypeError
    own, *others = [_entry(each) for each in told.values()]
    likeliest = max((own, *others), key=lambda each: each[1])
    return own[0], likeliest[0], likeliest[1] - own[1]


def _entry(value: JsonValue) -> tuple[str, float]:
    if not isinstance(value, Mapping):
        raise TypeError
    logprob = float(str(value["logprob"]))
    if not (math.isfinite(logprob) and logprob <= _LARGEST):
        raise ValueError
    return str(value["decoded_token"]), logprob
